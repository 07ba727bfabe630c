/* The interface of libvx_grpc, which answers KServe's second protocol over gRPC. vx-serve opens the library if a port
 * for gRPC is configured. It is a library of its own because other servers have no use for gRPC and protobuf.
 *
 * The library translates: a call becomes the request that a client would send over HTTP, and the answer becomes a
 * message. The server decides all else: keys, limits, models, batches.
 */
#ifndef VX_ABI_GRPC_H
#define VX_ABI_GRPC_H

#include <stdint.h>

/* The server accepts a library with this number only: both come from one build. */
#define VX_GRPC_VERSION 2

/* Bytes without a zero byte at their end, borrowed for the call of the function that gets them. */
typedef struct vx_grpc_text {
  const char *data;
  uint64_t size;
} vx_grpc_text;

typedef struct vx_grpc_header {
  vx_grpc_text name; /* in lower case */
  vx_grpc_text value;
} vx_grpc_header;

/* A call that the library received, and a server that it runs. */
typedef struct vx_grpc_call vx_grpc_call;
typedef struct vx_grpc_server vx_grpc_server;

/* A call whose metadata have arrived, and whose message has not been read. */
typedef struct vx_grpc_head {
  vx_grpc_text rpc;     /* "/inference.GRPCInferenceService/ModelInfer" */
  vx_grpc_text method;  /* of the request over HTTP: "POST" */
  vx_grpc_text pattern; /* its path, with {} for names: "/v2/models/{}/infer" */
  vx_grpc_text address; /* of the client, without its port */
  const vx_grpc_header *headers;
  uint64_t header_count;
  uint64_t timeout_ms; /* until the client's deadline, at least 1; 0: the client has set none */
} vx_grpc_head;

/* Its message. */
typedef struct vx_grpc_request {
  vx_grpc_text pattern;          /* which may be longer than that of the head: "/v2/models/{}/versions/{}/infer" */
  const vx_grpc_text *arguments; /* one for each {} */
  uint64_t argument_count;
  const vx_grpc_text *body; /* in parts: JSON, and the bytes of tensors after it */
  uint64_t body_count;
  uint64_t json_size;
} vx_grpc_request;

typedef struct vx_grpc_answer {
  uint32_t status;   /* of HTTP */
  vx_grpc_text code; /* of an error: "model_not_found" */
  const vx_grpc_header *headers;
  uint64_t header_count;
  vx_grpc_text body;
} vx_grpc_answer;

/* The server, as the library sees it. The library calls these functions on its own threads, several at once for several
 * calls. They do not wait and throw nothing. */
typedef struct vx_grpc_host {
  void *context;
  /* A call has begun. Returns its request, or NULL if there is no memory for it. If the server refuses the call, it has
   * been answered when this returns. The server gives the call back by `release`. */
  void *(*begin)(void *context, vx_grpc_call *call, const vx_grpc_head *head);
  /* The request holds so many bytes more. Returns 0 if they are too many: then it has been answered. */
  int32_t (*reserve)(void *request, uint64_t bytes);
  /* The message has arrived. The request is answered now or later. */
  void (*handle)(void *request, const vx_grpc_request *message);
  /* The message is wrong, with a code as `invalid_value`. The request is answered. */
  void (*refuse)(void *request, vx_grpc_text code, vx_grpc_text message);
  /* The client is gone. Returns 1 if no answer was made and none will be. */
  int32_t (*lose)(void *request);
  /* The call is over. The library forgets the request. */
  void (*end)(void *request);
} vx_grpc_host;

typedef struct vx_grpc_options {
  vx_grpc_text host; /* an address or a name */
  uint32_t port;
  uint32_t body_timeout_ms;   /* for a message to arrive, and for the client to read the answer */
  uint32_t header_timeout_ms; /* for a connection's handshake */
  uint64_t message_limit;     /* the most bytes of a message */
  uint64_t memory;            /* about the most bytes of all messages that are being read or written */
  uint32_t streams;           /* the most calls of one connection at one time */
  /* PEM; empty: no TLS. */
  vx_grpc_text certificate;
  vx_grpc_text key;
  /* On failure the reason, cut off after `message_size` bytes; it ends with a zero byte. */
  char *message;
  uint64_t message_size;
} vx_grpc_options;

/* What the library exports as the symbol `vx_grpc_library`. */
typedef struct vx_grpc_functions {
  uint32_t version; /* VX_GRPC_VERSION */
  /* Listens, and answers calls from then on. NULL: the message has the reason. `host` is copied. */
  vx_grpc_server *(*start)(const vx_grpc_options *options, const vx_grpc_host *host);
  /* For connections that begin from then on, of a server with TLS. */
  void (*set_certificate)(vx_grpc_server *server, vx_grpc_text certificate, vx_grpc_text key);
  /* Accepts no more connections and asks clients to use another server. Calls that are running go on for so long.
   * Returns at once. */
  void (*drain)(vx_grpc_server *server, uint64_t milliseconds);
  /* Ends all calls. When it returns, no function of the host is running or will be called. Frees the server. */
  void (*stop)(vx_grpc_server *server);
  /* Answers a call, once, on any thread, unless `lose` has returned 1 for it. */
  void (*answer)(vx_grpc_call *call, const vx_grpc_answer *answer);
  /* The server has no more use for the call. */
  void (*release)(vx_grpc_call *call);
} vx_grpc_functions;

#endif

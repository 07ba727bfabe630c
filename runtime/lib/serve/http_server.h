// A server of HTTP/1.1 for clients that may be slow, broken or hostile.
#ifndef VX_SERVE_HTTP_SERVER_H
#define VX_SERVE_HTTP_SERVER_H

#include "http_message.h"
#include "service_error.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace vx::serve {

struct HttpLimits {
  uint64_t headerBytes = 64 << 10, headerCount = 100;
  // Of one body as it comes over the wire, the framing of chunks included, and of all requests that are not done.
  uint64_t bodyBytes = 8 << 20, bytesInFlight = 256 << 20;
  // The part of these that the requests of one address, and those of one key, may have.
  uint64_t bytesPerAddress = 64 << 20, bytesPerKey = 64 << 20;
  // A header, a body and an answer, each from its first byte to its last one; and between two requests.
  std::chrono::milliseconds headerTime{10'000}, bodyTime{30'000}, writeTime{30'000}, idleTime{60'000};
  size_t connections = 4096, connectionsPerAddress = 1024;
  unsigned threads = 2;
};

// Files of PEM; empty: plain HTTP.
struct TlsFiles {
  std::string certificate, key;
};

// A request that waits for its answer. Thread-safe.
class HttpExchange {
public:
  // Where nobody has replied, the client is told of an internal error.
  virtual ~HttpExchange() = default;
  // The body may be taken out of it by the one who handles the request.
  HttpRequest request;

  // The first reply is the one that counts; one to a client that is gone goes nowhere.
  virtual void reply(HttpResponse response) = 0;
  // Replies, and whoever works on it is to leave it as if its client was gone. False: it has its reply already, or the
  // client is gone.
  virtual bool cancel(HttpResponse response) = 0;
  // The client has closed the connection, or its sending half, before a reply had begun; or it is cancelled.
  virtual bool isGone() const = 0;
  // Called once when the client is gone, at once where it is; not after a reply. On a thread of the server's, or of the
  // one who cancels: it must not wait.
  virtual void whenGone(std::function<void()> function) = 0;
  // Counts so many bytes of its answer as in flight until the exchange is over. Throws a ServiceError where they are
  // more than there may be: queue_full where there is room for them at another time, else out_of_memory.
  virtual void reserveAnswer(uint64_t bytes) = 0;
};

// What answers. Every function is called by threads of the server's, several at once, and must not wait.
class HttpHandler {
public:
  virtual ~HttpHandler() = default;
  // Looks at a request whose body has not been read, and may leave notes in it. Throws a ServiceError to refuse it.
  virtual void admit(HttpRequest &head) = 0;
  virtual void handle(std::shared_ptr<HttpExchange> exchange) = 0;
  // The answer to a request that fails, in the shape that its path has for that.
  virtual HttpResponse refuse(const HttpRequest &request, const ServiceError &error) = 0;
  // A request is over: answered, or its client is gone (499).
  virtual void finished(const HttpRequest &request, unsigned status, std::chrono::nanoseconds took) = 0;
};

struct ServerState; // http_exchange.h

class HttpServer {
public:
  // What is going on now.
  struct Load {
    size_t connections = 0, requests = 0;
    uint64_t bytesInFlight = 0, refusedConnections = 0;
  };
  virtual ~HttpServer() = default;

  // Binds to an address or a name, and a port; 0: any. Throws Error::io, which names both, and for TLS what is wrong
  // with a file. May be called for several addresses, before `start`. Requests to an admin address are marked.
  virtual void listen(const std::string &host, uint16_t port, bool isAdmin = false) = 0;
  // Of the first address; of the first admin address, or 0.
  virtual uint16_t port() const = 0;
  virtual uint16_t adminPort() const = 0;
  // Answers from now on. The handler outlives the server.
  virtual void start(HttpHandler &handler) = 0;
  // For requests and connections that begin from now on; the number of threads stays.
  virtual void setLimits(const HttpLimits &limits) = 0;
  // For connections that begin from now on, of a server that has TLS. Throws Error::data for files that are wrong;
  // those that were there before stay.
  virtual void setTls(const TlsFiles &files) = 0;
  virtual Load load() const = 0;
  // What its connections share: another server may count its own requests and bytes there.
  virtual std::shared_ptr<ServerState> shared() const = 0;
  // Answers as before, and each answer ends its connection, so that clients look for another server.
  virtual void leave() = 0;
  // No new connections; those that wait for a request are closed, each other one behind its answer.
  virtual void drain() = 0;
  // Waits until no connection is there. False: `time` is over.
  virtual bool waitUntilIdle(std::chrono::milliseconds time) = 0;
  // Ends every connection at once, and the threads.
  virtual void stop() = 0;
};

// Throws Error::data for files that no server can use: unreadable, no PEM, or a key of another certificate.
void checkTls(const TlsFiles &files);

std::unique_ptr<HttpServer> makeHttpServer(const HttpLimits &limits, const TlsFiles &tls = {});

} // namespace vx::serve

#endif

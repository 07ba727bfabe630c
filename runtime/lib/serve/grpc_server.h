// Calls of gRPC as requests of HTTP: the same handler answers both, with the same keys, limits and batches.
#ifndef VX_SERVE_GRPC_SERVER_H
#define VX_SERVE_GRPC_SERVER_H

#include "http_exchange.h"

#include "vx/abi/grpc.h"

namespace vx::serve {

class GrpcServer {
public:
  // Listens at `port` of `host`, and answers calls until it is drained. `handler` must outlive the server; `state` is
  // shared with the HTTP server, so that both count against the same limits. Throws Error::io for an address that
  // cannot be used and for a missing library, and Error::data for wrong TLS files.
  GrpcServer(const std::string &host, uint16_t port, const TlsFiles &tls, std::shared_ptr<ServerState> state,
             HttpHandler &handler);
  // Ends all calls at once.
  ~GrpcServer();
  GrpcServer(const GrpcServer &) = delete;
  GrpcServer &operator=(const GrpcServer &) = delete;

  // For connections that begin from now on. Throws Error::data; the former files stay.
  void setTls(const TlsFiles &files);
  // No new connections, and clients are asked to use another server. Calls that are running have so much time.
  void drain(std::chrono::milliseconds time);

private:
  struct Front;
  const vx_grpc_functions &library;
  const std::unique_ptr<Front> front;
  vx_grpc_server *server = nullptr;
};

} // namespace vx::serve

#endif

// A server of gRPC at one address.
#ifndef VX_GRPC_SERVER_H
#define VX_GRPC_SERVER_H

#include "call.h"

#include <grpcpp/server.h>

#include <condition_variable>
#include <memory>
#include <string>
#include <thread>

namespace vx::grpc_wire {

// PEM, which may change while the server runs.
class Certificate {
public:
  void set(std::string_view chain, std::string_view key);
  // False where the caller has had it.
  bool takeNew(std::string &chain, std::string &key);

private:
  std::mutex lock;
  bool isNew = false;
  std::string ownChain, ownKey;
};

class Server {
public:
  // Throws std::runtime_error with the reason where it cannot listen.
  Server(const vx_grpc_options &options, const vx_grpc_host &host);
  ~Server();

  void setCertificate(std::string_view chain, std::string_view key) { certificate->set(chain, key); }
  void drain(std::chrono::milliseconds time);

private:
  class Service;
  void watch();

  const std::shared_ptr<CallTable> calls;
  const std::shared_ptr<Certificate> certificate;
  std::unique_ptr<Service> service;
  std::unique_ptr<grpc::Server> server;
  std::mutex lock;
  std::condition_variable changed;
  bool isEnding = false;
  std::thread watcher, drainer;
};

} // namespace vx::grpc_wire

#endif

#include "server.h"

#include <fmt/format.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vx::grpc_wire {
namespace {

// gRPC prints to stderr. The server's log has a line for each call, and handshakes that fail are nobody's mistake but
// the client's.
void ignoreLine(gpr_log_func_args *) {}

// Why an address cannot be listened at; empty: it can. gRPC itself says "no address added".
std::string refusalOf(const std::string &host, const std::string &port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0)
    return ::gai_strerror(code);
  std::string reason;
  bool isAny = false;
  for (const addrinfo *address = found; address; address = address->ai_next) {
    const int descriptor = ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
    const int yes = 1;
    if (descriptor >= 0)
      (void)::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (descriptor >= 0 && ::bind(descriptor, address->ai_addr, address->ai_addrlen) == 0 &&
        ::listen(descriptor, 1) == 0)
      isAny = true;
    else if (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)
      reason = std::strerror(errno);
    else if (!isAny && reason.empty() && !address->ai_next)
      reason = std::strerror(errno);
    if (descriptor >= 0)
      ::close(descriptor);
  }
  ::freeaddrinfo(found);
  return reason;
}

// Reads the certificate again for each connection, which the credentials of gRPC's C++ interface do not.
class ReloadedCredentials final : public grpc::ServerCredentials {
public:
  explicit ReloadedCredentials(std::shared_ptr<Certificate> given) : certificate(std::move(given)) {}
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor> &) override {}

private:
  int AddPortToServer(const std::string &address, grpc_server *server) override {
    grpc_server_credentials *credentials = ::grpc_ssl_server_credentials_create_with_options(
        ::grpc_ssl_server_credentials_create_options_using_config_fetcher(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                                                                          fetch, certificate.get()));
    const int port = ::grpc_server_add_http2_port(server, address.c_str(), credentials);
    ::grpc_server_credentials_release(credentials);
    return port;
  }
  // gRPC lets go of credentials when it listens: the certificate is what stays.
  static grpc_ssl_certificate_config_reload_status fetch(void *kept, grpc_ssl_server_certificate_config **config) {
    auto &certificate = *static_cast<Certificate *>(kept);
    std::string chain, key;
    if (!certificate.takeNew(chain, key))
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    grpc_ssl_pem_key_cert_pair pair = {key.c_str(), chain.c_str()};
    // gRPC asks for authorities, and has no use for them where clients show no certificates.
    *config = ::grpc_ssl_server_certificate_config_create(chain.c_str(), &pair, 1);
    return *config ? GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW : GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
  }

  const std::shared_ptr<Certificate> certificate;
};

} // namespace

void Certificate::set(std::string_view chain, std::string_view key) {
  const std::lock_guard guard(lock);
  isNew = true;
  ownChain = chain;
  ownKey = key;
}

bool Certificate::takeNew(std::string &chain, std::string &key) {
  const std::lock_guard guard(lock);
  chain = ownChain;
  key = ownKey;
  return std::exchange(isNew, false);
}

class Server::Service final : public grpc::CallbackGenericService {
public:
  explicit Service(std::shared_ptr<CallTable> calls) : calls(std::move(calls)) {}
  grpc::ServerGenericBidiReactor *CreateReactor(grpc::GenericCallbackServerContext *context) override {
    Call *call = new Call(calls, *context);
    call->begin();
    return call;
  }

private:
  const std::shared_ptr<CallTable> calls;
};

Server::Server(const vx_grpc_options &options, const vx_grpc_host &host)
    : calls(std::make_shared<CallTable>(host, std::chrono::milliseconds(options.body_timeout_ms))),
      certificate(std::make_shared<Certificate>()), service(std::make_unique<Service>(calls)) {
  ::gpr_set_log_function(ignoreLine);
  const std::string name(viewOf(options.host)), port = std::to_string(options.port);
  if (const std::string reason = refusalOf(name, port); !reason.empty())
    throw std::runtime_error(reason);
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (options.certificate.size > 0) {
    certificate->set(viewOf(options.certificate), viewOf(options.key));
    credentials = std::make_shared<ReloadedCredentials>(certificate);
  }
  const auto number = [](uint64_t value) { return static_cast<int>(std::min<uint64_t>(value, INT32_MAX)); };
  constexpr int metadataBytes = 64 << 10, idleMs = 300'000;
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort(fmt::format("{}:{}", name.find(':') == name.npos ? name : "[" + name + "]", port),
                           credentials, &bound);
  builder.RegisterCallbackGenericService(service.get());
  builder.SetMaxReceiveMessageSize(number(options.message_limit));
  builder.SetResourceQuota(grpc::ResourceQuota("vx").Resize(static_cast<size_t>(options.memory)));
  // The limit is for bytes as they come, and a few of them may stand for any number.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  // Otherwise a second server could listen at the same port, and would get half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, number(options.streams));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, metadataBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, number(options.header_timeout_ms));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, idleMs);
  server = builder.BuildAndStart();
  if (!server || bound == 0)
    throw std::runtime_error("gRPC does not listen there");
  watcher = std::thread([this] { watch(); });
}

Server::~Server() {
  {
    const std::lock_guard guard(lock);
    isEnding = true;
    changed.notify_all();
  }
  if (watcher.joinable())
    watcher.join();
  if (server) {
    server->Shutdown(std::chrono::system_clock::now());
    server->Wait();
  }
  if (drainer.joinable())
    drainer.join();
}

void Server::watch() {
  constexpr std::chrono::milliseconds step{200};
  std::unique_lock guard(lock);
  while (!changed.wait_for(guard, step, [this] { return isEnding; })) {
    guard.unlock();
    calls->endLate();
    guard.lock();
  }
}

void Server::drain(std::chrono::milliseconds time) {
  if (!drainer.joinable())
    drainer = std::thread([this, until = std::chrono::system_clock::now() + time] { server->Shutdown(until); });
}

} // namespace vx::grpc_wire

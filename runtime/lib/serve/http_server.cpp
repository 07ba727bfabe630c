// The one source that sees Boost: Asio for sockets, and Beast for the syntax of HTTP.
#include "http_server.h"

#include "http_session.h"

#include "vx/base/regular_file.h"
#include "vx/serve/error.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <thread>

namespace vx::serve {
namespace {

Error listenError(const std::string &host, uint16_t port, const std::string &reason) {
  return Error(Error::Kind::io, fmt::format("cannot listen on '{}' port {}: {}", host, port, reason));
}

std::string plainAddress(const tcp::endpoint &endpoint) {
  const asio::ip::address address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

using TlsContext = asio::ssl::context;

std::shared_ptr<TlsContext> readTls(const TlsFiles &files) {
  auto tls = std::make_shared<TlsContext>(TlsContext::tls_server);
  boost::system::error_code error;
  tls->set_options(TlsContext::default_workarounds | TlsContext::no_sslv2 | TlsContext::no_sslv3 |
                   TlsContext::no_tlsv1 | TlsContext::no_tlsv1_1);
  // Else a key with a password would have one asked for at the terminal.
  tls->set_password_callback([](size_t, TlsContext::password_purpose) { return std::string(); });
  // What OpenSSL says of files that it cannot read is no word of them.
  const auto refuse = [](const std::string &what, const std::string &path, const std::string &reason) {
    FileError unreadable;
    const int descriptor = openRegularFile(path, unreadable);
    if (descriptor >= 0)
      ::close(descriptor);
    return Error(Error::Kind::data,
                 fmt::format("{} '{}': {}", what, path, descriptor >= 0 ? "expected PEM: " + reason : unreadable.text));
  };
  tls->use_certificate_chain_file(files.certificate, error);
  if (error)
    throw refuse("certificate", files.certificate, error.message());
  tls->use_private_key_file(files.key, TlsContext::pem, error);
  const auto code = static_cast<unsigned long>(error.value());
  const bool isOther = error && ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH;
  // OpenSSL takes a key of another kind than the certificate's, and has it without a certificate.
  if (isOther || (!error && ::SSL_CTX_check_private_key(tls->native_handle()) != 1))
    throw Error(Error::Kind::data,
                fmt::format("certificate '{}': expected its own key, got the key of another one in '{}'",
                            files.certificate, files.key));
  if (error)
    throw refuse(fmt::format("of the certificate '{}' the key", files.certificate), files.key, error.message());
  return tls;
}

class AsioHttpServer final : public HttpServer {
public:
  AsioHttpServer(const HttpLimits &limits, const TlsFiles &files)
      : context(std::make_shared<asio::io_context>(static_cast<int>(limits.threads))),
        state(std::make_shared<ServerState>(limits)) {
    state->context = context;
    if (!files.certificate.empty())
      tls = readTls(files);
  }
  ~AsioHttpServer() override { stop(); }

  void listen(const std::string &host, uint16_t wanted, bool isAdmin) override {
    boost::system::error_code error;
    tcp::resolver resolver(*context);
    const auto found = resolver.resolve(host, std::to_string(wanted), tcp::resolver::passive, error);
    if (error)
      throw listenError(host, wanted, error.message());
    uint16_t bound = 0;
    std::set<tcp::endpoint> endpoints;
    for (const auto &entry : found)
      endpoints.insert(entry.endpoint());
    for (tcp::endpoint endpoint : endpoints) {
      if (wanted == 0 && bound != 0)
        endpoint.port(bound);
      auto acceptor = std::make_shared<tcp::acceptor>(asio::make_strand(*context));
      acceptor->open(endpoint.protocol(), error);
      // A machine without IPv6 has names of addresses that it can't open.
      if (error == asio::error::address_family_not_supported && endpoints.size() > 1)
        continue;
      if (!error)
        acceptor->set_option(tcp::acceptor::reuse_address(true), error);
      if (!error && endpoint.address().is_v6())
        acceptor->set_option(asio::ip::v6_only(!endpoint.address().is_unspecified()), error);
      if (!error)
        acceptor->bind(endpoint, error);
      if (error == boost::system::errc::address_not_available && endpoints.size() > 1)
        continue;
      if (!error)
        acceptor->listen(SOMAXCONN, error);
      if (error)
        throw listenError(host, wanted, error.message());
      bound = acceptor->local_endpoint().port();
      listeners.push_back({acceptor, isAdmin});
    }
    uint16_t &first = isAdmin ? boundAdminPort : boundPort;
    if (first == 0)
      first = bound;
    if (bound == 0)
      throw listenError(host, wanted, "none of its addresses is one of this machine");
  }

  uint16_t port() const override { return boundPort; }
  uint16_t adminPort() const override { return boundAdminPort; }

  void start(HttpHandler &handler) override {
    state->handler = &handler;
    work.emplace(asio::make_work_guard(*context));
    for (const Listener &listener : listeners)
      asio::post(listener.acceptor->get_executor(), [this, listener] { accept(listener); });
    for (unsigned i = 0; i < std::max(1u, state->limits.threads); ++i)
      threads.emplace_back([this] { run(); });
  }

  void setLimits(const HttpLimits &limits) override {
    std::lock_guard guard(state->lock);
    state->limits = limits;
    state->counts.setLimits(limits.connections, limits.connectionsPerAddress);
  }

  void setTls(const TlsFiles &files) override {
    std::shared_ptr<TlsContext> next = readTls(files);
    std::lock_guard guard(tlsLock);
    tls.swap(next);
  }

  Load load() const override {
    return {state->counts.size(), state->requests, state->bytes.all(), state->refusedConnections};
  }

  std::shared_ptr<ServerState> shared() const override { return state; }

  void leave() override { state->isLeaving = true; }

  void drain() override {
    state->isDraining = true;
    for (const Listener &listener : listeners)
      asio::post(listener.acceptor->get_executor(), [acceptor = listener.acceptor] {
        boost::system::error_code ignored;
        acceptor->close(ignored);
      });
    forEachSession([](Session &session) { session.drain(); });
  }

  bool waitUntilIdle(std::chrono::milliseconds time) override {
    std::unique_lock guard(state->lock);
    return state->connectionClosed.wait_for(guard, time, [this] { return state->counts.size() == 0; });
  }

  void stop() override {
    if (threads.empty())
      return;
    drain();
    forEachSession([](Session &session) { session.end(); });
    work.reset();
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
  }

private:
  void run() {
    for (;;) {
      try {
        context->run();
        return;
      } catch (const std::exception &) {
        // Out of memory, most likely: the connection that it happened to has lost its turn, and goes.
      }
    }
  }

  struct Listener {
    std::shared_ptr<tcp::acceptor> acceptor;
    bool isAdmin;
  };

  void accept(const Listener &listener) {
    if (!listener.acceptor->is_open())
      return;
    listener.acceptor->async_accept(
        asio::make_strand(*context), [this, listener](boost::system::error_code error, tcp::socket socket) {
          asio::post(listener.acceptor->get_executor(), [this, listener, error] {
            // Out of descriptors: those that wait stay in the backlog until some are given back.
            error &&error != asio::error::connection_aborted ? acceptLater(listener) : accept(listener);
          });
          if (!error)
            open(std::move(socket), listener.isAdmin);
        });
  }

  std::shared_ptr<TlsContext> currentTls() const {
    std::lock_guard guard(tlsLock);
    return tls;
  }

  void acceptLater(const Listener &listener) {
    if (!listener.acceptor->is_open())
      return;
    auto timer = std::make_shared<asio::steady_timer>(listener.acceptor->get_executor(), std::chrono::milliseconds(50));
    timer->async_wait([this, listener, timer](boost::system::error_code) { accept(listener); });
  }

  void open(tcp::socket socket, bool isAdmin) {
    boost::system::error_code error;
    const tcp::endpoint endpoint = socket.remote_endpoint(error);
    if (error)
      return;
    const std::string address = plainAddress(endpoint);
    const std::shared_ptr<TlsContext> secure = currentTls();
    if (!state->counts.add(networkOf(address))) {
      ++state->refusedConnections;
      static constexpr std::string_view full =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";
      // As far as it goes without waiting; nobody may hold a thread here.
      if (!secure)
        (void)::send(socket.native_handle(), full.data(), full.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      return;
    }
    if (secure)
      begin(std::make_shared<HttpSession<TlsStream>>(TlsStream(std::move(socket), *secure), address, isAdmin, state));
    else
      begin(std::make_shared<HttpSession<tcp::socket>>(std::move(socket), address, isAdmin, state));
  }

  template <typename Kind>
  void begin(std::shared_ptr<Kind> session) {
    {
      std::lock_guard guard(sessionsLock);
      if (++sinceSweep > sessions.size() / 2 + 256) {
        std::erase_if(sessions, [](const std::weak_ptr<Session> &other) { return other.expired(); });
        sinceSweep = 0;
      }
      sessions.push_back(session);
    }
    session->start();
    if (state->isDraining)
      session->drain();
  }

  template <typename Function>
  void forEachSession(Function function) {
    std::lock_guard guard(sessionsLock);
    for (const std::weak_ptr<Session> &weak : sessions)
      if (const auto session = weak.lock())
        function(*session);
  }

  const std::shared_ptr<asio::io_context> context;
  const std::shared_ptr<ServerState> state;
  mutable std::mutex tlsLock;
  std::shared_ptr<TlsContext> tls; // of connections that begin; null: none
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::vector<Listener> listeners;
  uint16_t boundPort = 0, boundAdminPort = 0;
  std::vector<std::thread> threads;
  std::mutex sessionsLock;
  std::vector<std::weak_ptr<Session>> sessions;
  size_t sinceSweep = 0;
};

} // namespace

void checkTls(const TlsFiles &files) { (void)readTls(files); }

std::unique_ptr<HttpServer> makeHttpServer(const HttpLimits &limits, const TlsFiles &tls) {
  return std::make_unique<AsioHttpServer>(limits, tls);
}

} // namespace vx::serve

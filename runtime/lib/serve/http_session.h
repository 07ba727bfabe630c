// One connection. Everything in it runs on its strand: there is one read and one write at a time, and the read goes on
// while a request waits for its answer, which is how a client that goes is noticed.
#ifndef VX_SERVE_HTTP_SESSION_H
#define VX_SERVE_HTTP_SESSION_H

#include "http_request_reader.h"

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>

#include <array>

namespace vx::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using TlsStream = asio::ssl::stream<tcp::socket>;

// What the server does with connections of both kinds.
class Session {
public:
  virtual ~Session() = default;
  // From any thread.
  virtual void drain() = 0;
  virtual void end() = 0;
};

template <typename Stream>
class HttpSession final : public Session, public std::enable_shared_from_this<HttpSession<Stream>> {
  static constexpr bool isSecure = std::is_same_v<Stream, TlsStream>;
  // What a client may send ahead while a request waits; more is not read until that has its answer.
  static constexpr size_t mostAhead = 16 << 10;
  // How long, and how much of, what comes after the last answer is read. Else the answer would be lost with the
  // connection: closing one with unread bytes resets it.
  static constexpr std::chrono::milliseconds lingerTime{1000};
  static constexpr size_t mostLingering = 1 << 20;

public:
  HttpSession(Stream &&taken, std::string address, bool isAdminPort, std::shared_ptr<ServerState> server)
      : server(std::move(server)), stream(std::move(taken)), timer(stream.get_executor()), address(std::move(address)),
        isAdminPort(isAdminPort) {}
  ~HttpSession() override {
    // A server that counts no connections counts no requests and bytes of theirs: these go first.
    reader.reset();
    exchange.reset();
    if (isCounted)
      --server->requests;
    server->counts.remove(networkOf(address));
    std::lock_guard guard(server->lock);
    server->connectionClosed.notify_all();
  }

  void start() {
    asio::post(stream.get_executor(), [self = this->shared_from_this()] { self->begin(); });
  }
  void drain() override {
    asio::post(stream.get_executor(), [self = this->shared_from_this()] {
      if (self->state == State::idle && self->incoming.empty())
        self->close();
    });
  }
  void end() override {
    asio::post(stream.get_executor(), [self = this->shared_from_this()] { self->close(); });
  }

private:
  enum class State : uint8_t { handshake, idle, header, body, handling, writing, lingering, closed };

  void begin() {
    boost::system::error_code ignored;
    stream.lowest_layer().set_option(tcp::no_delay(true), ignored);
    if constexpr (isSecure) {
      setDeadline(server->currentLimits().headerTime);
      stream.async_handshake(asio::ssl::stream_base::server,
                             [self = this->shared_from_this()](boost::system::error_code error) {
                               if (error || self->state != State::handshake)
                                 return self->close();
                               self->awaitRequest();
                             });
    } else {
      awaitRequest();
    }
  }

  void awaitRequest() {
    state = State::idle;
    limits = server->currentLimits();
    if (server->isDraining && incoming.empty())
      return close();
    // The first request of a connection is to come as soon as a header is.
    setDeadline(isFirst ? limits.headerTime : limits.idleTime);
    incoming.empty() ? read() : advance();
  }

  void read() {
    if (isReading || isAtEnd || state == State::closed)
      return;
    isReading = true;
    const std::span<char> space = state == State::body ? reader->space() : std::span<char>();
    const bool isBody = !space.empty();
    // The reader, which has the space, may be dropped meanwhile. It goes before the session does.
    stream.async_read_some(isBody ? asio::buffer(space.data(), space.size()) : asio::buffer(piece),
                           [self = this->shared_from_this(), isBody,
                            owner = isBody ? reader : nullptr](boost::system::error_code error, size_t size) {
                             self->isReading = false;
                             self->haveRead(error, isBody, size);
                           });
  }

  // Bytes of a body are where the reader has room for them, others in `piece`.
  void haveRead(boost::system::error_code error, bool isBody, size_t size) {
    if (state == State::closed)
      return;
    if (error) {
      isAtEnd = true;
      if (state == State::handling)
        loseClient();
      else if (state != State::writing)
        close();
      return;
    }
    if (state == State::lingering) {
      lingered += size;
      return lingered > mostLingering ? close() : read();
    }
    if (isBody)
      return state == State::body ? haveBody(size) : void();
    incoming.append(piece.data(), size);
    if (state == State::handling || state == State::writing) {
      if (incoming.size() < mostAhead)
        read();
      return;
    }
    advance();
  }

  // Goes on with what has come.
  void advance() {
    if (state == State::idle) {
      state = State::header;
      began = std::chrono::steady_clock::now();
      isFirst = false;
      reader = std::make_shared<HttpRequestReader>(limits, server, address);
      setDeadline(limits.headerTime);
    }
    boost::system::error_code error;
    if (state == State::header) {
      reader->readHeader(incoming, error);
      if (error == http::error::need_more)
        return read();
      if (error)
        return refuseBytes(error);
      if (!haveHeader())
        return;
    }
    try {
      if (!reader->readBody(incoming, error))
        return error ? refuseBytes(error) : read();
    } catch (const ServiceError &refusal) {
      return refuse(refusal);
    }
    haveRequest();
  }

  void haveBody(size_t size) {
    try {
      if (!reader->take(size))
        return read();
    } catch (const ServiceError &refusal) {
      return refuse(refusal);
    }
    haveRequest();
  }

  // Takes the head over and has it admitted. False: it has been refused, or the client waits for being told to go on.
  bool haveHeader() {
    head = reader->head();
    head.address = address;
    head.isSecure = isSecure;
    head.isAdminPort = isAdminPort;
    keepsAlive = reader->keepsAlive();
    try {
      reader->checkHeader(head);
      server->handler->admit(head);
      reader->beginBody(head.account);
    } catch (const ServiceError &error) {
      refuse(error);
      return false;
    } catch (const std::exception &error) {
      refuse(ServiceError(ErrorCode::internal, error.what()));
      return false;
    }
    state = State::body;
    setDeadline(limits.bodyTime);
    if (!head.header("expect") || reader->isWhole() || !incoming.empty())
      return true;
    static constexpr std::string_view goOn = "HTTP/1.1 100 Continue\r\n\r\n";
    isContinuing = true;
    asio::async_write(stream, asio::buffer(goOn),
                      [self = this->shared_from_this()](boost::system::error_code error, size_t) {
                        self->isContinuing = false;
                        if (self->state == State::body)
                          error ? self->close() : self->read();
                      });
    return false;
  }

  void haveRequest() {
    state = State::handling;
    timer.cancel();
    ++server->requests;
    isCounted = true;
    HttpRequest request = head;
    request.body = reader->takeBody();
    exchange = std::make_shared<ExchangeState>([weak = this->weak_from_this()](HttpResponse response) {
      if (auto self = weak.lock())
        asio::post(self->stream.get_executor(), [self, response = std::move(response)]() mutable {
          if (self->state == State::handling)
            self->write(std::move(response), self->keepsAlive);
        });
    });
    auto given = std::make_shared<Exchange>(std::move(request), exchange, reader->room(), *server->handler);
    try {
      server->handler->handle(given);
    } catch (const std::exception &error) {
      given->reply(server->handler->refuse(head, ServiceError(ErrorCode::internal, error.what())));
    }
    if (incoming.size() < mostAhead)
      read();
  }

  // The client went before an answer had begun.
  void loseClient() {
    exchange->lose();
    endRequest(499);
    close();
  }

  void refuseBytes(boost::system::error_code error) {
    if (state == State::header) {
      head = {};
      head.address = address;
      head.id = makeRequestId();
    }
    if (error == http::error::header_limit)
      return refuse(
          serviceError(ErrorCode::headers_too_large, "headers may have {} bytes, got more", limits.headerBytes)
              .expected(limits.headerBytes, "more"));
    refuse(serviceError(ErrorCode::bad_request, "expected a request of HTTP/1.1, got something else: {}",
                        error.message()));
  }

  // Where a body is still to come, it is not waited for, and nothing of it is taken for the next request. Nor is what
  // comes after bytes that were no request.
  void refuse(const ServiceError &error) {
    write(server->handler->refuse(head, error),
          keepsAlive && error.code != ErrorCode::bad_request && reader->isAtEnd());
  }

  void write(HttpResponse given, bool mayKeep) {
    state = State::writing;
    response = std::move(given);
    closesAfter = !mayKeep || response.closes || server->isLeaving || server->isDraining || isAtEnd;
    setDeadline(limits.writeTime);
    responseHead = vx::serve::responseHead(response, response.body.size(), head.id, !closesAfter);
    const std::array<asio::const_buffer, 2> buffers = {
        asio::buffer(responseHead),
        head.method == "HEAD" ? asio::const_buffer() : asio::const_buffer(asio::buffer(response.body))};
    asio::async_write(stream, buffers, [self = this->shared_from_this()](boost::system::error_code error, size_t) {
      if (self->state == State::writing)
        self->haveWritten(error);
    });
  }

  void haveWritten(boost::system::error_code error) {
    endRequest(response.status);
    response = {};
    exchange.reset();
    reader.reset();
    if (error)
      return close();
    if (!closesAfter && !isAtEnd)
      return awaitRequest();
    state = State::lingering;
    setDeadline(lingerTime);
    lingered = 0;
    incoming.clear();
    if constexpr (isSecure) {
      stream.async_shutdown([self = this->shared_from_this()](boost::system::error_code) { self->close(); });
    } else {
      boost::system::error_code ignored;
      stream.shutdown(tcp::socket::shutdown_send, ignored);
      isAtEnd ? close() : read();
    }
  }

  void endRequest(unsigned status) {
    if (isCounted)
      --server->requests;
    isCounted = false;
    server->handler->finished(head, status, std::chrono::steady_clock::now() - began);
  }

  void setDeadline(std::chrono::milliseconds time) {
    timer.expires_after(time);
    timer.async_wait([self = this->shared_from_this()](boost::system::error_code error) {
      if (!error && self->timer.expiry() <= std::chrono::steady_clock::now())
        self->beLate();
    });
  }

  void beLate() {
    if (state == State::handling)
      return;
    if (isContinuing)
      return close();
    if (state == State::header || state == State::body) {
      const bool isBody = state == State::body;
      if (!isBody) {
        head = {};
        head.address = address;
        head.id = makeRequestId();
      }
      return refuse(serviceError(ErrorCode::request_timeout, "the {} of a request may take {} ms",
                                 isBody ? "body" : "header", (isBody ? limits.bodyTime : limits.headerTime).count()));
    }
    if (state == State::writing)
      endRequest(499);
    close();
  }

  void close() {
    if (state == State::closed)
      return;
    state = State::closed;
    if (exchange)
      exchange->lose();
    timer.cancel();
    boost::system::error_code ignored;
    stream.lowest_layer().close(ignored);
  }

  const std::shared_ptr<ServerState> server; // which has what the stream works on
  Stream stream;
  asio::steady_timer timer;
  const std::string address;
  const bool isAdminPort;
  HttpLimits limits;
  State state = State::handshake;
  std::array<char, 8 << 10> piece;
  std::string incoming; // read, and not parsed
  bool isReading = false, isAtEnd = false, isFirst = true, keepsAlive = false, closesAfter = false, isCounted = false,
       isContinuing = false;
  size_t lingered = 0;
  std::chrono::steady_clock::time_point began;
  std::shared_ptr<HttpRequestReader> reader;
  HttpRequest head; // of the request that is going on, without its body
  HttpResponse response;
  std::string responseHead;
  std::shared_ptr<ExchangeState> exchange;
};

} // namespace vx::serve

#endif

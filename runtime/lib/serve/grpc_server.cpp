#include "grpc_server.h"

#include "failure.h"
#include "file_text.h"
#include "gatekeeper.h"
#include "grpc_library.h"
#include "run_failure.h"

#include "vx/base/regular_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

namespace vx::serve {

// State that all calls share.
struct GrpcServer::Front {
  const vx_grpc_functions &library;
  const std::shared_ptr<ServerState> state;
  HttpHandler &handler;
};

namespace {

std::string_view viewOf(vx_grpc_text text) { return {text.data, static_cast<size_t>(text.size)}; }
vx_grpc_text textOf(std::string_view text) { return {text.data(), text.size()}; }

// Gives a call of the library back when nobody answers it any more.
class CallHandle {
public:
  CallHandle(const vx_grpc_functions &library, vx_grpc_call *call) : library(library), call(call) {}
  CallHandle(const CallHandle &) = delete;
  CallHandle &operator=(const CallHandle &) = delete;
  ~CallHandle() { library.release(call); }

  void answer(const HttpResponse &response, const std::string &requestId) const {
    std::vector<std::pair<std::string, std::string>> named = response.headers;
    named.emplace_back("x-request-id", requestId);
    std::vector<vx_grpc_header> headers;
    std::string_view code;
    for (auto &[name, value] : named) {
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c); });
      headers.push_back({textOf(name), textOf(value)});
      if (name == "x-vx-error-code")
        code = value;
    }
    const vx_grpc_answer answer = {response.status, textOf(code), headers.data(), headers.size(),
                                   textOf(response.body)};
    library.answer(call, &answer);
  }

private:
  const vx_grpc_functions &library;
  vx_grpc_call *const call;
};

ByteBudget::Limits byteLimitsOf(const HttpLimits &limits) {
  return {limits.bytesInFlight, limits.bytesPerAddress, limits.bytesPerKey};
}

// A call from its metadata to its end. A function of it may be what ends it: the functions of the table hold it
// meanwhile.
class GrpcCall : public std::enable_shared_from_this<GrpcCall> {
public:
  GrpcCall(const vx_grpc_functions &library, std::shared_ptr<ServerState> given, HttpHandler &handler,
           vx_grpc_call *call, const vx_grpc_head &from)
      : state(std::move(given)), handler(handler), limits(state->currentLimits()) {
    head.method = viewOf(from.method);
    head.path = viewOf(from.pattern);
    head.rpc = viewOf(from.rpc);
    head.address = viewOf(from.address);
    for (uint64_t i = 0; i < from.header_count; ++i)
      head.headers.emplace_back(viewOf(from.headers[i].name), viewOf(from.headers[i].value));
    if (from.timeout_ms > 0)
      head.headers.emplace_back("x-request-timeout-ms", std::to_string(from.timeout_ms));
    const std::string *id = head.header("x-request-id");
    head.id = id && isRequestId(*id) ? *id : makeRequestId();
    room = std::make_shared<Reservation>(state, byteLimitsOf(limits), head.address);
    exchange = std::make_shared<ExchangeState>([handle = std::make_shared<CallHandle>(library, call), id = head.id,
                                                status = status](const HttpResponse &response) {
      *status = response.status;
      handle->answer(response, id);
    });
    isCounted = state->counts.add(networkOf(head.address));
    ++state->requests;
  }
  GrpcCall(const GrpcCall &) = delete;
  GrpcCall &operator=(const GrpcCall &) = delete;
  ~GrpcCall() {
    room.reset();
    exchange.reset();
    --state->requests;
    if (isCounted)
      state->counts.remove(networkOf(head.address));
    const std::lock_guard guard(state->lock);
    state->connectionClosed.notify_all();
  }

  void begin() {
    try {
      if (!isCounted) {
        ++state->refusedConnections;
        throw ServiceError(ErrorCode::queue_full, "too many connections and calls are open").after(1);
      }
      for (const std::string_view name : {"authorization", "x-api-key", "x-request-id", "traceparent"})
        if (const size_t count = head.headerCount(name); count > 1)
          throw serviceError(ErrorCode::bad_request, "expected one metadata entry '{}', got {}", name, count);
      handler.admit(head);
      room->setAccount(head.account);
    } catch (...) {
      refuse(currentFailure());
    }
  }
  bool reserve(uint64_t bytes) {
    const std::string full = room->add(bytes);
    if (!full.empty())
      refuse(bytes > room->limit()
                 ? serviceError(ErrorCode::body_too_large,
                                "a message of {} bytes is larger than all that may be in flight, {}", bytes,
                                room->limit())
                 : serviceError(ErrorCode::queue_full, "{}, there is no room for {} more", full, bytes).after(1));
    return full.empty();
  }
  void handle(const vx_grpc_request &message) {
    std::shared_ptr<Exchange> given;
    try {
      const std::span<const vx_grpc_text> body(message.body, message.body_count);
      uint64_t size = 0;
      for (const vx_grpc_text part : body)
        size += part.size;
      if (size > limits.bodyBytes)
        throw serviceError(ErrorCode::body_too_large, "a request may have {} bytes, got {}", limits.bodyBytes, size)
            .expected(limits.bodyBytes, size);
      HttpRequest request = head;
      request.path = viewOf(message.pattern);
      for (uint64_t i = 0; i < message.argument_count; ++i)
        request.arguments.emplace_back(viewOf(message.arguments[i]));
      request.body.reserve(size);
      for (const vx_grpc_text part : body)
        request.body += viewOf(part);
      request.headers.emplace_back("inference-header-content-length", std::to_string(message.json_size));
      given = std::make_shared<Exchange>(std::move(request), exchange, room, handler);
      handler.handle(given);
    } catch (...) {
      refuse(currentFailure());
    }
  }
  void refuse(const ServiceError &error) { exchange->reply(handler.refuse(head, error)); }
  bool lose() { return exchange->lose(); }
  void end() {
    exchange->lose();
    handler.finished(head, *status, std::chrono::steady_clock::now() - began);
  }

private:
  const std::shared_ptr<ServerState> state;
  HttpHandler &handler;
  const HttpLimits limits;
  HttpRequest head; // without its message
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  // Of the answer; of a client that was gone before there was one, as HTTP's log has it.
  const std::shared_ptr<std::atomic<unsigned>> status = std::make_shared<std::atomic<unsigned>>(499);
  std::shared_ptr<Reservation> room;
  std::shared_ptr<ExchangeState> exchange;
  bool isCounted = false;
};

using Held = std::shared_ptr<GrpcCall>;
Held hold(void *request) { return *static_cast<Held *>(request); }

// The functions that the library calls. Nothing is thrown into it.
template <typename Front>
vx_grpc_host hostOf(Front &front) {
  vx_grpc_host host = {};
  host.context = &front;
  host.begin = [](void *context, vx_grpc_call *call, const vx_grpc_head *head) -> void * {
    auto &front = *static_cast<Front *>(context);
    try {
      auto held = std::make_unique<Held>();
      *held = std::make_shared<GrpcCall>(front.library, front.state, front.handler, call, *head);
      (*held)->begin();
      return held.release();
    } catch (const std::exception &) {
      return nullptr;
    }
  };
  host.reserve = [](void *request, uint64_t bytes) -> int32_t { return hold(request)->reserve(bytes) ? 1 : 0; };
  host.handle = [](void *request, const vx_grpc_request *message) { hold(request)->handle(*message); };
  host.refuse = [](void *request, vx_grpc_text code, vx_grpc_text message) {
    hold(request)->refuse(ServiceError(parseErrorCode(viewOf(code)), std::string(viewOf(message))));
  };
  host.lose = [](void *request) -> int32_t { return hold(request)->lose() ? 1 : 0; };
  host.end = [](void *request) {
    const std::unique_ptr<Held> held(static_cast<Held *>(request));
    (*held)->end();
  };
  return host;
}

std::string readPem(const std::string &path) {
  constexpr size_t most = 1 << 20;
  FileError unreadable;
  const int descriptor = openRegularFile(path, unreadable);
  if (descriptor < 0)
    throw dataError("'{}': {}", path, unreadable.text);
  std::string text;
  const std::string reason = serve::readText(descriptor, most, text);
  ::close(descriptor);
  if (!reason.empty())
    throw dataError("'{}': {}", path, reason);
  return text;
}

// The bytes of both files, which checkTls has found to fit.
std::array<std::string, 2> readTlsFiles(const TlsFiles &files) {
  if (files.certificate.empty())
    return {};
  checkTls(files);
  return {readPem(files.certificate), readPem(files.key)};
}

} // namespace

GrpcServer::GrpcServer(const std::string &host, uint16_t port, const TlsFiles &tls, std::shared_ptr<ServerState> state,
                       HttpHandler &handler)
    : library(openGrpcLibrary()), front(new Front{library, std::move(state), handler}) {
  const auto [certificate, key] = readTlsFiles(tls);
  const HttpLimits limits = front->state->currentLimits();
  const auto milliseconds = [](std::chrono::milliseconds time) {
    return static_cast<uint32_t>(std::min<int64_t>(time.count(), INT32_MAX));
  };
  std::array<char, 512> message = {};
  vx_grpc_options options = {};
  options.host = textOf(host);
  options.port = port;
  options.body_timeout_ms = milliseconds(limits.bodyTime);
  options.header_timeout_ms = milliseconds(limits.headerTime);
  options.message_limit = limits.bodyBytes;
  // Messages that are not whole have not been counted yet.
  options.memory = 2 * limits.bytesInFlight + (64 << 20);
  options.streams = static_cast<uint32_t>(std::min<size_t>(limits.connectionsPerAddress, 1024));
  options.certificate = textOf(certificate);
  options.key = textOf(key);
  options.message = message.data();
  options.message_size = message.size();
  const vx_grpc_host functions = hostOf(*front);
  server = library.start(&options, &functions);
  if (!server)
    throw ioError("cannot listen on '{}' port {} for gRPC: {}", host, port, message.data());
}

GrpcServer::~GrpcServer() { library.stop(server); }

void GrpcServer::setTls(const TlsFiles &files) {
  const auto [certificate, key] = readTlsFiles(files);
  library.set_certificate(server, textOf(certificate), textOf(key));
}

void GrpcServer::drain(std::chrono::milliseconds time) { library.drain(server, static_cast<uint64_t>(time.count())); }

} // namespace vx::serve

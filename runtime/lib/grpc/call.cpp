#include "call.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <vector>

namespace vx::grpc_wire {
namespace {

// Messages and details are trailers, of which clients take a few KiB.
constexpr size_t mostMessage = 2048, mostDetails = 2048;

// The metadata that mean something to the server. All else, as Content-Length, is gRPC's own.
constexpr std::string_view passedOn[] = {"authorization", "x-api-key", "x-request-id", "traceparent", "tracestate"};

// "127.0.0.1" of "ipv4:127.0.0.1:5000", "::1" of "ipv6:[::1]:5000" and of "ipv6:%5B::1%5D:5000".
std::string addressOf(std::string peer) {
  for (const auto &[escape, text] : {std::pair("%5B", "["), std::pair("%5D", "]")})
    if (const size_t place = peer.find(escape); place != std::string::npos)
      peer.replace(place, 3, text);
  const size_t begin = peer.find(':') + 1, end = peer.rfind(':');
  if (begin == 0 || end <= begin)
    return peer;
  std::string host = peer.substr(begin, end - begin);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  constexpr std::string_view mapped = "::ffff:";
  return host.starts_with(mapped) && host.find('.') != std::string::npos ? host.substr(mapped.size()) : host;
}

uint64_t timeoutOf(const grpc::GenericCallbackServerContext &context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max())
    return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::system_clock::now());
  // A deadline so far away is none.
  constexpr int64_t year = 365LL * 86400 * 1000;
  return left.count() > year ? 0 : static_cast<uint64_t>(std::max<int64_t>(1, left.count()));
}

bool isMetadata(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// The buffer has the text itself, and frees it.
grpc::ByteBuffer bufferOf(std::string bytes) {
  auto kept = std::make_unique<std::string>(std::move(bytes));
  std::string &text = *kept;
  const grpc::Slice slice(
      text.data(), text.size(), [](void *own) { delete static_cast<std::string *>(own); }, kept.release());
  return {&slice, 1};
}

} // namespace

void CallTable::add(Call &call) {
  const std::lock_guard guard(lock);
  calls.insert(&call);
}

void CallTable::remove(Call &call) {
  const std::lock_guard guard(lock);
  calls.erase(&call);
}

void CallTable::endLate() {
  std::vector<Call *> held;
  {
    const std::lock_guard guard(lock);
    for (Call *call : calls) {
      call->hold();
      held.push_back(call);
    }
  }
  for (Call *call : held) {
    call->endIfLate(Clock::now());
    call->release();
  }
}

Call::Call(std::shared_ptr<CallTable> table, grpc::GenericCallbackServerContext &context)
    : table(std::move(table)), context(context), rpc(findRpc(context.method())) {}

void Call::begin() {
  table->add(*this);
  if (!rpc)
    return finish({grpc::StatusCode::UNIMPLEMENTED, describeMissing(context.method())});
  std::vector<vx_grpc_header> headers;
  const auto &metadata = context.client_metadata();
  for (const std::string_view name : passedOn) {
    const auto [first, last] = metadata.equal_range(grpc::string_ref(name.data(), name.size()));
    for (auto field = first; field != last; ++field)
      headers.push_back({textOf(name), {field->second.data(), field->second.size()}});
  }
  const std::string address = addressOf(context.peer());
  const vx_grpc_head head = {textOf(rpc->name), textOf(rpc->method), textOf(rpc->pattern), textOf(address),
                             headers.data(),    headers.size(),      timeoutOf(context)};
  hold(); // for the server
  request = table->host.begin(table->host.context, reinterpret_cast<vx_grpc_call *>(this), &head);
  if (!request) {
    release();
    return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the server has no memory for this request"});
  }
  if (isOver)
    return;
  wait();
  StartRead(&message);
}

void Call::OnReadDone(bool hasMessage) {
  if (isRead.exchange(true) || isOver)
    return;
  due = 0;
  if (!hasMessage)
    return refuse(MessageError::code, fmt::format("expected a message of {}, got none", rpc->name.substr(1)));
  try {
    readMessage();
  } catch (const MessageError &error) {
    refuse(MessageError::code, error.what());
  } catch (const std::bad_alloc &) {
    refuse("out_of_memory", "the server has no memory for this request");
  } catch (const std::exception &error) {
    refuse("internal", error.what());
  }
  message.Clear();
}

void Call::readMessage() {
  const auto reserve = [this](uint64_t bytes) { return table->host.reserve(request, bytes) != 0; };
  uint64_t held = message.Length();
  if (!reserve(held))
    return;
  grpc::Slice whole;
  if (!message.TrySingleSlice(&whole).ok() && !message.DumpToSingleSlice(&whole).ok())
    throw std::bad_alloc();
  const std::string_view bytes(reinterpret_cast<const char *>(whole.begin()), whole.size());
  const uint64_t needed = memoryOf(*rpc, bytes);
  if (!reserve(needed - held))
    return;
  held = needed;
  const Translated translated = grpc_wire::readMessage(*rpc, bytes);
  if (const uint64_t size = translated.bodySize(); size > held && !reserve(size - held))
    return;
  wantsContents = translated.wantsContents;
  std::vector<vx_grpc_text> arguments;
  for (const std::string &argument : translated.arguments)
    arguments.push_back(textOf(argument));
  std::vector<vx_grpc_text> body = {textOf(translated.json)};
  for (const std::string_view tensor : translated.raw)
    body.push_back(textOf(tensor));
  body.push_back(textOf(translated.contents));
  const vx_grpc_request given = {
      textOf(translated.pattern), arguments.data(), arguments.size(), body.data(), body.size(), translated.json.size()};
  table->host.handle(request, &given);
}

void Call::refuse(std::string_view code, const std::string &text) {
  table->host.refuse(request, textOf(code), textOf(text));
}

void Call::answer(const vx_grpc_answer &answer) {
  if (isOver.exchange(true))
    return;
  const std::string_view body = viewOf(answer.body), code = viewOf(answer.code);
  wait();
  try {
    addTrailers(answer);
    std::string bytes;
    if (answer.status == 200) {
      uint64_t jsonSize = body.size();
      for (uint64_t i = 0; i < answer.header_count; ++i)
        if (viewOf(answer.headers[i].name) == "inference-header-content-length") {
          const std::string_view value = viewOf(answer.headers[i].value);
          (void)std::from_chars(value.data(), value.data() + value.size(), jsonSize);
        }
      bytes = writeMessage(*rpc, body, jsonSize, wantsContents);
    } else if (!isNotReady(*rpc, code)) {
      const nlohmann::json error = nlohmann::json::parse(body, nullptr, false);
      std::string text = error.is_object() ? error.value("error", "") : "";
      if (text.size() > mostMessage)
        text = text.substr(0, mostMessage) + "...";
      if (const std::string details =
              error.is_object() && error.contains("details")
                  ? error["details"].dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)
                  : "";
          !details.empty() && details.size() <= mostDetails)
        context.AddTrailingMetadata("x-vx-error-details", details);
      return Finish({static_cast<grpc::StatusCode>(statusOfCode(code)), text});
    }
    reply = bufferOf(std::move(bytes));
    StartWriteAndFinish(&reply, grpc::WriteOptions(), grpc::Status::OK);
  } catch (const std::bad_alloc &) {
    Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the server has no memory for this answer"});
  } catch (const std::exception &) {
    Finish({grpc::StatusCode::INTERNAL, "the answer could not be made"});
  }
}

void Call::addTrailers(const vx_grpc_answer &answer) {
  for (uint64_t i = 0; i < answer.header_count; ++i) {
    const std::string_view name = viewOf(answer.headers[i].name), value = viewOf(answer.headers[i].value);
    const bool isOfHttp = name == "inference-header-content-length" || name == "www-authenticate" || name == "allow";
    if (!isOfHttp && isMetadata(value))
      context.AddTrailingMetadata(std::string(name), std::string(value));
  }
}

void Call::finish(const grpc::Status &status) {
  if (!isOver.exchange(true))
    Finish(status);
}

void Call::OnCancel() {
  due = 0;
  // Without a request the call is over, or it ends within `begin`.
  if (request && table->host.lose(request))
    finish(grpc::Status::CANCELLED);
}

void Call::OnDone() {
  table->remove(*this);
  {
    const std::lock_guard guard(contextLock);
    isDone = true;
  }
  if (request)
    table->host.end(request);
  release();
}

void Call::endIfLate(Clock::time_point now) {
  Clock::rep waited = due;
  if (waited == 0 || now.time_since_epoch().count() < waited || !due.compare_exchange_strong(waited, 0))
    return;
  // After OnDone there is neither a request nor a context.
  const std::lock_guard guard(contextLock);
  if (isDone)
    return;
  if (!isOver)
    return refuse("request_timeout", fmt::format("the message of a call may take {} ms", table->patience.count()));
  context.TryCancel();
}

void Call::release() {
  if (--holders == 0)
    delete this;
}

} // namespace vx::grpc_wire

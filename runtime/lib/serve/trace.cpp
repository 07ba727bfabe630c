#include "trace.h"

#include "json_append.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

namespace vx::serve {
namespace {

bool isLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool isZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

uint64_t randomNumber() {
  thread_local std::mt19937_64 random = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  uint64_t number = 0;
  while (number == 0)
    number = random();
  return number;
}

// `"name":`, and a comma before all but the first one of an object.
void appendKey(std::string &json, std::string_view name) {
  if (json.back() != '{')
    json += ',';
  json += '"';
  json += name;
  json += "\":";
}

void appendMember(std::string &json, std::string_view name, std::string_view text) {
  appendKey(json, name);
  appendJson(json, text);
}

// Numbers of 64 bits are texts in JSON of protobuf.
void appendMember(std::string &json, std::string_view name, std::integral auto number) {
  appendKey(json, name);
  json += '"';
  appendNumber(json, number);
  json += '"';
}

void appendAttributes(std::string &json, const std::vector<Span::Attribute> &attributes) {
  appendKey(json, "attributes");
  json += '[';
  for (const auto &[name, value] : attributes) {
    json += &name == &attributes.front().first ? "{" : ",{";
    appendMember(json, "key", name);
    appendKey(json, "value");
    json += '{';
    if (const auto *text = std::get_if<std::string>(&value))
      appendMember(json, "stringValue", *text);
    else
      appendMember(json, "intValue", std::get<int64_t>(value));
    json += "}}";
  }
  json += ']';
}

void appendSpan(std::string &json, const Span &span) {
  json += '{';
  appendMember(json, "traceId", span.trace);
  appendMember(json, "spanId", span.id);
  if (!span.parent.empty())
    appendMember(json, "parentSpanId", span.parent);
  if (!span.state.empty())
    appendMember(json, "traceState", span.state);
  appendMember(json, "name", span.name);
  appendKey(json, "kind");
  appendNumber(json, static_cast<int>(span.kind));
  appendMember(json, "startTimeUnixNano", span.began);
  appendMember(json, "endTimeUnixNano", span.ended);
  appendAttributes(json, span.attributes);
  if (span.isError)
    json += R"(,"status":{"code":2})";
  json += '}';
}

} // namespace

std::optional<TraceParent> parseTraceParent(std::string_view header) {
  static constexpr size_t size = 55;
  if (header.size() < size || header[2] != '-' || header[35] != '-' || header[52] != '-')
    return std::nullopt;
  const std::string_view version = header.substr(0, 2), trace = header.substr(3, 32), span = header.substr(36, 16),
                         flags = header.substr(53, 2);
  for (std::string_view part : {version, trace, span, flags})
    if (!isLowerHex(part))
      return std::nullopt;
  // Later versions may have more after it.
  const bool isWhole = header.size() == size || (version != "00" && header[size] == '-');
  if (version == "ff" || !isWhole || isZero(trace) || isZero(span))
    return std::nullopt;
  unsigned bits = 0;
  std::from_chars(flags.data(), flags.data() + flags.size(), bits, 16);
  return TraceParent{std::string(trace), std::string(span), (bits & 1) != 0};
}

std::string makeSpanId() { return fmt::format("{:016x}", randomNumber()); }

bool chooseForTrace(uint64_t oneIn) { return randomNumber() % oneIn == 0; }

RequestTrace::RequestTrace(const std::optional<TraceParent> &given, std::string stateOf)
    : trace(given ? given->trace : fmt::format("{:016x}{:016x}", randomNumber(), randomNumber())), span(makeSpanId()),
      parent(given ? given->span : ""), state(given ? std::move(stateOf) : ""), isSampled(!given || given->isSampled) {}

std::string RequestTrace::header() const { return fmt::format("00-{}-{}-{}", trace, span, isSampled ? "01" : "00"); }

void RequestTrace::wait(Moment came) {
  std::lock_guard guard(lock);
  known.came = came;
}

void RequestTrace::begin(Moment began, size_t batchRows, std::string device) {
  std::lock_guard guard(lock);
  known.began = began;
  known.batchRows = batchRows;
  known.device = std::move(device);
}

void RequestTrace::end(Moment ended) {
  std::lock_guard guard(lock);
  known.ended = ended;
}

RequestTrace::Times RequestTrace::times() const {
  std::lock_guard guard(lock);
  return known;
}

// Of each sampled request some spans come here, so no document of objects is made on the way.
std::string otlpJson(const std::vector<Span> &spans, const std::vector<Span::Attribute> &resource) {
  constexpr size_t usualSize = 640; // of a span
  std::string json;
  json.reserve(spans.size() * usualSize);
  json += R"({"resourceSpans":[{"resource":{)";
  appendAttributes(json, resource);
  json += R"(},"scopeSpans":[{"scope":{"name":"vx-serve"},"spans":[)";
  for (const Span &span : spans) {
    if (&span != &spans.front())
      json += ',';
    appendSpan(json, span);
  }
  json += "]}]}]}";
  return json;
}

} // namespace vx::serve

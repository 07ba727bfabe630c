#include "trace.h"

#include "vx/base/json_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

nlohmann::ordered_json attributesJson(const std::vector<Span::Attribute> &attributes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto &[name, value] : attributes) {
    const auto *text = std::get_if<std::string>(&value);
    // Numbers of 64 bits are texts in JSON of protobuf.
    const nlohmann::ordered_json entry =
        text ? nlohmann::ordered_json{{"stringValue", *text}}
             : nlohmann::ordered_json{{"intValue", std::to_string(std::get<int64_t>(value))}};
    list.push_back({{"key", name}, {"value", entry}});
  }
  return list;
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

std::string otlpJson(const std::vector<Span> &spans, const std::vector<Span::Attribute> &resource) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Span &span : spans) {
    nlohmann::ordered_json entry = {{"traceId", span.trace}, {"spanId", span.id}};
    if (!span.parent.empty())
      entry["parentSpanId"] = span.parent;
    if (!span.state.empty())
      entry["traceState"] = span.state;
    entry["name"] = span.name;
    entry["kind"] = static_cast<int>(span.kind);
    entry["startTimeUnixNano"] = std::to_string(span.began);
    entry["endTimeUnixNano"] = std::to_string(span.ended);
    entry["attributes"] = attributesJson(span.attributes);
    if (span.isError)
      entry["status"] = {{"code", 2}};
    list.push_back(std::move(entry));
  }
  const nlohmann::ordered_json scope = {{"scope", {{"name", "vx-serve"}}}, {"spans", std::move(list)}};
  const nlohmann::ordered_json body = {
      {"resourceSpans", nlohmann::ordered_json::array({{{"resource", {{"attributes", attributesJson(resource)}}},
                                                        {"scopeSpans", nlohmann::ordered_json::array({scope})}}})}};
  return jsonText(body);
}

} // namespace vx::serve

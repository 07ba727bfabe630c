// Traces of requests: W3C's Trace Context in and out, and spans as OTLP has them in JSON.
#ifndef VX_SERVE_TRACE_H
#define VX_SERVE_TRACE_H

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vx::serve {

// The span of another program that a request belongs to (https://www.w3.org/TR/trace-context).
struct TraceParent {
  std::string trace, span; // 32 and 16 hexadecimal digits
  bool isSampled = false;
};
// "00-TRACE-SPAN-FLAGS". Nothing if it breaks the format.
std::optional<TraceParent> parseTraceParent(std::string_view header);

// Whether a request without a parent is traced: at random, for one in so many.
bool chooseForTrace(uint64_t oneIn);

// The known facts of one request's way through the server. Thread-safe.
class RequestTrace {
public:
  using Moment = std::chrono::steady_clock::time_point;
  // When a request waited for its model and ran. A moment that did not come is the clock's first.
  struct Times {
    Moment came, began, ended;
    size_t batchRows = 0;
    std::string device;
  };

  // Continues the trace of `parent`, or begins one, which is sampled. `state` is the header tracestate, which is passed
  // on to the collector.
  RequestTrace(const std::optional<TraceParent> &parent, std::string state);

  const std::string trace, span, parent, state;
  const bool isSampled;
  // The header that names this span: "00-TRACE-SPAN-01".
  std::string header() const;

  void wait(Moment came);
  void begin(Moment began, size_t batchRows, std::string device);
  void end(Moment ended);
  Times times() const;

private:
  mutable std::mutex lock;
  Times known;
};

// A part of a trace. Times are nanoseconds since 1970.
struct Span {
  enum class Kind : uint8_t { internal = 1, server = 2 };
  using Attribute = std::pair<std::string_view, std::variant<std::string, int64_t>>; // names are constants
  std::string trace, id, parent = {}, state = {}, name;                              // the ids are hexadecimal
  Kind kind = Kind::internal;
  uint64_t began = 0, ended = 0;
  std::vector<Attribute> attributes = {};
  bool isError = false;
};

// 16 hexadecimal digits, not all 0.
std::string makeSpanId();

// The body of a request to a collector: {"resourceSpans":[...]}.
std::string otlpJson(const std::vector<Span> &spans, const std::vector<Span::Attribute> &resource);

} // namespace vx::serve

#endif

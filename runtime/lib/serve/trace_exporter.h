// Sends spans to a collector of OpenTelemetry. Nothing waits for it: spans that are too many are dropped.
#ifndef VX_SERVE_TRACE_EXPORTER_H
#define VX_SERVE_TRACE_EXPORTER_H

#include "http_client.h"
#include "trace.h"

#include <atomic>
#include <functional>
#include <memory>

namespace vx::serve {

// Thread-safe.
class TraceExporter {
public:
  using Warn = std::function<void(const std::string &line)>;
  struct Counts {
    uint64_t sent = 0, dropped = 0; // spans
  };
  // So many spans wait at the most; more drop the oldest ones.
  static constexpr size_t mostWaiting = 4096;

  // `resource` describes the server. `warn` is called by the exporter's thread when sending begins to fail, once a
  // minute while it does, and when it works again.
  TraceExporter(const HttpUrl &url, std::vector<Span::Attribute> resource, Warn warn);
  // Sends what waits, for a second at the most, and drops the rest.
  ~TraceExporter();
  TraceExporter(const TraceExporter &) = delete;
  TraceExporter &operator=(const TraceExporter &) = delete;

  void add(std::vector<Span> spans);
  Counts counts() const;

private:
  struct State;
  const std::shared_ptr<State> state;
};

} // namespace vx::serve

#endif

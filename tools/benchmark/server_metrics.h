// The values of a server's /metrics.
#ifndef VX_BENCH_SERVER_METRICS_H
#define VX_BENCH_SERVER_METRICS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vx::tools {

struct ServerMetrics {
  std::optional<double> cpuSeconds;
  std::optional<double> residentBytes;
  // Batches of a model by their rows, of which each number up to `le` of a bucket counts as `le`.
  std::map<uint64_t, uint64_t> batches;

  // The difference between an earlier reading and this one. The memory is not a difference, but as this reading has it.
  ServerMetrics since(const ServerMetrics &earlier) const;
  void add(const ServerMetrics &other);
};

// Of the text format of Prometheus; values that are not there stay unknown.
ServerMetrics parseServerMetrics(std::string_view text, const std::string &model);

} // namespace vx::tools

#endif

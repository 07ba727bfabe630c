#include "server_metrics.h"

#include <algorithm>
#include <charconv>

namespace vx::tools {

// The value of a label of a line's "{name="value",...}"; nothing where it has none. Values with quotes in them end
// early, and are then no model's name.
static std::optional<std::string_view> labelOf(std::string_view line, std::string_view name) {
  const std::string begin = std::string(name) + "=\"";
  const size_t place = line.find(begin);
  if (place == std::string_view::npos)
    return std::nullopt;
  line.remove_prefix(place + begin.size());
  return line.substr(0, line.find('"'));
}

static std::optional<double> numberOf(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

ServerMetrics parseServerMetrics(std::string_view text, const std::string &model) {
  ServerMetrics metrics;
  uint64_t below = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t space = line.rfind(' ');
    if (line.starts_with('#') || space == std::string_view::npos)
      continue;
    const std::string_view name = line.substr(0, std::min(line.find('{'), space));
    const std::optional<double> value = numberOf(line.substr(space + 1));
    if (!value)
      continue;
    if (name == "process_cpu_seconds_total")
      metrics.cpuSeconds = value;
    else if (name == "process_resident_memory_bytes")
      metrics.residentBytes = value;
    else if (name == "vx_batch_rows_bucket" && labelOf(line, "model") == model) {
      // They come from the least on, each with all that are below it.
      const auto count = static_cast<uint64_t>(*value);
      if (const auto bound = numberOf(labelOf(line, "le").value_or("")); bound && count > below && *bound < 1e9)
        metrics.batches[static_cast<uint64_t>(*bound)] += count - below;
      below = count;
    }
  }
  return metrics;
}

ServerMetrics ServerMetrics::since(const ServerMetrics &earlier) const {
  ServerMetrics result = *this;
  if (cpuSeconds && earlier.cpuSeconds)
    *result.cpuSeconds -= *earlier.cpuSeconds;
  for (const auto &[rows, count] : earlier.batches)
    if (const auto found = result.batches.find(rows); found != result.batches.end() && (found->second -= count) == 0)
      result.batches.erase(found);
  return result;
}

void ServerMetrics::add(const ServerMetrics &other) {
  if (other.cpuSeconds)
    cpuSeconds = cpuSeconds.value_or(0) + *other.cpuSeconds;
  residentBytes = other.residentBytes;
  for (const auto &[rows, count] : other.batches)
    batches[rows] += count;
}

} // namespace vx::tools

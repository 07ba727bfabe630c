#include "probe_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vx::tools {

using Json = nlohmann::ordered_json;

Spread spreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.5), values.front(), values.back(), static_cast<uint32_t>(values.size())};
}

void ProbeRounds::add(const ProbeRound &round) {
  auto note = [](std::vector<double> &list, const std::optional<double> &value) {
    if (value)
      list.push_back(*value);
  };
  note(fmaGflops, round.fmaGflops);
  note(readGbs, round.readGbs);
  note(copyGbs, round.copyGbs);
}

Peaks ProbeRounds::peaks() const {
  auto orNothing = [](const std::vector<double> &values) {
    return values.empty() ? std::nullopt : std::optional(spreadOf(values));
  };
  return {orNothing(fmaGflops), orNothing(readGbs), orNothing(copyGbs)};
}

void Peaks::addTo(Json &object) const {
  uint32_t rounds = 0;
  for (const auto &[name, spread] : {std::pair<std::string, std::optional<Spread>>("fma_gflops", fmaGflops),
                                     {"read_gbs", readGbs},
                                     {"copy_gbs", copyGbs}}) {
    object[name] = spread ? Json(spread->median) : Json(nullptr);
    object[name + "_min"] = spread ? Json(spread->least) : Json(nullptr);
    object[name + "_max"] = spread ? Json(spread->greatest) : Json(nullptr);
    rounds = std::max(rounds, spread ? spread->rounds : 0);
  }
  object["rounds"] = rounds;
}

// "812.3 (798.0 to 820.1)"
static std::string spreadText(const std::optional<Spread> &spread) {
  return spread ? fmt::format("{:.1f} ({:.1f} to {:.1f})", spread->median, spread->least, spread->greatest) : "-";
}

std::string peaksText(const std::string &device, uint32_t threads, const Peaks &peaks) {
  return fmt::format("{}{} at best: f32 FMA {} GFLOP/s, read {} GB/s, copy {} GB/s\n", device,
                     threads ? fmt::format(" with {} thread{}", threads, threads == 1 ? "" : "s") : std::string(),
                     spreadText(peaks.fmaGflops), spreadText(peaks.readGbs), spreadText(peaks.copyGbs));
}

} // namespace vx::tools

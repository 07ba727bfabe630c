#include "best_target.h"

#include "vx/runtime/vx.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::tools {

static bool hasDevice(const nlohmann::json &backend) {
  const nlohmann::json devices = backend.value("devices", nlohmann::json::array());
  return std::any_of(devices.begin(), devices.end(),
                     [](const nlohmann::json &device) { return !device.value("software", false); });
}

std::string bestTarget(const std::vector<std::string> &built) {
  const auto list = nlohmann::json::parse(vx::listDevices());
  for (const char *name : {"cuda", "rocm", "vulkan"})
    for (const nlohmann::json &backend : list["backends"])
      if (backend["name"] == name && hasDevice(backend) &&
          (built.empty() || std::find(built.begin(), built.end(), name) != built.end()))
        return name;
  return "cpu";
}

std::string defaultTargets(const std::vector<std::string> &built) {
  const std::string best = bestTarget(built);
  return best == "cpu" ? best : best + ",cpu";
}

} // namespace vx::tools

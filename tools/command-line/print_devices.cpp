#include "print_devices.h"

#include "command_line.h"
#include "host_facts.h"
#include "vx/runtime/vx.hpp"

#include <nlohmann/json.hpp>

namespace vx::tools {

using Json = nlohmann::ordered_json;

// "23.5 GiB, 20.1 GiB free"; of GPUs the part that is free is not known before there is an instance.
static std::string memoryText(const Json &device) {
  const auto inGib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  std::string text = fmt::format("{:.1f} GiB", inGib(device.value("total_memory", uint64_t(0))));
  if (const std::optional<uint64_t> free = findFreeMemory(); free && device.value("device", "").starts_with("cpu:"))
    text += fmt::format(", {:.1f} GiB free", inGib(*free));
  return text;
}

void printDevices(bool asJson) {
  const std::string document = vx::listDevices();
  if (asJson) {
    printText(document + "\n");
    return;
  }
  const Json list = Json::parse(document);
  const std::string container = findContainer();
  printOut("machine: {}\n", container.empty() ? "no sign of a container" : "a container, " + container);
  for (const Json &backend : list["backends"]) {
    if (!backend.value("available", false)) {
      printOut("{}: {}\n", backend.value("name", ""), backend.value("reason", ""));
      continue;
    }
    for (const Json &device : backend["devices"]) {
      printOut("{}: {}", device.value("device", ""), device.value("name", ""));
      if (const std::string details = device.value("details", ""); !details.empty())
        printOut(" ({})", details);
      if (device.value("total_memory", uint64_t(0)) > 0)
        printOut("\n  memory: {}", memoryText(device));
      std::string features;
      for (const Json &feature : device.value("features", Json::array()))
        features += (features.empty() ? "" : " ") + feature.get<std::string>();
      printOut("\n  features: {}\n", features.empty() ? "none" : features);
    }
  }
}

} // namespace vx::tools

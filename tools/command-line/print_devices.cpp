#include "print_devices.h"

#include "command_line.h"
#include "vx/runtime/vx.hpp"

#include <nlohmann/json.hpp>

namespace vx::tools {

using Json = nlohmann::ordered_json;

void printDevices(bool asJson) {
  const std::string document = vx::listDevices();
  if (asJson) {
    printText(document + "\n");
    return;
  }
  const Json list = Json::parse(document);
  for (const Json &backend : list["backends"]) {
    if (!backend.value("available", false)) {
      printOut("{}: {}\n", backend.value("name", ""), backend.value("reason", ""));
      continue;
    }
    for (const Json &device : backend["devices"]) {
      printOut("{}: {}", device.value("device", ""), device.value("name", ""));
      if (const std::string details = device.value("details", ""); !details.empty())
        printOut(" ({})", details);
      std::string features;
      for (const Json &feature : device.value("features", Json::array()))
        features += (features.empty() ? "" : " ") + feature.get<std::string>();
      printOut("\n  features: {}\n", features.empty() ? "none" : features);
    }
  }
}

} // namespace vx::tools

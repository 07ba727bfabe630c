#include "device_fallback.h"

#include "command_line.h"
#include "vx/base/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vx::tools {

using Json = nlohmann::ordered_json;

void tellFallback(const char *tool, const std::string &wanted, const vx::Instance &instance) {
  const Json report = Json::parse(instance.report(VX_REPORT_JSON));
  const std::string taken = report["taken"].value("device", ""), backend = report["taken"].value("backend", "");
  if (wanted == taken || wanted == backend)
    return;
  std::string reasons;
  for (const Json &refusal : report["refused"])
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", refusal.value("device", ""), refusal.value("reason", ""));
  printMessage("{}: note: asked for device '{}', took '{}': {}\n", tool, vx::printableLine(wanted), taken,
               vx::printableLine(reasons));
}

} // namespace vx::tools

#include "compile_targets.h"

#include "command_line.h"

#include "vx/runtime/vx.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::tools {

using Json = nlohmann::json;

std::string targetsFor(const std::string &device, bool noFallback) {
  const std::vector<std::string> built = splitList(vxc_targets());
  auto has = [&](const std::string &name) { return std::find(built.begin(), built.end(), name) != built.end(); };
  std::string target = device.substr(0, device.find(':'));
  if (target == "auto") {
    target = "cpu";
    const Json list = Json::parse(vx::listDevices());
    for (const char *name : {"cpu", "vulkan", "rocm", "cuda"})
      for (const Json &backend : list["backends"])
        if (backend.value("name", "") == name && backend.value("available", false) && has(name))
          target = name;
  }
  // The null device runs any code; what has no target is refused by the runtime, with its reasons.
  if (!has(target))
    return "cpu";
  return noFallback || target == "cpu" ? target : target + ",cpu";
}

void CompilerMessages::say(vxc_severity severity, const char *text) {
  std::lock_guard lock(mutex);
  if (severity == VXC_PROGRESS)
    return;
  // The last error ends the tool; those before it are said as they come.
  if (severity == VXC_ERROR) {
    if (!lastError.empty())
      fmt::print(stderr, "{}: error: {}\n", tool, lastError);
    lastError = text;
    return;
  }
  fmt::print(stderr, "{}: {}: {}\n", tool, severity == VXC_NOTE ? "note" : "warning", text);
}

} // namespace vx::tools

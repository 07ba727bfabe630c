#include "compile_targets.h"

#include "best_target.h"
#include "command_line.h"
#include "tool_error.h"

#include "vx/base/names.h"
#include "vx/runtime/vx.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::tools {

using Json = nlohmann::json;

std::string targetsFor(const char *tool, const CompilerLibrary &compiler, const std::string &device, bool noFallback) {
  const std::vector<std::string> built = splitList(compiler.targets());
  auto has = [&](const std::string &name) { return std::find(built.begin(), built.end(), name) != built.end(); };
  std::string target = device.substr(0, device.find(':'));
  const Json list = Json::parse(vx::listDevices());
  std::vector<std::string> known = {"auto"};
  for (const Json &backend : list["backends"])
    known.push_back(backend["name"]);
  // Said here, for the runtime says it when the model has been compiled.
  if (std::find(known.begin(), known.end(), target) == known.end())
    throw usageError("device '{}' is unknown, known are: {}", target, fmt::join(known, ", "));
  if (target == "auto")
    target = bestTarget(built);
  const std::string reason = leftOutTarget(target, built);
  if (!reason.empty() && noFallback)
    throw usageError("device '{}': the compiler {}", device, reason);
  if (!reason.empty())
    printMessage("{}: note: device '{}': the compiler {}; compiling for cpu\n", tool, device, reason);
  // The null device runs any code.
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
      printMessage("{}: error: {}\n", tool, lastError);
    lastError = text;
    return;
  }
  printMessage("{}: {}: {}\n", tool, severity == VXC_NOTE ? "note" : "warning", text);
}

} // namespace vx::tools

#include "compiled_model.h"

#include "best_target.h"
#include "command_line.h"
#include "module_cache.h"
#include "sibling_tool.h"
#include "tool_error.h"

#include "vx/base/cache_folder.h"
#include "vx/base/printable.h"
#include "vx/runtime/vx.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <unistd.h>

namespace vx::tools {

namespace fs = std::filesystem;

bool isModelFile(const std::string &path) { return path.ends_with(".onnx") || path.ends_with(".mlir"); }

std::vector<std::string> targetsOf(const std::vector<std::string> &devices, bool fallsBack) {
  std::vector<std::string> targets;
  auto add = [&](const std::string &target) {
    if (std::find(targets.begin(), targets.end(), target) == targets.end())
      targets.push_back(target);
  };
  for (const std::string &device : devices) {
    const std::string name = device.substr(0, device.find(':'));
    add(name == "auto" ? bestTarget() : name == "null" ? "cpu" : name);
  }
  if (fallsBack)
    add("cpu");
  return targets;
}

static bool loads(const fs::path &module) {
  std::error_code error;
  if (!fs::exists(module, error))
    return false;
  try {
    return vx::Module(module.string()), true;
  } catch (const vx::Error &) {
    return false; // damaged, or of another version: made again
  }
}

ModuleFile compileModelFile(const char *tool, const std::string &model, const std::vector<std::string> &targets,
                            const std::string &compiler) {
  std::string program;
  try {
    program = findTool(compiler);
  } catch (const ToolError &) {
    throw fileError(
        "'{}' is a model and no vx module, and there is no {} beside this {}: expected a module (.vxm) that "
        "'vx-compile {} -o {}' has made of it",
        model, compiler, tool, model, fs::path(model).replace_extension(".vxm").string());
  }
  const std::string cache = defaultCacheFolder(), list = fmt::format("{}", fmt::join(targets, ","));
  ModuleFile result;
  std::optional<ModuleCache> kept;
  if (!cache.empty()) {
    kept.emplace(cache, model, list, vx_version(), program);
    if (!kept->makeFolder().empty())
      kept.reset();
  }
  if (kept) {
    result.path = kept->module().string();
    if (loads(result.path))
      return result;
  } else {
    result.folder = std::make_shared<TemporaryFolder>(tool);
    result.path = (result.folder->path / fs::path(model).filename().replace_extension(".vxm")).string();
  }
  if (::isatty(STDERR_FILENO))
    fmt::print(stderr, "{}: compiling '{}' for {}\n", tool, printable(model), list);
  runSiblingTool(program, {model, "--target=" + list, "-o", result.path});
  if (kept)
    kept->removeOlder();
  return result;
}

} // namespace vx::tools

#include "compile_child.h"

#include "module_cache.h"
#include "tool_error.h"

#include "vx/runtime/vx.hpp"
#include "vx/serve/error.hpp"

#include <nlohmann/json.hpp>

namespace vx::tools {

namespace fs = std::filesystem;

// Those of the machine's devices that the model may come to run on.
static std::string targetsOf(const std::string &device, bool noFallback) {
  const std::string wanted = device.substr(0, device.find(':'));
  std::string targets;
  const auto backends = nlohmann::json::parse(listDevices())["backends"];
  for (const nlohmann::json &backend : backends) {
    const std::string name = backend["name"];
    const bool isAsked = wanted == "auto" || wanted == name || (!noFallback && name == "cpu");
    if (isAsked && name != "null" && backend["available"].get<bool>())
      targets += (targets.empty() ? "" : ",") + name;
  }
  return targets.empty() ? "cpu" : targets;
}

// Whether it is there, and no other version's nor damaged, which is made again.
static bool isModule(const fs::path &path) {
  std::error_code error;
  if (!fs::exists(path, error))
    return false;
  try {
    const Module module(path.string());
    return true;
  } catch (const vx::Error &) {
    return false;
  }
}

CompileChild::CompileChild(std::string cache, std::function<void(const std::string &)> warn)
    : cache(std::move(cache)), warn(std::move(warn)) {}

std::string CompileChild::compile(const std::string &model, const std::string &device, bool noFallback,
                                  const ToolLimits &limits) {
  const std::lock_guard guard(oneAtATime);
  try {
    const std::string compiler = findTool("vx-compile");
    const std::string targets = targetsOf(device, noFallback);
    const ModuleCache kept(cache, model, targets, vx_version(), compiler);
    fs::path module = kept.module();
    // Without a folder it would be one of wherever the server was started.
    if (!cache.empty() && isModule(module))
      return module;
    const std::string problem =
        cache.empty() ? "there is no cache_dir: expected VX_CACHE, XDG_CACHE_HOME or HOME" : kept.makeFolder();
    if (!problem.empty()) {
      if (!temporary) {
        std::string error;
        auto folder = std::make_unique<TemporaryFolder>("vx-serve", error);
        if (!error.empty())
          throw workError("{}, nor {}", problem, error);
        temporary = std::move(folder);
        warn(fmt::format("{}: what is compiled goes to '{}', and is compiled again by the next start", problem,
                         temporary->path()));
      }
      module = kept.moduleIn(temporary->path());
      if (isModule(module))
        return module;
    }
    std::vector<std::string> arguments = {model, "--target=" + targets, "-o", module};
    arguments.push_back(problem.empty() ? "--cache=" + cache : "--no-cache");
    runSiblingTool(compiler, arguments, limits);
    if (problem.empty())
      kept.removeOlder();
    return module;
  } catch (const ToolError &error) {
    throw serve::Error(serve::Error::Kind::data,
                       fmt::format("'{}' is no module file, and is not compiled: {}", model, error.what()));
  }
}

} // namespace vx::tools

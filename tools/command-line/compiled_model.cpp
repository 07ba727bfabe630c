#include "compiled_model.h"

#include "best_target.h"
#include "command_line.h"
#include "module_cache.h"
#include "sibling_tool.h"
#include "tool_error.h"

#include "vx/base/cache_folder.h"
#include "vx/base/gguf.h"
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

// The safetensors files of a folder, or a GGUF file with those that it was split into. vx-compile reports a file that
// cannot be read.
static std::vector<fs::path> weightFilesOf(const fs::path &model) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(model, error)) {
    for (const fs::directory_entry &entry : fs::directory_iterator(model, error))
      if (entry.path().extension() == ".safetensors")
        files.push_back(entry.path());
    return files;
  }
  GgufModel file;
  std::string reason;
  if (GgufModel::open(model.string(), file, reason))
    files.assign(file.paths().begin(), file.paths().end());
  return files;
}

// False on a file system without links.
static bool makeLinks(const std::vector<fs::path> &files, const fs::path &folder) {
  for (const fs::path &file : files) {
    std::error_code error;
    const fs::path link = folder / file.filename(), target = fs::canonical(file, error);
    // Another process may be at work with the same link.
    if (fs::read_symlink(link, error) == target)
      continue;
    const fs::path made = fmt::format("{}.{}", link.string(), ::getpid());
    fs::create_symlink(target, made, error);
    if (!error)
      fs::rename(made, link, error);
    if (error)
      return false;
  }
  return true;
}

ModuleFile compileModelFile(const char *tool, const std::string &model, const std::vector<std::string> &targets,
                            const std::string &compiler, WeightsOfModule weights) {
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
    kept.emplace(cache, model, list, vx_version(), program, weights == WeightsOfModule::referred);
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
  std::vector<std::string> arguments = {model, "--target=" + list, "-o", result.path};
  if (weights == WeightsOfModule::referred && makeLinks(weightFilesOf(model), fs::path(result.path).parent_path()))
    arguments.push_back("--weights=reference");
  runSiblingTool(program, arguments);
  if (kept)
    kept->removeOlder();
  return result;
}

} // namespace vx::tools

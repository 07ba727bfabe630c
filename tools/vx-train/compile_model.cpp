#include "compile_model.h"

#include "command_line.h"
#include "kernel_cache_folder.h"
#include "load_module.h"

#include "vx/compiler/vxc.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace vx::tools {

using Json = nlohmann::json;

// The target of the first device of the usual order that is there, or of the one that is asked for, with the CPU behind
// it where a refused one is no error.
static std::string targetsFor(const ModelOptions &options) {
  const std::vector<std::string> built = splitList(vxc_targets());
  auto has = [&](const std::string &name) { return std::find(built.begin(), built.end(), name) != built.end(); };
  std::string target = options.device.substr(0, options.device.find(':'));
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
  return options.noFallback || target == "cpu" ? target : target + ",cpu";
}

namespace {

struct Messages {
  const char *tool;
  std::mutex mutex;
  std::string lastError;

  void say(vxc_severity severity, const char *text) {
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
};

} // namespace

static std::vector<char> readModel(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || !std::filesystem::is_regular_file(path, error))
    throw fileError("cannot read '{}'", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

CompiledModel compileModel(const char *tool, const std::string &path, const ModelOptions &given) {
  Messages messages{tool, {}, {}};
  const std::string targets = targetsFor(given), cache = defaultKernelCache();
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty())
    folder = ".";
  auto orNull = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = targets.c_str();
  options.cache_folder = orNull(cache);
  options.precision = given.precision.c_str();
  options.train = given.train.c_str();
  options.freeze = orNull(given.freeze);
  options.loss = orNull(given.loss);
  options.optimizer = given.optimizer.c_str();
  options.clip_norm = given.clipNorm;
  options.clip_value = given.clipValue;
  options.keep_gradients = given.keepGradients;
  options.batch_norm = orNull(given.batchNorm);
  options.dropout = orNull(given.dropout);
  options.classes = given.classes;
  options.init = orNull(given.init);
  options.memory = given.memory;
  options.planned_batch = given.batch;
  options.data_folder = folder.c_str();
  options.user_data = &messages;
  options.on_message = [](void *data, vxc_severity severity, const char *message) {
    static_cast<Messages *>(data)->say(severity, message);
  };
  vxc_module *compiled = nullptr;
  vxc_result result = VXC_DONE;
  if (given.emit.empty()) {
    const std::vector<char> model = readModel(path);
    result = vxc_compile_bytes(model.data(), model.size(), std::filesystem::path(path).filename().c_str(), &options,
                               &compiled);
  } else {
    options.data_folder = nullptr;
    result = vxc_compile(path.c_str(), given.emit.c_str(), &options);
  }
  if (result != VXC_DONE)
    throw ToolError(static_cast<ExitCode>(result), messages.lastError);
  if (!given.emit.empty())
    return {nullptr, loadModule(given.emit)};
  const std::shared_ptr<void> bytes(compiled,
                                    [](void *module) { vxc_module_release(static_cast<vxc_module *>(module)); });
  const std::span data(static_cast<const std::byte *>(vxc_module_data(compiled)), vxc_module_size(compiled));
  return {bytes, vx::Module(data, path)};
}

} // namespace vx::tools

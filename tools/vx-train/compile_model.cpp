#include "compile_model.h"

#include "compile_targets.h"
#include "load_module.h"
#include "tool_error.h"

#include "vx/base/cache_folder.h"

#include <filesystem>
#include <fstream>

namespace vx::tools {

static std::vector<char> readModel(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || !std::filesystem::is_regular_file(path, error))
    throw fileError("cannot read '{}'", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

CompiledModel compileModel(const char *tool, const std::string &path, const ModelOptions &given) {
  CompilerMessages messages{tool};
  const CompilerLibrary &compiler = openCompiler(path);
  const std::string targets = targetsFor(tool, compiler, given.device, given.noFallback), cache = defaultCacheFolder();
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
    static_cast<CompilerMessages *>(data)->say(severity, message);
  };
  vxc_module *compiled = nullptr;
  vxc_result result = VXC_DONE;
  if (given.emit.empty()) {
    const std::vector<char> model = readModel(path);
    result = compiler.compileBytes(model.data(), model.size(), std::filesystem::path(path).filename().c_str(), &options,
                                   &compiled);
  } else {
    options.data_folder = nullptr;
    result = compiler.compile(path.c_str(), given.emit.c_str(), &options);
  }
  if (result != VXC_DONE)
    throw ToolError(static_cast<ExitCode>(result), messages.lastError);
  if (!given.emit.empty())
    return {nullptr, loadModule(given.emit)};
  const std::shared_ptr<void> bytes(
      compiled, [release = compiler.moduleRelease](void *module) { release(static_cast<vxc_module *>(module)); });
  const std::span data(static_cast<const std::byte *>(compiler.moduleData(compiled)), compiler.moduleSize(compiled));
  return {bytes, vx::Module(data, path)};
}

} // namespace vx::tools

#include "compile_folder.h"

#include "compile_targets.h"
#include "compiler_library.h"
#include "module_cache.h"
#include "tool_error.h"

#include "vx/base/cache_folder.h"
#include "vx/runtime/vx.hpp"
#include "vx/serve/embedder.hpp"

#include <filesystem>

namespace vx::tools {

namespace fs = std::filesystem;

namespace {

struct Checked {
  CompilerMessages messages;
  std::string reason;

  static void receive(void *data, vxc_severity severity, const char *text) {
    static_cast<Checked *>(data)->messages.say(severity, text);
  }
  // What is written is checked by those who will read it.
  static const char *verify(void *data, const char *path) {
    auto *self = static_cast<Checked *>(data);
    try {
      vx::serve::Embedder::check(vx::Module(path));
      return nullptr;
    } catch (const std::exception &error) {
      self->reason = error.what();
      return self->reason.c_str();
    }
  }
};

} // namespace

std::string compileFolder(const char *tool, const std::string &folder, const std::string &device, bool noFallback) {
  const std::string cache = defaultCacheFolder();
  if (cache.empty())
    throw workError(
        "'{}' is compiled into a cache, and there is no place for one: expected VX_CACHE, XDG_CACHE_HOME or HOME "
        "to be set, or a module that vx-compile has made of it",
        folder);
  const CompilerLibrary &compiler = openCompiler(folder);
  const std::string targets = targetsFor(tool, compiler, device, noFallback);
  const ModuleCache kept(cache, folder, targets, compiler.version(), compiler.file);
  const fs::path module = kept.module();
  std::error_code error;
  if (fs::exists(module, error))
    try {
      vx::serve::Embedder::check(vx::Module(module.string()));
      return module.string();
    } catch (const std::exception &) {
      // Damaged, or of another version: made again.
    }
  if (const std::string reason = kept.makeFolder(); !reason.empty())
    throw workError("{}", reason);

  Checked checked{{tool}, {}};
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = targets.c_str();
  options.cache_folder = cache.c_str();
  options.user_data = &checked;
  options.on_message = Checked::receive;
  options.verify = Checked::verify;
  const vxc_result result = compiler.compile(folder.c_str(), module.c_str(), &options);
  if (result != VXC_DONE)
    throw ToolError(static_cast<ExitCode>(result), checked.messages.lastError);
  kept.removeOlder();
  return module.string();
}

} // namespace vx::tools

#include "compile_folder.h"

#include "compile_targets.h"
#include "kernel_cache_folder.h"
#include "tool_error.h"

#include "vx/abi/module_header.h"
#include "vx/compiler/vxc.h"
#include "vx/runtime/vx.hpp"
#include "vx/serve/embedder.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <sys/stat.h>
#include <vector>

namespace vx::tools {

namespace fs = std::filesystem;

namespace {

// Name, size and time of a file: what make goes by.
std::string describeFile(const std::string &path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    return path + " -\n";
  return fmt::format("{} {} {}.{}\n", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::string hashText(const std::string &text) { return fmt::format("{:016x}", vx_hash64(text.data(), text.size())); }

// Of all that a compilation reads of a folder, and of the compiler.
std::string describeFolder(const fs::path &folder, const std::string &targets) {
  std::vector<std::string> files;
  std::error_code error;
  constexpr int Deepest = 3;
  for (auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry.depth() >= Deepest)
      entry.disable_recursion_pending();
    if (entry->is_regular_file(error))
      files.push_back(describeFile(entry->path().string()));
  }
  if (error)
    throw fileError("cannot read '{}': {}", folder.string(), error.message());
  std::sort(files.begin(), files.end());
  std::string text = fmt::format("{}\n{}\n", vxc_version(), targets);
  Dl_info compiler{};
  if (::dladdr(reinterpret_cast<const void *>(&vxc_version), &compiler) != 0 && compiler.dli_fname)
    text += describeFile(compiler.dli_fname);
  for (const std::string &file : files)
    text += file;
  return text;
}

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
  std::error_code error;
  const fs::path place = fs::canonical(folder, error);
  if (error)
    throw fileError("cannot read '{}': {}", folder, error.message());
  const std::string cache = defaultKernelCache();
  if (cache.empty())
    throw workError(
        "'{}' is compiled into a cache, and there is no place for one: want VX_CACHE, XDG_CACHE_HOME or HOME "
        "to be set, or a module that vx-compile has made of it",
        folder);
  const std::string targets = targetsFor(device, noFallback);
  const fs::path models = fs::path(cache) / "models";
  const std::string prefix =
      fmt::format("{}-{}-{}-", place.filename().string(), hashText(place.string()), hashText(targets));
  const fs::path module = models / (prefix + hashText(describeFolder(place, targets)) + ".vxm");
  if (fs::exists(module, error))
    try {
      vx::serve::Embedder::check(vx::Module(module.string()));
      return module.string();
    } catch (const std::exception &) {
      // Damaged, or of another version: made again.
    }
  fs::create_directories(models, error);
  if (error)
    throw workError("cannot make the folder '{}': {}", models.string(), error.message());

  Checked checked{{tool}, {}};
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = targets.c_str();
  options.cache_folder = cache.c_str();
  options.user_data = &checked;
  options.on_message = Checked::receive;
  options.verify = Checked::verify;
  const vxc_result result = vxc_compile(folder.c_str(), module.c_str(), &options);
  if (result != VXC_DONE)
    throw ToolError(static_cast<ExitCode>(result), checked.messages.lastError);
  for (const fs::directory_entry &other : fs::directory_iterator(models, error))
    if (other.path() != module && other.path().filename().string().starts_with(prefix) &&
        other.path().extension() == ".vxm")
      fs::remove(other.path(), error);
  return module.string();
}

} // namespace vx::tools

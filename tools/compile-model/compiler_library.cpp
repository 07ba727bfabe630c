#include "compiler_library.h"

#include "tool_error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <type_traits>

namespace vx::tools {

static constexpr const char *LibraryName = "libvx_compiler.so.0";

// The reason, or nothing when all functions are there.
static std::string open(CompilerLibrary &library) {
  const char *given = std::getenv("VX_COMPILER_LIBRARY");
  const char *name = given && *given ? given : LibraryName;
  void *handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fmt::format("'{}' could not be opened: {}", name, ::dlerror());
  std::string missing;
  auto find = [&](auto &function, const char *symbol) {
    void *address = ::dlsym(handle, symbol);
    if (!address && missing.empty())
      missing = fmt::format("'{}' has no {}", name, symbol);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(library.compile, "vxc_compile");
  find(library.compileBytes, "vxc_compile_bytes");
  find(library.moduleData, "vxc_module_data");
  find(library.moduleSize, "vxc_module_size");
  find(library.moduleRelease, "vxc_module_release");
  find(library.version, "vxc_version");
  find(library.targets, "vxc_targets");
  if (Dl_info place{}; missing.empty() && ::dladdr(reinterpret_cast<void *>(library.version), &place) != 0)
    library.file = place.dli_fname;
  return missing;
}

const CompilerLibrary &openCompiler(const std::string &model) {
  static std::mutex mutex;
  static std::optional<CompilerLibrary> opened;
  std::lock_guard lock(mutex);
  if (!opened) {
    CompilerLibrary library;
    if (const std::string reason = open(library); !reason.empty())
      throw fileError(
          "'{}' is no module (.vxm), and there is no compiler for it: {}; give a module that vx-compile has "
          "made of it, or install the compiler (package libvx-compiler0)",
          model, reason);
    opened = std::move(library);
  }
  return *opened;
}

} // namespace vx::tools

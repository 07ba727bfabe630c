#include "grpc_library.h"

#include "failure.h"

#include "vx/runtime/vx.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace vx::serve {

#ifdef VX_SERVE_WITHOUT_GRPC
static constexpr const char *advice =
    "this server was built without gRPC, which needs libgrpc++-dev when it is built; leave out 'grpc_port'";
#else
static constexpr const char *advice = "install the package libvx-grpc0, or leave out 'grpc_port'";
#endif

static const vx_grpc_functions &open() {
  std::vector<std::string> names;
  if (const char *given = std::getenv("VX_GRPC_LIBRARY"); given && *given) {
    names = {given};
  } else {
    Dl_info place = {};
    if (::dladdr(reinterpret_cast<const void *>(&vx_version), &place) && place.dli_fname)
      names.push_back((std::filesystem::path(place.dli_fname).parent_path() / "libvx_grpc.so.0").string());
    names.emplace_back("libvx_grpc.so.0");
  }
  void *library = nullptr;
  std::string reason;
  for (size_t i = 0; i < names.size() && !library; ++i)
    if (library = ::dlopen(names[i].c_str(), RTLD_NOW | RTLD_LOCAL); !library)
      reason = ::dlerror();
  if (!library)
    throw ioError("gRPC needs libvx_grpc, which could not be opened: {}: {}", reason, advice);
  const auto *functions = static_cast<const vx_grpc_functions *>(::dlsym(library, "vx_grpc_library"));
  if (!functions || functions->version != VX_GRPC_VERSION)
    throw ioError("gRPC needs libvx_grpc of version {}, got {}", VX_GRPC_VERSION,
                  functions ? "version " + std::to_string(functions->version) : "a library without its functions");
  return *functions;
}

const vx_grpc_functions &openGrpcLibrary() {
  static std::mutex mutex;
  static const vx_grpc_functions *opened = nullptr;
  const std::lock_guard lock(mutex);
  if (!opened) // else it is tried again: the file may be there now
    opened = &open();
  return *opened;
}

} // namespace vx::serve

// A libvulkan of the tests over the system's own, whose devices work until they are lost: while there is a file
// $LOSING_VULKAN_RESULT, the number in it is what vkQueueSubmit returns, and nothing is submitted.
#include "vulkan_api.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace api = vx::vulkan::api;

namespace {

using Submit = api::Result (*)(api::Queue, uint32_t, const api::SubmitInfo *, api::Fence);
using GetDeviceFunction = api::VoidFunction (*)(api::Device, const char *);

api::GetInstanceProcAddrFunction systemsFunctions() {
  static const auto functions = reinterpret_cast<api::GetInstanceProcAddrFunction>(
      dlsym(dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL), "vkGetInstanceProcAddr"));
  return functions;
}

// Both are the loader's own, which are the same for every device.
Submit systemsSubmit = nullptr;
GetDeviceFunction systemsDeviceFunctions = nullptr;

api::Result submit(api::Queue queue, uint32_t count, const api::SubmitInfo *infos, api::Fence fence) {
  const char *path = std::getenv("LOSING_VULKAN_RESULT");
  if (std::FILE *file = path ? std::fopen(path, "r") : nullptr) {
    int result = api::ErrorDeviceLost;
    (void)!std::fscanf(file, "%d", &result);
    std::fclose(file);
    return static_cast<api::Result>(result);
  }
  return systemsSubmit(queue, count, infos, fence);
}

api::VoidFunction deviceFunction(api::Device device, const char *name) {
  const api::VoidFunction function = systemsDeviceFunctions(device, name);
  if (function && std::strcmp(name, "vkQueueSubmit") == 0) {
    systemsSubmit = reinterpret_cast<Submit>(function);
    return reinterpret_cast<api::VoidFunction>(submit);
  }
  return function;
}

} // namespace

extern "C" __attribute__((visibility("default"))) api::VoidFunction vkGetInstanceProcAddr(api::Instance instance,
                                                                                          const char *name) {
  const api::VoidFunction function = systemsFunctions()(instance, name);
  if (function && std::strcmp(name, "vkGetDeviceProcAddr") == 0) {
    systemsDeviceFunctions = reinterpret_cast<GetDeviceFunction>(function);
    return reinterpret_cast<api::VoidFunction>(deviceFunction);
  }
  return function;
}

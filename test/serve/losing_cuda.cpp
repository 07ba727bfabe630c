// A libcuda of the tests over the system's own, one of whose devices can be lost: while there is a file
// $LOSING_CUDA_RESULT, the number in it is what launches on device $LOSING_CUDA_DEVICE return, and nothing is launched.
// All other functions are those of libcuda.so.1, on which this library depends.
#include "cuda_api.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace api = vx::cuda::api;

namespace {

template <typename Function>
Function *systems(const char *name) {
  static void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function *>(dlsym(library, name));
}

// The result of a launch on a device that is lost; nothing for any other.
bool isLost(api::Result &result) {
  static const auto current = systems<api::Result(int *)>("cuCtxGetDevice");
  static const char *const path = std::getenv("LOSING_CUDA_RESULT"), *const lost = std::getenv("LOSING_CUDA_DEVICE");
  int device = -1;
  if (!path || !lost || !current || current(&device) != api::Success || device != std::atoi(lost))
    return false;
  std::FILE *file = std::fopen(path, "r");
  if (!file)
    return false;
  int number = api::ErrorLaunchFailed;
  (void)!std::fscanf(file, "%d", &number);
  std::fclose(file);
  result = static_cast<api::Result>(number);
  return true;
}

} // namespace

extern "C" __attribute__((visibility("default"))) api::Result
cuLaunchKernel(api::Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
               unsigned blockZ, unsigned sharedBytes, api::Stream stream, void **parameters, void **extra) {
  static const auto launch = systems<api::Result(api::Function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                                 unsigned, unsigned, api::Stream, void **, void **)>("cuLaunchKernel");
  api::Result result = api::Success;
  return isLost(result)
             ? result
             : launch(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, parameters, extra);
}

extern "C" __attribute__((visibility("default"))) api::Result cuGraphLaunch(api::GraphExec graph, api::Stream stream) {
  static const auto launch = systems<api::Result(api::GraphExec, api::Stream)>("cuGraphLaunch");
  api::Result result = api::Success;
  return isLost(result) ? result : launch(graph, stream);
}

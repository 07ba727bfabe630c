#include "hip_vendor.h"

namespace vx::hip {

std::string Vendor::describe(const Functions &functions, Result result) {
  const char *name = functions.GetErrorName ? functions.GetErrorName(result) : nullptr;
  const char *words = functions.GetErrorString ? functions.GetErrorString(result) : nullptr;
  if (!name)
    return fmt::format("error {}", static_cast<int>(result));
  return words ? fmt::format("{} ({})", name, words) : std::string(name);
}

bool Vendor::isFatal(Result result) {
  switch (result) {
  case api::ErrorEccNotCorrectable:
  case api::ErrorIllegalAddress:
  case api::ErrorLaunchTimeOut:
  case api::ErrorContextIsDestroyed:
  case api::ErrorAssert:
  case api::ErrorLaunchFailure:
  case api::ErrorUnknown:
    return true;
  default:
    return false;
  }
}

api::KernelNodeParams Vendor::nodeParams(const hal::gpu::Launch &launch, void **parameters) {
  api::KernelNodeParams params;
  params.func = launch.function;
  params.gridDim = {launch.gridX, launch.gridY, 1};
  params.blockDim = {launch.threads, 1, 1};
  params.kernelParams = parameters;
  return params;
}

} // namespace vx::hip

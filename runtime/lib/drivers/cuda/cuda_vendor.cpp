#include "cuda_vendor.h"

namespace vx::cuda {

std::string Vendor::describe(const Functions &functions, Result result) {
  const char *name = nullptr;
  const char *words = nullptr;
  if (!functions.GetErrorName || functions.GetErrorName(result, &name) != api::Success || !name)
    return fmt::format("error {}", static_cast<int>(result));
  if (functions.GetErrorString(result, &words) != api::Success || !words)
    return name;
  return fmt::format("{} ({})", name, words);
}

bool Vendor::isFatal(Result result) {
  switch (result) {
  case api::ErrorEccUncorrectable:
  case api::ErrorNvlinkUncorrectable:
  case api::ErrorContained:
  case api::ErrorIllegalAddress:
  case api::ErrorLaunchTimeout:
  case api::ErrorContextIsDestroyed:
  case api::ErrorAssert:
  case api::ErrorHardwareStackError:
  case api::ErrorIllegalInstruction:
  case api::ErrorMisalignedAddress:
  case api::ErrorInvalidAddressSpace:
  case api::ErrorInvalidPc:
  case api::ErrorLaunchFailed:
  case api::ErrorUnknown:
    return true;
  default:
    return false;
  }
}

api::KernelNodeParams Vendor::nodeParams(const hal::gpu::Launch &launch, void **parameters) {
  api::KernelNodeParams params;
  params.func = launch.function;
  params.gridDimX = launch.gridX;
  params.gridDimY = launch.gridY;
  params.blockDimX = launch.threads;
  params.kernelParams = parameters;
  return params;
}

} // namespace vx::cuda

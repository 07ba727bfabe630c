// What the code that all GPU drivers share (hal/gpu) must know of the CUDA driver.
#ifndef VX_DRIVERS_CUDA_CUDA_VENDOR_H
#define VX_DRIVERS_CUDA_CUDA_VENDOR_H

#include "cuda_api.h"

#include "hal/gpu/api.h"

#include <string>

namespace vx::cuda {

struct PhysicalDevice : hal::gpu::GpuFacts {
  api::Device handle = 0;
  int major = 0, minor = 0; // compute capability
};

struct Vendor : api::Flags {
  using Functions = api::Functions;
  using Result = api::Result;
  using VersionFunction = api::GetVersion;
  using MemoryPoolProps = api::MemoryPoolProps;
  using PhysicalDevice = cuda::PhysicalDevice;

  static constexpr const char *text = "the CUDA driver";
  static constexpr hal::AddressSpace::Kind addresses = hal::AddressSpace::Kind::Cuda; // of the primary contexts
  // The first whose graphs can switch a node off (cuGraphNodeSetEnabled).
  static constexpr int minVersion = 11060;
  // `version` is 1000 * major + 10 * minor.
  static std::string versionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

  static std::string describe(const Functions &functions, Result result);
  static bool isFatal(Result result);
  static api::KernelNodeParams nodeParams(const hal::gpu::Launch &launch, void **parameters);
};

} // namespace vx::cuda

#endif

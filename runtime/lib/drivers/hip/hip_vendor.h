// What the code that all GPU drivers share (hal/gpu) must know of the HIP runtime.
#ifndef VX_DRIVERS_HIP_HIP_VENDOR_H
#define VX_DRIVERS_HIP_HIP_VENDOR_H

#include "hip_api.h"

#include "hal/gpu/api.h"

#include <string>

namespace vx::hip {

struct Vendor : api::Flags {
  using Functions = api::Functions;
  using Result = api::Result;
  using VersionFunction = api::GetVersion;
  using MemoryPoolProps = api::MemoryPoolProps;
  using PhysicalDevice = hal::gpu::GpuFacts;

  static constexpr const char *text = "the HIP runtime";
  static constexpr hal::AddressSpace::Kind addresses = hal::AddressSpace::Kind::Rocm;
  // The first that loads code objects of version 5, and whose graphs can switch a node off.
  static constexpr int minVersion = 50500000;
  // `version` is 10,000,000 * major + 100,000 * minor + patch.
  static std::string versionText(int version) {
    return fmt::format("{}.{}", version / 10000000, version / 100000 % 100);
  }

  static std::string describe(const Functions &functions, Result result);
  static bool isFatal(Result result);
  static api::KernelNodeParams nodeParams(const hal::gpu::Launch &launch, void **parameters);
};

} // namespace vx::hip

#endif

// The HIP runtime behind the interface that all GPU drivers share.
#ifndef VX_DRIVERS_HIP_HIP_FUNCTIONS_H
#define VX_DRIVERS_HIP_HIP_FUNCTIONS_H

#include "hip_vendor.h"

#include "hal/gpu/vendor_api.h"

namespace vx::hip {

class HipFunctions final : public hal::gpu::VendorApi<Vendor> {
public:
  using Library = std::shared_ptr<const hal::gpu::VendorLibrary<Vendor>>;
  using Handle = hal::gpu::Handle;
  using Transfer = hal::gpu::Transfer;

  static Status open(const Library &library, const hal::gpu::GpuFacts &physical, const hal::DeviceOptions &options,
                     std::unique_ptr<hal::gpu::Api> &api);
  ~HipFunctions() override;

  void enter() override;
  void leave() override;

  Status copy(const Transfer &transfer, Handle stream) override;
  Status addCopy(Handle graph, std::span<const Handle> after, const Transfer &transfer, Handle &node) override;
  Status setCopy(Handle executable, Handle node, const Transfer &transfer) override;

  Status load(const hal::CodeImage &image, hal::gpu::LoadedCode &code) override;

private:
  HipFunctions(const Library &library, const hal::gpu::GpuFacts &physical, const hal::DeviceOptions &options)
      : VendorApi(library, physical, options), ordinal(physical.ordinal) {}

  const int ordinal;
};

} // namespace vx::hip

#endif

// Finds and opens AMD GPUs through the HIP runtime.
#ifndef VX_DRIVERS_HIP_HIP_DRIVER_H
#define VX_DRIVERS_HIP_HIP_DRIVER_H

#include "hip_vendor.h"

#include "hal/gpu/vendor_driver.h"

namespace vx::hip {

struct DriverOptions {
  // Newest first.
  hal::LibraryNames library = {{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}, "VX_HIP_LIBRARY"};

  static DriverOptions fromEnvironment();
};

class HipDriver final : public hal::gpu::VendorDriver<Vendor> {
public:
  explicit HipDriver(DriverOptions options) : VendorDriver(std::move(options.library)) {}

  std::string_view name() const override { return "rocm"; }
  std::string_view target() const override { return "rocm"; }

private:
  std::string inspect(int ordinal, hal::gpu::GpuFacts &device) const override;
  Status openApi(const hal::gpu::GpuFacts &device, const hal::DeviceOptions &options,
                 std::unique_ptr<hal::gpu::Api> &api) const override;
};

// The driver of the process.
hal::Driver &driver();

} // namespace vx::hip

#endif

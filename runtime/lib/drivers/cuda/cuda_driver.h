// Finds and opens NVIDIA GPUs through the CUDA driver.
#ifndef VX_DRIVERS_CUDA_CUDA_DRIVER_H
#define VX_DRIVERS_CUDA_CUDA_DRIVER_H

#include "cuda_vendor.h"

#include "hal/gpu/vendor_driver.h"

namespace vx::cuda {

struct DriverOptions {
  hal::LibraryNames library = {{"libcuda.so.1"}, "VX_CUDA_LIBRARY"};
  // Where assembled kernels are kept; empty: nowhere.
  std::string cacheFolder;

  static DriverOptions fromEnvironment();
};

class CudaDriver final : public hal::gpu::VendorDriver<Vendor> {
public:
  explicit CudaDriver(DriverOptions options)
      : VendorDriver(std::move(options.library)), cacheFolder(std::move(options.cacheFolder)) {}

  std::string_view name() const override { return "cuda"; }
  std::string_view target() const override { return "cuda"; }

private:
  std::string inspect(int ordinal, PhysicalDevice &device) const override;
  Status openApi(const PhysicalDevice &device, const hal::DeviceOptions &options,
                 std::unique_ptr<hal::gpu::Api> &api) const override;

  const std::string cacheFolder;
};

// The driver of the process.
hal::Driver &driver();

} // namespace vx::cuda

#endif

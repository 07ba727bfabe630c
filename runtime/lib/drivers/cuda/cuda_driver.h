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
  // What the assembler says of slow code is an error of the load, and not a warning.
  bool checksCode = false;
  // How many parts of a module's code are assembled at a time, each in a thread; 0: by the cores of the process.
  uint32_t assemblers = 0;

  static DriverOptions fromEnvironment();
};

class CudaDriver final : public hal::gpu::VendorDriver<Vendor> {
public:
  explicit CudaDriver(DriverOptions options) : VendorDriver(options.library), options(std::move(options)) {}

  std::string_view name() const override { return "cuda"; }
  std::string_view target() const override { return "cuda"; }

private:
  std::string inspect(int ordinal, PhysicalDevice &device) const override;
  Status openApi(const PhysicalDevice &device, const hal::DeviceOptions &options,
                 std::unique_ptr<hal::gpu::Api> &api) const override;

  const DriverOptions options;
};

// The driver of the process.
hal::Driver &driver();

} // namespace vx::cuda

#endif

// Finds and opens NVIDIA GPUs through the CUDA driver.
#ifndef VX_DRIVERS_CUDA_CUDA_DRIVER_H
#define VX_DRIVERS_CUDA_CUDA_DRIVER_H

#include "cuda_library.h"

#include "hal/driver.h"

#include <mutex>
#include <string>
#include <vector>

namespace vx::cuda {

struct DriverOptions {
  hal::LibraryNames library = {{"libcuda.so.1"}, "VX_CUDA_LIBRARY"};
  // Where assembled kernels are kept; empty: nowhere.
  std::string cacheFolder;

  static DriverOptions fromEnvironment();
};

// What is known of a GPU before it is opened.
struct PhysicalDevice {
  api::Device handle = 0;
  int major = 0, minor = 0; // compute capability
  hal::DeviceInfo info;
};

class CudaDriver final : public hal::Driver {
public:
  explicit CudaDriver(DriverOptions options) : options(std::move(options)) {}

  std::string_view name() const override { return "cuda"; }
  std::string_view target() const override { return "cuda"; }
  hal::Refusal enumerate(std::vector<hal::DeviceInfo> &devices) override;
  Status open(uint32_t index, const hal::DeviceOptions &deviceOptions, Ref<hal::Device> &device) override;

private:
  // Looks once; the list does not change in a process.
  const hal::Refusal &find();
  std::string inspect(int ordinal, PhysicalDevice &device) const;

  const DriverOptions options;
  std::mutex mutex;
  bool looked = false;
  hal::Refusal refusal;
  Library *library = nullptr;
  std::vector<PhysicalDevice> physicalDevices;
};

// The driver of the process.
hal::Driver &driver();

} // namespace vx::cuda

#endif

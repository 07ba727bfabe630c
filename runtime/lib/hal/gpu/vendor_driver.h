// Finds and opens the GPUs of a vendor's library.
#ifndef VX_RUNTIME_HAL_GPU_VENDOR_DRIVER_H
#define VX_RUNTIME_HAL_GPU_VENDOR_DRIVER_H

#include "hal/gpu/gpu_device.h"
#include "hal/gpu/vendor_library.h"
#include "hal/listed_driver.h"

#include <atomic>

namespace vx::hal::gpu {

// A driver adds what it knows of one GPU, `Vendor::PhysicalDevice`, which is a GpuFacts.
template <typename Vendor>
class VendorDriver : public ListedDriver {
public:
  using PhysicalDevice = typename Vendor::PhysicalDevice;

  explicit VendorDriver(LibraryNames names) : names(std::move(names)) {}

protected:
  // Fills in what is known of device `ordinal`; the answer says why it cannot be used, or nothing.
  virtual std::string inspect(int ordinal, PhysicalDevice &device) const = 0;
  // Opens it.
  virtual Status openApi(const PhysicalDevice &device, const DeviceOptions &options,
                         std::unique_ptr<Api> &api) const = 0;

  Refusal find(std::vector<DeviceInfo> &devices) final {
    Refusal refusal;
    library = VendorLibrary<Vendor>::open(names, refusal);
    if (!library)
      return refusal;
    const auto &getCount = library->functions().DeviceGetCount;
    int count = 0;
    if (auto result = getCount(&count); result != Vendor::Result::Success)
      return {RefusalCode::NoDevice, library->failed(getCount.name, result)};
    std::string reasons;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      PhysicalDevice device;
      device.ordinal = ordinal;
      if (std::string reason = inspect(ordinal, device); !reason.empty()) {
        reasons += fmt::format("{}device {}: {}", reasons.empty() ? "" : "; ", ordinal, reason);
        continue;
      }
      device.info.addressSpace = {Vendor::addresses, ordinal};
      devices.push_back(device.info);
      physicalDevices.push_back(std::move(device));
    }
    if (!devices.empty())
      return {};
    return {RefusalCode::NoDevice, reasons.empty() ? fmt::format("{} found no device", Vendor::text) : reasons};
  }

  Status openFound(uint32_t index, const DeviceOptions &options, Ref<Device> &device) final {
    const PhysicalDevice &physical = physicalDevices[index];
    // All of a process share one context, which whatever still runs in it would block.
    if (physical.hung->load(std::memory_order_relaxed))
      return failure(VX_DEVICE_LOST,
                     "device '{}' hangs since an earlier call, and with it all that this process asks of it",
                     physical.info.name);
    std::unique_ptr<Api> api;
    if (Status status = openApi(physical, options, api); !status.ok())
      return std::move(status).addContext(fmt::format("device '{}'", physical.info.name));
    device = makeRef<GpuDevice>(physical.info, std::move(api));
    return okStatus();
  }

  // Null until devices were found.
  std::shared_ptr<const VendorLibrary<Vendor>> library;

private:
  const LibraryNames names;
  std::vector<PhysicalDevice> physicalDevices;
};

} // namespace vx::hal::gpu

#endif

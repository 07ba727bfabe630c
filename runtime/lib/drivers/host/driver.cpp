#include "drivers/host/driver.h"

#include "drivers/host/cpu_features.h"
#include "drivers/host/host_device.h"

#include "base/thread_pool.h"

#include <unistd.h>

namespace vx::drivers {

namespace {

class HostDriver final : public hal::Driver {
public:
  std::string_view name() const override { return "cpu"; }
  std::string_view target() const override { return "cpu"; }

  hal::Refusal enumerate(std::vector<hal::DeviceInfo> &devices) override {
    hal::DeviceInfo &info = devices.emplace_back();
    info.name = cpuModelName();
    info.details = fmt::format("{}, {} cores usable", cpuArchitecture(), usableCores());
    info.features = detectCpuFeatures();
    info.totalMemory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    info.maxAllocation = info.totalMemory;
    info.readsHostMemory = true;
    return {};
  }

  Status open(uint32_t index, const hal::DeviceOptions &options, Ref<hal::Device> &device) override {
    std::vector<hal::DeviceInfo> devices;
    enumerate(devices);
    if (index >= devices.size())
      return failure(VX_INVALID_ARGUMENT, "device cpu:{} does not exist, there are {}", index, devices.size());
    return openHostDevice(std::move(devices[index]), options.threads, device);
  }
};

} // namespace

hal::Driver &hostDriver() {
  static HostDriver driver;
  return driver;
}

} // namespace vx::drivers

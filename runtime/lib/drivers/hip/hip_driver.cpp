#include "hip_driver.h"

#include "hal/gpu/gpu_device.h"
#include "hip_functions.h"

namespace vx::hip {

using hal::Refusal;
using hal::RefusalCode;

DriverOptions DriverOptions::fromEnvironment() {
  DriverOptions options;
  options.library = options.library.fromEnvironment();
  return options;
}

std::string HipDriver::inspect(int ordinal, PhysicalDevice &device) const {
  const api::Functions &hip = library->functions();
  auto properties = std::make_unique<api::DeviceProperties>();
  if (api::Result result = hip.GetDeviceProperties(properties.get(), ordinal); result != api::Success)
    return fmt::format("device {}: hipGetDeviceProperties failed with {}", ordinal, describeResult(hip, result));
  device.ordinal = ordinal;
  device.info.name = properties->name;
  device.info.totalMemory = device.info.maxAllocation = properties->totalGlobalMem;
  // "gfx90a:sramecc+:xnack-": what follows the name are modes, and code without them runs in any.
  const std::string_view full = properties->gcnArchName;
  const std::string name(full.substr(0, full.find(':')));
  device.info.features.push_back(name);
  device.info.features.push_back(fmt::format("wavefront={}", properties->warpSize));
  device.info.features.push_back(fmt::format("shared_memory={}", properties->sharedMemPerBlock));
  const int version = library->version();
  device.info.details = fmt::format("{}, {} compute units, HIP {}.{}", name, properties->multiProcessorCount,
                                    version / 10000000, version / 100000 % 100);
  return {};
}

const Refusal &HipDriver::find() {
  if (looked)
    return refusal;
  looked = true;
  library = Library::open(options.library, refusal);
  if (!library)
    return refusal;
  const api::Functions &hip = library->functions();
  int count = 0;
  if (api::Result result = hip.GetDeviceCount(&count); result != api::Success)
    return refusal = {RefusalCode::NoDevice,
                      fmt::format("hipGetDeviceCount failed with {}", describeResult(hip, result))};
  std::string reasons;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    PhysicalDevice device;
    if (std::string reason = inspect(ordinal, device); !reason.empty())
      reasons += (reasons.empty() ? "" : "; ") + reason;
    else
      physicalDevices.push_back(std::move(device));
  }
  if (physicalDevices.empty())
    refusal = {RefusalCode::NoDevice, reasons.empty() ? "the HIP runtime found no device" : reasons};
  return refusal;
}

Refusal HipDriver::enumerate(std::vector<hal::DeviceInfo> &devices) {
  devices.clear();
  std::lock_guard lock(mutex);
  const Refusal &found = find();
  for (const PhysicalDevice &device : physicalDevices)
    devices.push_back(device.info);
  return found;
}

Status HipDriver::open(uint32_t index, const hal::DeviceOptions &, Ref<hal::Device> &device) {
  device = nullptr;
  const PhysicalDevice *physical = nullptr;
  {
    std::lock_guard lock(mutex);
    if (const Refusal &found = find(); found.code != RefusalCode::None)
      return failure(VX_NO_DEVICE, "{}", found.reason);
    if (index >= physicalDevices.size())
      return failure(VX_NO_DEVICE, "asked for device 'rocm:{}', but there are {}", index, physicalDevices.size());
    // The list does not change any more.
    physical = &physicalDevices[index];
  }
  std::unique_ptr<HipFunctions> functions;
  if (Status status = HipFunctions::open(*library, *physical, functions); !status.ok())
    return std::move(status).addContext(fmt::format("device '{}'", physical->info.name));
  device = makeRef<hal::gpu::GpuDevice>(physical->info, std::move(functions));
  return okStatus();
}

hal::Driver &driver() {
  // Never destroyed, like the library under it.
  static auto &instance = *new HipDriver(DriverOptions::fromEnvironment());
  return instance;
}

} // namespace vx::hip

#include "hip_driver.h"

#include "hip_functions.h"

namespace vx::hip {

DriverOptions DriverOptions::fromEnvironment() {
  DriverOptions options;
  options.library = options.library.fromEnvironment();
  return options;
}

std::string HipDriver::inspect(int ordinal, hal::gpu::GpuFacts &device) const {
  const api::Functions &hip = library->functions();
  auto properties = std::make_unique<api::DeviceProperties>();
  if (api::Result result = hip.GetDeviceProperties(properties.get(), ordinal); result != api::Success)
    return library->failed(hip.GetDeviceProperties.name, result);
  device.info.name = properties->name;
  device.info.totalMemory = device.info.maxAllocation = properties->totalGlobalMem;
  // "gfx90a:sramecc+:xnack-": what follows the name are modes, and code without them runs in any.
  const std::string_view full = properties->gcnArchName;
  const std::string name(full.substr(0, full.find(':')));
  device.info.features.push_back(name);
  device.info.features.push_back(fmt::format("wavefront={}", properties->warpSize));
  device.info.features.push_back(fmt::format("shared_memory={}", properties->sharedMemPerBlock));
  device.info.driver = fmt::format("HIP {}", Vendor::versionText(library->version()));
  device.info.maxWorkgroupThreads = static_cast<uint32_t>(properties->maxThreadsPerBlock);
  device.info.maxWorkgroupMemory = properties->sharedMemPerBlock;
  auto attribute = [&](api::DeviceAttribute which) {
    int value = 0;
    return hip.DeviceGetAttribute(&value, which, ordinal) == api::Success && value != 0; // an older library knows fewer
  };
  device.info.sharesMemory = attribute(api::AttributeIntegrated);
  device.readsPages = attribute(api::AttributePageableMemoryAccess);
  device.info.details = fmt::format("{}, {} compute units, HIP {}", name, properties->multiProcessorCount,
                                    Vendor::versionText(library->version()));
  return {};
}

Status HipDriver::openApi(const hal::gpu::GpuFacts &device, const hal::DeviceOptions &options,
                          std::unique_ptr<hal::gpu::Api> &api) const {
  return HipFunctions::open(library, device, options, api);
}

hal::Driver &driver() {
  // Never destroyed, like the library under it.
  static auto &instance = *new HipDriver(DriverOptions::fromEnvironment());
  return instance;
}

} // namespace vx::hip

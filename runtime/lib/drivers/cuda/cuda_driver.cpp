#include "cuda_driver.h"

#include "cubin_cache.h"
#include "cuda_functions.h"

#include "vx/base/cache_folder.h"

#include <cstdlib>

namespace vx::cuda {

DriverOptions DriverOptions::fromEnvironment() {
  DriverOptions options;
  options.library = options.library.fromEnvironment();
  options.cacheFolder = defaultCacheFolder();
  if (const char *checks = std::getenv("VX_CHECK_CODE"); checks && *checks && std::string_view(checks) != "0")
    options.checksCode = true;
  return options;
}

// The newest PTX that a driver of a CUDA version understands, as in "ptx80", with all before it.
static void nameInstructionSets(int driverVersion, std::vector<std::string> &names) {
  struct Step {
    int driver, ptx;
  };
  static constexpr Step steps[] = {{11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74},
                                   {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78}, {12000, 80},
                                   {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85},
                                   {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}};
  for (const Step &step : steps)
    if (driverVersion >= step.driver)
      names.push_back(fmt::format("ptx{}", step.ptx));
}

// Code for a GPU runs on all later ones; that with an `a` on its own generation only.
static void nameArchitectures(int capability, std::vector<std::string> &names) {
  static constexpr int known[] = {80, 86, 87, 89, 90, 100, 103, 110, 120, 121};
  for (int architecture : known)
    if (architecture <= capability)
      names.push_back(fmt::format("sm_{}", architecture));
  if (capability >= 90)
    names.push_back(fmt::format("sm_{}a", capability));
}

std::string CudaDriver::inspect(int ordinal, PhysicalDevice &device) const {
  const api::Functions &cuda = library->functions();
  if (api::Result result = cuda.DeviceGet(&device.handle, ordinal); result != api::Success)
    return library->failed(cuda.DeviceGet.name, result);
  char name[256] = {};
  if (api::Result result = cuda.DeviceGetName(name, sizeof(name) - 1, device.handle); result != api::Success)
    return library->failed(cuda.DeviceGetName.name, result);
  device.info.name = name;
  size_t bytes = 0;
  if (api::Result result = cuda.DeviceTotalMem(&bytes, device.handle); result != api::Success)
    return library->failed(cuda.DeviceTotalMem.name, result);
  device.info.totalMemory = device.info.maxAllocation = bytes;
  api::Result last = api::Success;
  auto attribute = [&](api::DeviceAttribute which) {
    int value = 0;
    if (api::Result result = cuda.DeviceGetAttribute(&value, which, device.handle); result != api::Success)
      last = result;
    return value;
  };
  device.major = attribute(api::AttributeComputeCapabilityMajor);
  device.minor = attribute(api::AttributeComputeCapabilityMinor);
  const int multiprocessors = attribute(api::AttributeMultiprocessorCount);
  const int sharedMemory = attribute(api::AttributeMaxSharedMemoryPerBlock);
  device.info.maxWorkgroupThreads = static_cast<uint32_t>(attribute(api::AttributeMaxThreadsPerBlock));
  device.info.maxWorkgroupMemory = static_cast<uint64_t>(sharedMemory);
  const bool hasPools = attribute(api::AttributeMemoryPoolsSupported);
  const bool isUnified = attribute(api::AttributeUnifiedAddressing);
  device.info.sharesMemory = attribute(api::AttributeIntegrated);
  device.readsPages = attribute(api::AttributePageableMemoryAccess);
  if (last != api::Success)
    return library->failed(cuda.DeviceGetAttribute.name, last);
  if (!hasPools || !isUnified)
    return fmt::format("'{}' lacks {}", name, hasPools ? "unified addressing" : "memory pools");
  const int version = library->version();
  device.info.details = fmt::format("compute capability {}.{}, {} multiprocessors, driver of CUDA {}", device.major,
                                    device.minor, multiprocessors, Vendor::versionText(version));
  device.info.driver = fmt::format("CUDA {}", Vendor::versionText(version));
  nameArchitectures(device.major * 10 + device.minor, device.info.features);
  nameInstructionSets(version, device.info.features);
  device.info.features.push_back(fmt::format("shared_memory={}", sharedMemory));
  return {};
}

Status CudaDriver::openApi(const PhysicalDevice &device, const hal::DeviceOptions &deviceOptions,
                           std::unique_ptr<hal::gpu::Api> &api) const {
  return CudaFunctions::open(library, device, deviceOptions, options, api);
}

hal::Driver &driver() {
  // Never destroyed, like the library under it.
  static auto &instance = *new CudaDriver(DriverOptions::fromEnvironment());
  return instance;
}

} // namespace vx::cuda

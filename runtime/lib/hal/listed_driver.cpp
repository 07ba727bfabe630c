#include "hal/listed_driver.h"

#include "base/forks.h"
#include "hal/probe.h"

namespace vx::hal {

const Refusal &ListedDriver::look() {
  if (!looked) {
    std::string failed = probeDriver(name());
    refusal = failed.empty() ? find(found) : Refusal{RefusalCode::DriverFailed, std::move(failed)};
    forks = forkCount();
  } else if (!found.empty() && forks != forkCount()) {
    found.clear();
    refusal = {
        RefusalCode::NoDevice,
        fmt::format("the process was forked after it had looked for {} devices, which its copy can't use", name())};
    forks = forkCount();
  }
  looked = true;
  return refusal;
}

Refusal ListedDriver::enumerate(std::vector<DeviceInfo> &devices) {
  std::lock_guard lock(mutex);
  const Refusal &answer = look();
  devices = found;
  return answer;
}

Status ListedDriver::open(uint32_t index, const DeviceOptions &options, Ref<Device> &device) {
  device = nullptr;
  {
    std::lock_guard lock(mutex);
    if (const Refusal &answer = look(); answer.code != RefusalCode::None)
      return failure(VX_NO_DEVICE, "{}", answer.reason);
    if (index >= found.size())
      return failure(VX_NO_DEVICE, "asked for device '{}:{}', but there are {}", name(), index, found.size());
  }
  // What was found does not change any more.
  return openFound(index, options, device);
}

} // namespace vx::hal

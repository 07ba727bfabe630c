// A driver that looks for its devices once. The drivers of GPUs derive from it.
#ifndef VX_RUNTIME_HAL_LISTED_DRIVER_H
#define VX_RUNTIME_HAL_LISTED_DRIVER_H

#include "hal/driver.h"

#include <mutex>

namespace vx::hal {

class ListedDriver : public Driver {
public:
  Refusal enumerate(std::vector<DeviceInfo> &devices) final;
  Status open(uint32_t index, const DeviceOptions &options, Ref<Device> &device) final;

protected:
  // Finds the devices, at the first question and never again, so that the numbering is stable. The answer says why
  // there are none.
  virtual Refusal find(std::vector<DeviceInfo> &devices) = 0;
  // Opens a device that `find` has found.
  virtual Status openFound(uint32_t index, const DeviceOptions &options, Ref<Device> &device) = 0;

private:
  // Needs the mutex. In a copy of the process that has looked there is no device: what a vendor's library has opened
  // does not work there.
  const Refusal &look();

  std::mutex mutex;
  bool looked = false;
  uint32_t forks = 0; // where that was
  Refusal refusal;
  std::vector<DeviceInfo> found;
};

} // namespace vx::hal

#endif

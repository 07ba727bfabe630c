// Memory is the process's own, an executable is a mapped ELF image, and a replay runs at once on the thread pool.
#ifndef VX_RUNTIME_DRIVERS_HOST_HOST_DEVICE_H
#define VX_RUNTIME_DRIVERS_HOST_HOST_DEVICE_H

#include "hal/device.h"

namespace vx::drivers {

// `info` is what the driver found; features that the system does not grant after all are taken out.
Status openHostDevice(hal::DeviceInfo info, uint32_t threads, Ref<hal::Device> &device);

} // namespace vx::drivers

#endif

// The processor itself as a device: `--device=cpu`.
#ifndef VX_RUNTIME_DRIVERS_HOST_DRIVER_H
#define VX_RUNTIME_DRIVERS_HOST_DRIVER_H

#include "hal/driver.h"

namespace vx::drivers {

hal::Driver &hostDriver();

} // namespace vx::drivers

#endif

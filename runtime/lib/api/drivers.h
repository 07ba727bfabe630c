// The table of drivers. A new backend is one line in drivers.cpp.
#ifndef VX_RUNTIME_API_DRIVERS_H
#define VX_RUNTIME_API_DRIVERS_H

#include "hal/driver.h"

#include <span>

namespace vx {

std::span<hal::Driver *const> allDrivers();

} // namespace vx

#endif

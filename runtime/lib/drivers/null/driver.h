// A device that answers everything and does nothing: `--device=null`.
//
// Memory has addresses and no bytes, every replay succeeds, no dispatch faults, and whatever is read from the device is
// zeros: ReadI64 gives 0, and results are zeros. It runs the schedule of the module's first target, so that planning
// can be tested, and counted, where there is no device.
#ifndef VX_RUNTIME_DRIVERS_NULL_DRIVER_H
#define VX_RUNTIME_DRIVERS_NULL_DRIVER_H

#include "hal/driver.h"

#include <cstdint>

namespace vx::drivers {

hal::Driver &nullDriver();

// What the null devices of this process were asked to do.
struct NullCounters {
  uint64_t allocations;
  uint64_t allocatedBytes;
  uint64_t recordings;
  uint64_t replays;
  uint64_t dispatches;
  uint64_t copies;
};
NullCounters nullCounters();

} // namespace vx::drivers

#endif

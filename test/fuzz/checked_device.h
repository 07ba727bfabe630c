// A device of the fuzzer: the kernels of the runtime's tests, compiled into this program, over allocations of their
// exact sizes. A sanitizer sees each access that leaves a buffer.
#ifndef VX_TEST_FUZZ_CHECKED_DEVICE_H
#define VX_TEST_FUZZ_CHECKED_DEVICE_H

#include "hal/driver.h"

namespace vx::fuzz {

hal::Driver &checkedDriver();

} // namespace vx::fuzz

#endif

#include "api/drivers.h"

#include "drivers/host/driver.h"
#include "drivers/null/driver.h"

// Declared here and not included, so that no vendor's interface is seen outside its driver's folder. Those that
// VX_DRIVERS leaves out are not built.
namespace vx::cuda {
hal::Driver &driver();
}
namespace vx::hip {
hal::Driver &driver();
}
namespace vx::vulkan {
hal::Driver &driver();
}

namespace vx {

std::span<hal::Driver *const> allDrivers() {
  static hal::Driver *const drivers[] = {
      &drivers::hostDriver(),
#ifdef VX_DRIVER_CUDA
      &cuda::driver(),
#endif
#ifdef VX_DRIVER_ROCM
      &hip::driver(),
#endif
#ifdef VX_DRIVER_VULKAN
      &vulkan::driver(),
#endif
      &drivers::nullDriver(),
  };
  return drivers;
}

} // namespace vx

#include "hal/driver.h"

namespace vx::hal {

std::string_view refusalCodeName(RefusalCode code) {
  switch (code) {
  case RefusalCode::None:
    return "none";
  case RefusalCode::NoDriver:
    return "no_driver";
  case RefusalCode::NoLibrary:
    return "no_library";
  case RefusalCode::DriverFailed:
    return "driver_failed";
  case RefusalCode::NoDevice:
    return "no_device";
  case RefusalCode::NoSuchDevice:
    return "no_such_device";
  case RefusalCode::Software:
    return "software";
  case RefusalCode::NoCode:
    return "no_code";
  case RefusalCode::NoVariant:
    return "no_variant";
  case RefusalCode::DeviceFailed:
    return "device_failed";
  }
  return "unknown";
}

} // namespace vx::hal

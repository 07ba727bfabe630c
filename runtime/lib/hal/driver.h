// What a device backend is to the runtime: a driver finds devices and opens them.
#ifndef VX_RUNTIME_HAL_DRIVER_H
#define VX_RUNTIME_HAL_DRIVER_H

#include "base/ref.h"
#include "base/status.h"
#include "hal/device.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vx::hal {

// Why a driver, a device or a module's code for it was not taken. The spelling in reports is in refusalCodeName.
enum class RefusalCode {
  None,
  NoDriver,     // this runtime has no driver of that name
  NoLibrary,    // the vendor's library could not be opened
  DriverFailed, // the vendor's library hung or crashed in a process that tried it
  NoDevice,     // the library works but finds no device
  NoSuchDevice, // the device number asked for is not there
  Software,     // a software device, passed over while another may be found
  NoCode,       // the module has no code for the driver's target
  NoVariant,    // no variant's requirements hold on the device
  DeviceFailed  // the device could not be opened, or loading code or weights on it failed
};
std::string_view refusalCodeName(RefusalCode code);

struct Refusal {
  RefusalCode code = RefusalCode::None;
  // One line as an error message, with the name of what was tried: "libvulkan.so.1 could not be opened: ..."
  std::string reason;
};

struct DeviceOptions {
  // CPU threads that work on one call, the caller's included. 0: one per core that this process may use. Other devices
  // ignore it.
  uint32_t threads = 0;
  // The most milliseconds that a wait for work of a GPU may take. A device that takes longer is lost, and nothing that
  // its work may still use is given back. 0: no limit. The CPU ignores it.
  uint32_t waitLimitMs = 0;
};

// Finds and opens devices of one kind. There is one object per kind for the life of the process; thread-safe.
class Driver {
public:
  virtual ~Driver() = default;

  // The spelling of `--device`, e.g. "cpu", "vulkan".
  virtual std::string_view name() const = 0;

  // The module target whose code the devices run, e.g. "cpu". Empty: any, the module's first one (the null driver).
  virtual std::string_view target() const = 0;

  // Describes every device, without opening it for work. When there is none, `devices` stays empty and the answer says
  // why; otherwise its code is None. The vendor's library is opened on the first call. The numbering is stable in a
  // process.
  virtual Refusal enumerate(std::vector<DeviceInfo> &devices) = 0;

  // Opens device `index` of `enumerate`'s list.
  virtual Status open(uint32_t index, const DeviceOptions &options, Ref<Device> &device) = 0;
};

} // namespace vx::hal

#endif

// What was wanted, what was taken, and why everything else was refused.
#ifndef VX_RUNTIME_EXEC_DEVICE_REPORT_H
#define VX_RUNTIME_EXEC_DEVICE_REPORT_H

#include "hal/driver.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vx {

// Which devices to try. `order` has the names of backends.
struct DeviceRequest {
  std::string device = "auto"; // "auto", "cpu", "vulkan:1"
  std::vector<std::string> order;
  bool noFallback = false;
  uint32_t threads = 0;
  uint32_t waitLimitMs = 0;
  std::string variant; // empty: the best
};

// Fills a request from what the caller gave (null: default) and the environment's VX_DEVICE_ORDER, and checks every
// name.
Status parseDeviceRequest(const char *device, const char *order, std::span<hal::Driver *const> drivers,
                          DeviceRequest &request);

// One thing to try: a backend, and one device of it or all in turn.
struct DeviceCandidate {
  std::string backend;
  std::optional<uint32_t> index;
  // Software devices are passed over in the first round, and are all that the second round tries.
  enum class Software { Allowed, PassedOver, Only } software = Software::Allowed;
};
std::vector<DeviceCandidate> deviceCandidates(const DeviceRequest &request);

struct RefusedDevice {
  std::string device; // "vulkan", "vulkan:1"
  hal::Refusal refusal;
};

// A device that a call has failed on, see vx_try_with_fallback.
struct FailedDevice {
  std::string backend;
  uint32_t index = 0;
  vx_code code = VX_OK;
  std::string reason;

  std::string device() const { return fmt::format("{}:{}", backend, index); }
};

struct TakenDevice {
  std::string backend;
  uint32_t index = 0;
  std::string name;
  std::string details;
  std::string target;
  std::string variant;
  uint32_t threads = 0;
  // Of a device that shares the host's memory: the bytes of constants that it reads in the file, and those that were
  // copied, with the first reason.
  struct Weights {
    uint64_t inPlace = 0;
    uint64_t copied = 0;
    std::string reason;
  };
  std::optional<Weights> weights = std::nullopt;
};

struct DeviceReport {
  DeviceRequest request;
  std::optional<TakenDevice> taken;
  std::vector<RefusedDevice> refused;
  std::vector<FailedDevice> failed; // in the order in which calls failed there

  std::string text() const;
  std::string json() const;
  // A module without code for a device is no reason where there is no such device either: then that is the reason.
  // Choosing a device does not ask for this, since it starts drivers that have nothing to run.
  void explain(std::span<hal::Driver *const> drivers);
  // "cuda: this runtime was built without the driver 'cuda', ...; vulkan: ..."
  std::string reasons() const;
  // Tells of it (vx_set_log), for the module `path`.
  void log(const std::string &path) const;
};

// Every backend known with its devices, see vx_list_devices.
std::string listDevices(std::span<hal::Driver *const> drivers);

// The driver of that name, or null.
hal::Driver *findDriver(std::span<hal::Driver *const> drivers, std::string_view name);

// The refusal of a driver that VX_DRIVERS left out when the runtime was built.
hal::Refusal missingDriver(std::span<hal::Driver *const> drivers, std::string_view name);

} // namespace vx

#endif

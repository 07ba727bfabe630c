// Devices as values. Part of vx.hpp.
#ifndef VX_RUNTIME_DEVICE_HPP
#define VX_RUNTIME_DEVICE_HPP

#include "vx/runtime/error.hpp"

#include <charconv>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vx {
inline namespace api {

// `automatic` is the best device that there is, by VX_DEVICE_ORDER. `null` runs nothing; it is for tests.
enum class DeviceKind : uint8_t { automatic, cpu, cuda, rocm, vulkan, null };

// "auto", "cpu", "cuda", "rocm", "vulkan" or "null".
constexpr std::string_view deviceKindName(DeviceKind kind) {
  constexpr std::string_view names[] = {"auto", "cpu", "cuda", "rocm", "vulkan", "null"};
  return names[static_cast<size_t>(kind)];
}

// A device by its kind and number. It is a value: it can be copied, compared and hashed, and it may be a device that is
// not there. Making, copying and comparing it touches no device.
class Device {
public:
  // The default device: that of `setDefaultDevice`, else that of the environment variable VX_DEVICE, else the best one.
  // Throws Error, VX_INVALID_ARGUMENT, for a VX_DEVICE that is no device.
  Device();
  Device(DeviceKind kind, uint32_t index = 0) : deviceKind(kind), number(kind == DeviceKind::automatic ? 0 : index) {}
  // "auto", a kind for its first device, or "cuda:1". Throws Error, VX_INVALID_ARGUMENT, for another text.
  explicit Device(std::string_view text) {
    const size_t colon = text.find(':');
    bool isKnown = false;
    for (uint8_t i = 0; i <= static_cast<uint8_t>(DeviceKind::null); ++i)
      if (deviceKindName(static_cast<DeviceKind>(i)) == text.substr(0, colon)) {
        deviceKind = static_cast<DeviceKind>(i);
        isKnown = true;
      }
    if (!isKnown)
      throw Error(VX_INVALID_ARGUMENT, "device '" + std::string(text) +
                                           "': expected auto, cpu, cuda, rocm, vulkan or null, and a number after a "
                                           "colon or none");
    if (colon == std::string_view::npos)
      return;
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || deviceKind == DeviceKind::automatic)
      throw Error(VX_INVALID_ARGUMENT, "device '" + std::string(text) + "': expected a number after the colon" +
                                           (deviceKind == DeviceKind::automatic ? ", and none for auto" : "") +
                                           ", got '" + std::string(digits) + "'");
  }

  DeviceKind kind() const { return deviceKind; }
  // Among the devices of its kind, from 0 on.
  uint32_t index() const { return number; }
  // "cuda:1", or "auto".
  std::string text() const {
    std::string name(deviceKindName(deviceKind));
    return deviceKind == DeviceKind::automatic ? name : name + ':' + std::to_string(number);
  }
  // So that it is an option such as InstanceOptions::device.
  operator std::string() const { return text(); }
  // Equal kinds and numbers. The order has no meaning.
  auto operator<=>(const Device &) const = default;

  // The functions below ask the drivers. The first call may take long, since it opens the vendors' libraries.

  // Whether the device is there.
  bool isAvailable() const {
    vx_device_info info;
    if (vx_status status = find(info)) {
      const vx_code code = vx_status_code(status);
      if (code != VX_NO_DEVICE)
        throw Error(status);
      vx_status_release(status);
      return false;
    }
    return true;
  }
  // Whether it is a GPU of cuda, rocm or vulkan, and no software device; of `automatic`, whether the best device is
  // one. False for a device that is not there.
  bool isGpu() const {
    if (!isAvailable())
      return false;
    const vx_device_info found = info();
    return !found.software && std::string_view(found.device).substr(0, 4) != "cpu:" &&
           std::string_view(found.device).substr(0, 5) != "null:";
  }
  // The facts about a device. Throws Error, VX_NO_DEVICE, with the reason for a device that is not there.
  vx_device_info info() const {
    vx_device_info found;
    check(find(found));
    return found;
  }

  // The bytes of its memory that are free now. Throws Error, VX_UNSUPPORTED, for a device that does not tell.
  uint64_t freeMemory() const {
    uint64_t bytes = 0;
    check(vx_device_free_memory(text().c_str(), &bytes));
    return bytes;
  }

private:
  vx_status find(vx_device_info &info) const { return vx_device_find(text().c_str(), &info); }

  DeviceKind deviceKind = DeviceKind::automatic;
  uint32_t number = 0;
};

namespace detail {

struct DefaultDevice {
  std::mutex mutex;
  std::optional<Device> device;
};
inline DefaultDevice &theDefaultDevice() {
  static DefaultDevice state;
  return state;
}
// As it was given: "cuda" is any GPU of cuda, if the first one cannot be used.
inline std::string defaultDeviceText() {
  DefaultDevice &state = theDefaultDevice();
  const std::lock_guard lock(state.mutex);
  if (state.device)
    return state.device->text();
  const char *given = std::getenv("VX_DEVICE");
  return given && *given ? given : "auto";
}

} // namespace detail

inline Device defaultDevice() {
  const std::string text = detail::defaultDeviceText();
  try {
    return Device(std::string_view(text));
  } catch (const Error &error) {
    throw Error(error.code(), std::string("VX_DEVICE: ") + error.what());
  }
}
inline Device::Device() : Device(defaultDevice()) {}

// The default device of instances and tensors that are given none, in this program, for all threads. Nothing: that of
// VX_DEVICE again. Instances and tensors that exist stay where they are. Throws Error, VX_NO_DEVICE, for a device that
// is not there.
inline void setDefaultDevice(std::optional<Device> device) {
  if (device)
    (void)device->info();
  detail::DefaultDevice &state = detail::theDefaultDevice();
  const std::lock_guard lock(state.mutex);
  state.device = device;
}

// Whether there is a device of the kind.
inline bool available(DeviceKind kind) { return Device(kind).isAvailable(); }

// All devices of a kind that there are; of `automatic`, the best one.
inline std::vector<Device> devices(DeviceKind kind) {
  std::vector<Device> found;
  for (uint32_t index = 0; Device(kind, index).isAvailable(); ++index) {
    found.emplace_back(kind, index);
    if (kind == DeviceKind::automatic)
      break;
  }
  return found;
}

} // namespace api
} // namespace vx

template <>
struct std::hash<vx::Device> {
  size_t operator()(const vx::Device &device) const noexcept {
    return std::hash<uint64_t>()(uint64_t(device.index()) << 8 | static_cast<uint64_t>(device.kind()));
  }
};

#endif

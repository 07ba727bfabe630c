#include "exec/device_values.h"

#include "base/forks.h"
#include "exec/device_report.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace vx {

namespace {

constexpr std::string_view hostName = "cpu:0";

// A device that exists, by its driver and number.
struct Found {
  hal::Driver *driver = nullptr;
  uint32_t index = 0;
  hal::DeviceInfo info;

  std::string name() const { return fmt::format("{}:{}", driver->name(), index); }
};

Status findDevice(const char *device, std::span<hal::Driver *const> drivers, Found &found) {
  DeviceReport report;
  VX_RETURN_IF_ERROR(parseDeviceRequest(device, nullptr, drivers, report.request));
  report.request.noFallback = report.request.device != "auto";
  for (const DeviceCandidate &candidate : deviceCandidates(report.request)) {
    hal::Driver *driver = findDriver(drivers, candidate.backend);
    std::vector<hal::DeviceInfo> devices;
    hal::Refusal refusal = driver ? driver->enumerate(devices) : missingDriver(drivers, candidate.backend);
    const uint32_t first = candidate.index.value_or(0);
    if (!devices.empty() && first >= devices.size())
      refusal = {hal::RefusalCode::NoSuchDevice,
                 fmt::format("there is no device {}, but {} of them", first, devices.size())};
    using Software = DeviceCandidate::Software;
    for (uint32_t index = first; index < devices.size(); ++index) {
      const bool fits = candidate.software == Software::Allowed ||
                        devices[index].isSoftware == (candidate.software == Software::Only);
      if (fits) {
        found = {driver, index, std::move(devices[index])};
        return okStatus();
      }
    }
    report.refused.push_back({candidate.backend, std::move(refusal)});
  }
  return failure(VX_NO_DEVICE, "device '{}' is not there: {}", report.request.device, report.reasons());
}

// A device that stays open for tensors that no instance has.
Status openDevice(const Found &found, Ref<DeviceContext> &context) {
  using Key = std::tuple<hal::Driver *, uint32_t, uint32_t>;
  static std::mutex mutex;
  static auto *opened = new std::map<Key, Ref<DeviceContext>>; // values may go at the very end of the process
  std::lock_guard lock(mutex);
  Ref<DeviceContext> &place = (*opened)[{found.driver, found.index, forkCount()}];
  if (!place || place->isLost()) {
    place = nullptr;
    Ref<hal::Device> device;
    VX_RETURN_IF_ERROR(found.driver->open(found.index, {}, device));
    VX_RETURN_IF_ERROR(DeviceContext::create(std::move(device), found.name(), place));
  }
  context = place;
  return okStatus();
}

// The same bytes as a tensor of the host, which keeps `value`.
Status hostTensor(const Ref<Value> &value, Ref<Value> &placed) {
  const void *bytes = nullptr;
  VX_RETURN_IF_ERROR(value->hostBytes(bytes));
  auto kept = std::make_unique<Ref<Value>>(value);
  VX_RETURN_IF_ERROR(Value::wrapTensor(
      value->elementType(), value->dims(), bytes, value->size(),
      [](void *user) { delete static_cast<Ref<Value> *>(user); }, kept.get(), placed));
  (void)kept.release();
  return okStatus();
}

} // namespace

Status describeDevice(const char *device, std::span<hal::Driver *const> drivers, FoundDevice &found) {
  Found one;
  VX_RETURN_IF_ERROR(findDevice(device, drivers, one));
  found = {one.name(), std::move(one.info)};
  return okStatus();
}

Status freeMemoryOf(const char *device, std::span<hal::Driver *const> drivers, uint64_t &bytes) {
  Found one;
  VX_RETURN_IF_ERROR(findDevice(device, drivers, one));
  Ref<hal::Device> opened; // for this question: nothing of it stays in the device's memory
  VX_RETURN_IF_ERROR(one.driver->open(one.index, {.threads = 1}, opened));
  std::optional<uint64_t> available;
  VX_RETURN_IF_ERROR(opened->freeMemory(available));
  if (!available)
    return failure(VX_UNSUPPORTED, "device '{}' does not tell its free memory", one.name());
  bytes = *available;
  return okStatus();
}

std::string_view deviceOf(const Value &value) { return value.context() ? value.context()->name() : hostName; }

Status copyToDevice(const Ref<Value> &value, const char *device, std::span<hal::Driver *const> drivers,
                    Ref<Value> &placed) {
  Found found;
  VX_RETURN_IF_ERROR(findDevice(device, drivers, found));
  if (found.driver->name() == "null")
    return failure(VX_UNSUPPORTED, "device 'null' keeps no values");
  if (value->kind() != VX_TENSOR)
    return failure(VX_INVALID_ARGUMENT, "expected a tensor, got {}", value->typeString());
  placed = value;
  const bool isHost = found.driver->name() == "cpu";
  if (deviceOf(*value) == found.name() || (isHost && deviceOf(*value).starts_with("cpu:")))
    return okStatus();
  if (isHost)
    return hostTensor(value, placed);
  if (value->elementType() == VX_STRING)
    return failure(VX_INVALID_ARGUMENT, "expected a tensor of numbers or bools, got {}", value->typeString());
  if (value->size() == 0)
    return okStatus();
  Ref<DeviceContext> context;
  VX_RETURN_IF_ERROR(openDevice(found, context));
  const void *bytes = nullptr;
  VX_RETURN_IF_ERROR(value->hostBytes(bytes));
  Ref<hal::Memory> memory;
  VX_RETURN_IF_ERROR(context->device().allocate(value->size(), hal::MemoryKind::Device, memory));
  VX_RETURN_IF_ERROR(context->upload({memory.get(), 0, value->size()}, bytes));
  placed = Value::deviceTensor(value->elementType(), {value->dims().begin(), value->dims().end()}, value->size(),
                               std::move(context), std::move(memory), /*offset=*/0);
  return okStatus();
}

} // namespace vx

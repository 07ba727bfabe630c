#include "exec/device_report.h"

#include "base/json_writer.h"
#include "base/log.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace vx {

// The default order, and with it the names that are known even when this runtime has no driver for them.
static const char *const defaultOrder[] = {"cuda", "rocm", "vulkan", "cpu"};

hal::Driver *findDriver(std::span<hal::Driver *const> drivers, std::string_view name) {
  for (hal::Driver *driver : drivers)
    if (driver->name() == name)
      return driver;
  return nullptr;
}

hal::Refusal missingDriver(std::span<hal::Driver *const> drivers, std::string_view name) {
  std::vector<std::string_view> built;
  for (hal::Driver *driver : drivers)
    built.push_back(driver->name());
  return {hal::RefusalCode::NoDriver,
          fmt::format("this runtime was built without the driver '{}', it has: {}", name, fmt::join(built, ", "))};
}

static std::vector<std::string> knownBackends(std::span<hal::Driver *const> drivers) {
  std::vector<std::string> names(std::begin(defaultOrder), std::end(defaultOrder));
  for (hal::Driver *driver : drivers)
    if (std::find(names.begin(), names.end(), driver->name()) == names.end())
      names.emplace_back(driver->name());
  return names;
}

static bool parseIndex(std::string_view text, uint32_t &index) {
  if (text.empty() || text.size() > 4)
    return false;
  index = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return false;
    index = index * 10 + static_cast<uint32_t>(c - '0');
  }
  return true;
}

static Status splitDevice(std::string_view device, DeviceCandidate &candidate) {
  size_t colon = device.find(':');
  candidate.backend = std::string(device.substr(0, colon));
  if (colon == std::string_view::npos)
    return okStatus();
  uint32_t index = 0;
  if (!parseIndex(device.substr(colon + 1), index))
    return failure(VX_INVALID_ARGUMENT, "device '{}': expected a number after the colon, got '{}'", device,
                   device.substr(colon + 1));
  candidate.index = index;
  return okStatus();
}

Status parseDeviceRequest(const char *device, const char *order, std::span<hal::Driver *const> drivers,
                          DeviceRequest &request) {
  std::vector<std::string> known = knownBackends(drivers);
  auto isKnown = [&](std::string_view name) { return std::find(known.begin(), known.end(), name) != known.end(); };
  request.device = device && *device ? device : "auto";
  if (request.device != "auto") {
    DeviceCandidate candidate;
    VX_RETURN_IF_ERROR(splitDevice(request.device, candidate));
    if (!isKnown(candidate.backend))
      return failure(VX_INVALID_ARGUMENT, "device '{}' is unknown, known are: auto, {}", candidate.backend,
                     fmt::join(known, ", "));
  }
  const char *origin = "device order";
  if (!order || !*order) {
    order = std::getenv("VX_DEVICE_ORDER");
    origin = "VX_DEVICE_ORDER";
  }
  request.order.clear();
  if (!order || !*order) {
    request.order.assign(std::begin(defaultOrder), std::end(defaultOrder));
    return okStatus();
  }
  std::string_view rest = order;
  while (true) {
    size_t comma = rest.find(',');
    std::string name(rest.substr(0, comma));
    std::erase(name, ' ');
    if (!isKnown(name))
      return failure(VX_INVALID_ARGUMENT, "{} '{}': '{}' is unknown, known are: {}", origin, order, name,
                     fmt::join(known, ", "));
    if (std::find(request.order.begin(), request.order.end(), name) == request.order.end())
      request.order.push_back(name);
    if (comma == std::string_view::npos)
      return okStatus();
    rest.remove_prefix(comma + 1);
  }
}

std::vector<DeviceCandidate> deviceCandidates(const DeviceRequest &request) {
  std::vector<DeviceCandidate> candidates;
  if (request.device != "auto") {
    // The request has been parsed, so this cannot fail.
    Status status = splitDevice(request.device, candidates.emplace_back());
    if (!status.ok())
      return {};
  }
  using Software = DeviceCandidate::Software;
  for (Software software : {Software::PassedOver, Software::Only})
    for (const std::string &backend : request.order)
      if (request.device == "auto" || candidates.front().backend != backend)
        candidates.push_back({backend, std::nullopt, software});
  if (request.noFallback && candidates.size() > 1)
    candidates.resize(1);
  return candidates;
}

void DeviceReport::explain(std::span<hal::Driver *const> drivers) {
  for (RefusedDevice &one : refused) {
    if (one.refusal.code != hal::RefusalCode::NoCode)
      continue;
    const std::string_view device = one.device;
    hal::Driver *driver = findDriver(drivers, device.substr(0, device.find(':')));
    std::vector<hal::DeviceInfo> devices;
    hal::Refusal absent = driver ? driver->enumerate(devices) : hal::Refusal{};
    if (driver && devices.empty())
      one.refusal = std::move(absent);
  }
}

std::string DeviceReport::reasons() const {
  std::string text;
  for (const RefusedDevice &one : refused)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", one.device, one.refusal.reason);
  return text;
}

std::string DeviceReport::text() const {
  std::string result =
      fmt::format("device asked for: {}{}\n", request.device, request.noFallback ? " (no fallback)" : "");
  result += fmt::format("device order: {}\n", fmt::join(request.order, ", "));
  if (taken) {
    result += fmt::format("device taken: {}:{} ({}), code: {} {}", taken->backend, taken->index, taken->name,
                          taken->target, taken->variant);
    if (taken->threads)
      result += fmt::format(", threads: {}", taken->threads);
    result += '\n';
    if (const auto &weights = taken->weights) {
      result += fmt::format("weights: {} bytes read in place from the file", weights->inPlace);
      if (weights->copied)
        result += fmt::format(", {} bytes copied: {}", weights->copied, weights->reason);
      result += '\n';
    }
  } else {
    result += "device taken: none\n";
  }
  for (const FailedDevice &one : failed)
    result += fmt::format("device failed: {}: {} [{}]\n", one.device(), one.reason, codeName(one.code));
  for (const RefusedDevice &one : refused)
    result += fmt::format("device refused: {}: {} [{}]\n", one.device, one.refusal.reason,
                          hal::refusalCodeName(one.refusal.code));
  return result;
}

void DeviceReport::log(const std::string &path) const {
  for (const RefusedDevice &one : refused)
    vx::log(VX_LOG_INFO, "{}: device {} is not taken: {}", path, one.device, one.refusal.reason);
  if (!taken)
    return;
  if (taken->weights && taken->weights->copied)
    vx::log(VX_LOG_INFO, "{}: device {}:{} shares the host's memory, but {} bytes of weights were copied: {}", path,
            taken->backend, taken->index, taken->weights->copied, taken->weights->reason);
  const bool isOther = request.device != "auto" && request.device != taken->backend &&
                       request.device != fmt::format("{}:{}", taken->backend, taken->index);
  if (isOther)
    vx::log(VX_LOG_WARNING, "{}: device {} was asked for, {}:{} ({}) is taken", path, request.device, taken->backend,
            taken->index, taken->name);
  else
    vx::log(VX_LOG_INFO, "{}: device {}:{} ({}) is taken", path, taken->backend, taken->index, taken->name);
}

std::string DeviceReport::json() const {
  JsonWriter json;
  json.beginObject().member("version", 1).member("wanted", request.device).key("order").beginArray();
  for (const std::string &backend : request.order)
    json.string(backend);
  json.endArray().member("no_fallback", request.noFallback).key("taken");
  if (taken) {
    json.beginObject().member("backend", taken->backend);
    json.member("device", fmt::format("{}:{}", taken->backend, taken->index)).member("name", taken->name);
    json.member("details", taken->details).member("target", taken->target).member("variant", taken->variant);
    json.member("threads", taken->threads);
    if (const auto &weights = taken->weights) {
      json.key("weights").beginObject().member("in_place", weights->inPlace).member("copied", weights->copied);
      json.member("reason", weights->reason).endObject();
    }
    json.endObject();
  } else {
    json.null();
  }
  json.key("refused").beginArray();
  for (const RefusedDevice &one : refused)
    json.beginObject()
        .member("device", one.device)
        .member("code", hal::refusalCodeName(one.refusal.code))
        .member("reason", one.refusal.reason)
        .endObject();
  json.endArray();
  if (!failed.empty()) {
    json.key("failed").beginArray();
    for (const FailedDevice &one : failed)
      json.beginObject()
          .member("device", one.device())
          .member("code", codeName(one.code))
          .member("reason", one.reason)
          .endObject();
    json.endArray();
  }
  json.endObject();
  return json.take();
}

std::string listDevices(std::span<hal::Driver *const> drivers) {
  JsonWriter json;
  json.beginObject().member("version", 1).key("backends").beginArray();
  for (const std::string &name : knownBackends(drivers)) {
    json.beginObject().member("name", name);
    hal::Driver *driver = findDriver(drivers, name);
    std::vector<hal::DeviceInfo> devices;
    hal::Refusal refusal = driver ? driver->enumerate(devices) : missingDriver(drivers, name);
    json.member("available", !devices.empty());
    if (devices.empty()) {
      json.member("code", hal::refusalCodeName(refusal.code)).member("reason", refusal.reason);
    } else {
      json.key("devices").beginArray();
      for (size_t i = 0; i < devices.size(); ++i) {
        json.beginObject().member("device", fmt::format("{}:{}", name, i)).member("name", devices[i].name);
        json.member("details", devices[i].details).member("total_memory", devices[i].totalMemory);
        json.member("software", devices[i].isSoftware).member("driver", devices[i].driver);
        if (devices[i].maxAllocation != UINT64_MAX)
          json.member("largest_allocation", devices[i].maxAllocation);
        if (devices[i].maxWorkgroupThreads)
          json.member("workgroup_threads", devices[i].maxWorkgroupThreads);
        if (devices[i].maxWorkgroupMemory)
          json.member("workgroup_memory", devices[i].maxWorkgroupMemory);
        json.key("features").beginArray();
        for (const std::string &feature : devices[i].features)
          json.string(feature);
        json.endArray().endObject();
      }
      json.endArray();
    }
    json.endObject();
  }
  json.endArray().endObject();
  return json.take();
}

} // namespace vx

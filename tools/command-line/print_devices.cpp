#include "print_devices.h"

#include "command_line.h"
#include "host_facts.h"
#include "sibling_tool.h"
#include "tool_error.h"

#include "vx/base/host_memory.h"
#include "vx/base/json_text.h"
#include "vx/runtime/vx.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

namespace vx::tools {

using Json = nlohmann::ordered_json;

template <typename T>
static Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json();
}

// Null where there is no such thing, and no limit.
static Json describeMachine() {
  const std::string container = findContainer();
  const HostMemory memory = findHostMemory();
  const GroupLimits group = findGroupLimits();
  const ProcessLimits process = findProcessLimits();
  return {{"container", container.empty() ? Json() : Json(container)},
          {"total_memory", orNull(memory.total)},
          {"free_memory", orNull(memory.available)},
          {"cores", std::thread::hardware_concurrency()},
          {"limits",
           {{"memory", orNull(group.memory)},
            {"cores", orNull(group.cores)},
            {"open_files", orNull(process.openFiles)},
            {"locked_memory", orNull(process.lockedMemory)},
            {"address_space", orNull(process.addressSpace)}}}};
}

static std::optional<uint64_t> freeMemoryOf(const std::string &device) {
  uint64_t bytes = 0;
  const vx_status status = vx_device_free_memory(device.c_str(), &bytes);
  const bool isKnown = !status;
  vx_status_release(status);
  return isKnown ? std::optional(bytes) : std::nullopt;
}

// That of a probe, see VX_PROBE_SECONDS. The runtime, which has read it before, warns of another text.
static std::chrono::seconds probeTime() {
  const char *text = std::getenv("VX_PROBE_SECONDS");
  const std::string_view given = text ? text : "";
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), seconds);
  const bool isNumber = error == std::errc() && end == given.data() + given.size() && seconds >= 1 && seconds <= 3600;
  return std::chrono::seconds(isNumber ? seconds : 5);
}

static constexpr std::string_view freeMemoryMark = "free memory of ";

void printFreeMemory(const std::string &devices) {
  for (size_t begin = 0; begin < devices.size();) {
    const size_t end = std::min(devices.find(',', begin), devices.size());
    const std::string device = devices.substr(begin, end - begin);
    begin = end + 1;
    if (const std::optional<uint64_t> bytes = freeMemoryOf(device))
      printOut("{}{}: {}\n", freeMemoryMark, device, *bytes);
    std::fflush(stdout); // the next device may be one that ends the process
  }
}

// The free memory of a backend's devices, which only an open device tells. A driver may hang or crash when it opens
// one, so another process asks, as for the probe of the driver.
static std::map<std::string, uint64_t> probeFreeMemory(const char *tool, const Json &backend) {
  std::vector<std::string> devices;
  for (const Json &device : backend["devices"])
    devices.push_back(device.value("device", ""));
  std::string output;
  const ToolLimits limits = {.time = probeTime() * devices.size(), .output = &output};
  try {
    runSiblingTool("vx-info", {fmt::format("--free-memory={}", fmt::join(devices, ","))}, limits);
  } catch (const ToolError &error) {
    printMessage("{}: warning: {}: the free memory of devices is not known: {}\n", tool, backend.value("name", ""),
                 error.what());
  }
  std::map<std::string, uint64_t> found;
  for (const std::string &device : devices) {
    // A vendor's library may write, too.
    const std::string mark = fmt::format("{}{}: ", freeMemoryMark, device);
    if (const size_t at = output.find(mark); at != std::string::npos)
      found[device] = std::strtoull(output.c_str() + at + mark.size(), nullptr, 10);
  }
  return found;
}

static void addFreeMemory(const char *tool, Json &backend) {
  const char *probe = std::getenv("VX_PROBE");
  const bool isVendors = backend["name"] != "cpu" && backend["name"] != "null";
  const bool isProbed = isVendors && probe && *probe && std::string_view(probe) != "0";
  const std::map<std::string, uint64_t> probed =
      isProbed ? probeFreeMemory(tool, backend) : std::map<std::string, uint64_t>();
  for (Json &device : backend["devices"]) {
    const std::string name = device.value("device", "");
    const auto known = probed.find(name);
    device["free_memory"] = !isProbed               ? orNull(freeMemoryOf(name))
                            : known != probed.end() ? Json(known->second)
                                                    : Json();
  }
}

static std::string gibText(uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (uint64_t(1) << 30));
}
// "23.5 GiB, 20.1 GiB free"
static std::string memoryText(const Json &owner) {
  std::string text = owner["total_memory"].is_null() ? "of an unknown size" : gibText(owner["total_memory"]);
  if (!owner["free_memory"].is_null())
    text += fmt::format(", {} free", gibText(owner["free_memory"]));
  return text;
}

// "memory 2.0 GiB, 1.5 cores, 1024 open files": the limits that there are.
static std::string limitsText(const Json &limits) {
  std::string text;
  const auto add = [&](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
  if (!limits["memory"].is_null())
    add("memory " + gibText(limits["memory"]));
  if (!limits["cores"].is_null())
    add(fmt::format("{:g} cores", limits["cores"].get<double>()));
  if (!limits["open_files"].is_null())
    add(fmt::format("{} open files", limits["open_files"].get<uint64_t>()));
  if (!limits["locked_memory"].is_null())
    add(fmt::format("{} bytes of locked memory", limits["locked_memory"].get<uint64_t>()));
  if (!limits["address_space"].is_null())
    add("address space " + gibText(limits["address_space"]));
  return text.empty() ? "none" : text;
}

// "allocation 23.5 GiB, workgroup 1024 threads and 49152 bytes"
static std::string deviceLimitsText(const Json &device) {
  std::string text;
  if (device.contains("largest_allocation"))
    text += "allocation " + gibText(device["largest_allocation"]);
  if (device.contains("workgroup_threads"))
    text +=
        fmt::format("{}workgroup {} threads", text.empty() ? "" : ", ", device["workgroup_threads"].get<uint64_t>());
  if (device.contains("workgroup_memory"))
    text += fmt::format(" and {} bytes", device["workgroup_memory"].get<uint64_t>());
  return text;
}

static void printDevice(const Json &device) {
  printOut("{}: {}", device.value("device", ""), device.value("name", ""));
  if (const std::string details = device.value("details", ""); !details.empty())
    printOut(" ({})", details);
  if (device.value("total_memory", uint64_t(0)) > 0)
    printOut("\n  memory: {}", memoryText(device));
  if (const std::string driver = device.value("driver", ""); !driver.empty())
    printOut("\n  driver: {}", driver);
  if (const std::string limits = deviceLimitsText(device); !limits.empty())
    printOut("\n  limits: {}", limits);
  std::string features;
  for (const Json &feature : device.value("features", Json::array()))
    features += (features.empty() ? "" : " ") + feature.get<std::string>();
  printOut("\n  features: {}\n", features.empty() ? "none" : features);
}

void printDevices(const char *tool, bool asJson) {
  Json list = Json::parse(vx::listDevices());
  for (Json &backend : list["backends"])
    if (backend.contains("devices"))
      addFreeMemory(tool, backend);
  const Json machine = describeMachine();
  if (asJson) {
    Json document = {{"version", list["version"]}, {"machine", machine}, {"backends", list["backends"]}};
    printText(vx::jsonText(document) + "\n");
    return;
  }
  printOut("machine: {}\n", machine["container"].is_null() ? "no sign of a container"
                                                           : "a container, " + machine["container"].get<std::string>());
  printOut("  memory: {}\n  cores: {}\n  limits: {}\n", memoryText(machine), machine["cores"].get<unsigned>(),
           limitsText(machine["limits"]));
  for (const Json &backend : list["backends"]) {
    if (!backend.value("available", false)) {
      printOut("{}: {}\n", backend.value("name", ""), backend.value("reason", ""));
      continue;
    }
    for (const Json &device : backend["devices"])
      printDevice(device);
  }
}

} // namespace vx::tools

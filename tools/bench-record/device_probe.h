// Peak rates of a device. Probes take their turns with the timed calls, so that both see the same machine.
#ifndef VX_BENCH_DEVICE_PROBE_H
#define VX_BENCH_DEVICE_PROBE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace vx::tools {

// One turn. Nothing where there is no such probe for the device.
struct ProbeRound {
  std::optional<double> fmaGflops; // 10^9 f32 operations per second; a fused multiply-add counts as two
  std::optional<double> readGbs;   // 10^9 bytes per second from memory larger than the caches
  std::optional<double> copyGbs;   // the same, bytes read and bytes written together
};

class DeviceProbe {
public:
  virtual ~DeviceProbe() = default;
  virtual ProbeRound run() = 0;
};

// `threads` threads that do nothing else.
std::unique_ptr<DeviceProbe> makeCpuProbe(uint32_t threads);

// `device` is "vulkan:N" or "cuda:N"; null for others, and for Vulkan when this tool was built without the kernels (no
// spirv-as). Throws ToolError.
std::unique_ptr<DeviceProbe> makeGpuProbe(const std::string &device);

// That of a device of an instance's report: "cpu:0", "cuda:1". `threads` is for the CPU; 0 counts as 1.
std::unique_ptr<DeviceProbe> makeProbe(const std::string &device, uint32_t threads);

} // namespace vx::tools

#endif

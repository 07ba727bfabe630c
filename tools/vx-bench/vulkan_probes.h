// What a Vulkan device can do at best, measured through the runtime with a module of two small kernels.
#ifndef VX_BENCH_VULKAN_PROBES_H
#define VX_BENCH_VULKAN_PROBES_H

#include <optional>
#include <string>

namespace vx::tools {

struct VulkanProbes {
  double fmaGflops = 0;
  double readGbs = 0;
};

// `device` is "vulkan:N". Nothing when this tool was built without the kernels (no spirv-as). Throws ToolError.
std::optional<VulkanProbes> probeVulkan(const std::string &device);

} // namespace vx::tools

#endif

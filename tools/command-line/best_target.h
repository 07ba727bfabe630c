// The target that a tool compiles for where its command line names none.
#ifndef VX_TOOLS_BEST_TARGET_H
#define VX_TOOLS_BEST_TARGET_H

#include <string>
#include <vector>

namespace vx::tools {

// The first backend of the usual order (cuda, rocm, vulkan, cpu) that has a device on this machine, as the runtime
// chooses for "auto": a software device is passed over. With `built` the backend is also one of these names. "cpu" if
// there is no other. Lists the devices, which opens their drivers.
std::string bestTarget(const std::vector<std::string> &built = {});

// The same, and the CPU for a machine that refuses that device: "cuda,cpu", or "cpu".
std::string defaultTargets(const std::vector<std::string> &built);

} // namespace vx::tools

#endif

// Says why a device that was asked for is not the one that was taken.
#ifndef VX_TOOLS_DEVICE_FALLBACK_H
#define VX_TOOLS_DEVICE_FALLBACK_H

#include "vx/runtime/vx.hpp"

#include <string>

namespace vx::tools {

// A note on stderr where `wanted`, which is no "auto", was refused.
void tellFallback(const char *tool, const std::string &wanted, const vx::Instance &instance);

} // namespace vx::tools

#endif

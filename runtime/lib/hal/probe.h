// Tries a vendor's driver in a process of its own, so that one that hangs or crashes is a refusal with a reason.
#ifndef VX_RUNTIME_HAL_PROBE_H
#define VX_RUNTIME_HAL_PROBE_H

#include <string>
#include <string_view>

namespace vx::hal {

// Starts the program of VX_PROBE with --probe=BACKEND, which looks for the devices of that backend and writes
// `probeAnswer` to its standard output. Empty when it has answered, or when no program is named or can be started; else
// the reason why the driver is not to be used.
std::string probeDriver(std::string_view backend);

inline constexpr std::string_view probeAnswer = "the driver has answered\n";

} // namespace vx::hal

#endif

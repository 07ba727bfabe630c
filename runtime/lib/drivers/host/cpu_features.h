// What this processor and operating system offer to code, in LLVM's spelling.
#ifndef VX_RUNTIME_DRIVERS_HOST_CPU_FEATURES_H
#define VX_RUNTIME_DRIVERS_HOST_CPU_FEATURES_H

#include <string>
#include <vector>

namespace vx::drivers {

// Features usable by any thread: the processor has them and the system saves their registers. AMX is listed when the
// system would grant it; requestTilePermission asks for it.
std::vector<std::string> detectCpuFeatures();

// "Intel(R) Xeon(R) ...", or the architecture's name.
std::string cpuModelName();

// The first part of the triple that code must have: "x86_64", "aarch64".
const char *cpuArchitecture();

// Asks the system once per process to save AMX tiles. False when it refuses.
bool requestTilePermission();

} // namespace vx::drivers

#endif

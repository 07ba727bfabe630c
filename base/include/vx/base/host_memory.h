// How much memory the host has.
#ifndef VX_BASE_HOST_MEMORY_H
#define VX_BASE_HOST_MEMORY_H

#include <cstdint>
#include <optional>
#include <string>

namespace vx {

// Bytes by `root`/proc/meminfo; none where it does not say.
struct HostMemory {
  std::optional<uint64_t> total;
  std::optional<uint64_t> available; // what programs can still take without swapping
};
HostMemory findHostMemory(const std::string &root = "");

} // namespace vx

#endif

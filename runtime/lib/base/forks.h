// Whether this process is a copy that fork() made: threads and devices stay behind in the one it is a copy of.
#ifndef VX_RUNTIME_BASE_FORKS_H
#define VX_RUNTIME_BASE_FORKS_H

#include <cstdint>

namespace vx {

// Grows with each fork on the way to this process, once somebody has asked. What was made at another count belongs to
// another process. Thread-safe.
uint32_t forkCount();

} // namespace vx

#endif

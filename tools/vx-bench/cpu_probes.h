// What this processor can do at best, measured in the same run as the models.
#ifndef VX_BENCH_CPU_PROBES_H
#define VX_BENCH_CPU_PROBES_H

#include <cstdint>

namespace vx::tools {

// 10^9 f32 operations per second (a fused multiply-add counts as two) of `threads` threads that do nothing else.
double probeFmaGflops(uint32_t threads);

// 10^9 bytes per second that `threads` threads read from memory larger than the caches.
double probeReadGbs(uint32_t threads);

} // namespace vx::tools

#endif

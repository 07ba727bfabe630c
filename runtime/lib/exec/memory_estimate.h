// What a call of a function will take of its device's memory.
#ifndef VX_RUNTIME_EXEC_MEMORY_ESTIMATE_H
#define VX_RUNTIME_EXEC_MEMORY_ESTIMATE_H

#include "exec/instance.h"

namespace vx {

// Of a function where its symbols have these sizes: each that inputs bind, once, in any order. A size that depends on
// data counts with the most that the signature allows.
Status estimateMemory(const Instance &instance, uint32_t function, std::span<const BoundSymbol> sizes,
                      vx_memory_estimate &estimate);

} // namespace vx

#endif

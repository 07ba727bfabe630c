// Kernels that do nothing but put tensors one after another.
#ifndef VX_LIB_MEMORY_JOINEDPARTS_H
#define VX_LIB_MEMORY_JOINEDPARTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include <optional>

namespace vx {

/// Where each operand of the kernel lies in its result, in bytes, where that is nothing but the operands, one behind
/// another, each whole and at a multiple of `alignment`.
std::optional<llvm::SmallVector<int64_t>> getPartOffsets(KernelOp kernel, int64_t alignment);

} // namespace vx

#endif

// The shapes of contractions, as strategies of GPUs see them. Private to this folder.
#ifndef VX_LIB_CODEGEN_GPU_PRODUCTSHAPES_H
#define VX_LIB_CODEGEN_GPU_PRODUCTSHAPES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// The dimensions of an operand of a contraction that are neither batch nor summed over, in order.
llvm::SmallVector<int64_t> getFreeDims(ContractOp op, int64_t operand);

/// The operand that is the matrix of a product of a matrix and a vector; nothing for other products.
std::optional<int64_t> findMatrix(ContractOp op);

} // namespace vx

#endif

// The shapes of contractions, as strategies of GPUs see them. Private to this folder.
#ifndef VX_LIB_CODEGEN_GPU_PRODUCTSHAPES_H
#define VX_LIB_CODEGEN_GPU_PRODUCTSHAPES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// The dimensions of an operand of a contraction that are neither batch nor summed over, in order.
llvm::SmallVector<int64_t> getFreeDims(ContractOp op, int64_t operand);

/// The filters of a group that a tile of a product has, or a multiple of them: other groups are in loops.
constexpr int64_t kGroupTile = 4;

/// The filters of each group of a convolution; 1 where their number is not known.
int64_t getFiltersOfGroup(ConvOp op);

/// The operand that is the matrix of a product of a matrix and a vector; nothing for other products.
std::optional<int64_t> findMatrix(ContractOp op);

} // namespace vx

#endif

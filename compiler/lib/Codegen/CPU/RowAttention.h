// Attention of few queries: with the lanes along the depths.
#ifndef VX_CODEGEN_CPU_ROWATTENTION_H
#define VX_CODEGEN_CPU_ROWATTENTION_H

#include "Common/MatchAttention.h"
#include "vx/Codegen/CPU.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// True for attention of so few queries that lanes along them would be idle, of keys and values whose neighbours in
/// memory are neighbours along the depths.
bool isRowAttention(Attention attention, int64_t lanes);

/// Lowers such attention. Each row of the keys and the values is read once for each head of the workgroup's tile; heads
/// that share keys belong to one tile, so that they find the rows in the first-level cache.
llvm::LogicalResult lowerRowAttention(mlir::func::FuncOp function, CPUFlashAttr strategy, Attention attention,
                                      int64_t lanes);

} // namespace vx

#endif

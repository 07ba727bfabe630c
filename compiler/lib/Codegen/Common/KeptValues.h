// What a kernel's result keeps in its own buffer between a reduction and its last use.
#ifndef VX_CODEGEN_COMMON_KEPTVALUES_H
#define VX_CODEGEN_COMMON_KEPTVALUES_H

#include "WorkgroupTile.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace vx {

/// Elements that a reduction and then the result read, as the exponentials of a softmax. They are stored into the
/// result's buffer, at the position of the element that is computed from them, so that each is computed once.
struct KeptValue {
  mlir::linalg::GenericOp producer, reduction;

  /// The dimensions of the result over which the reduction goes.
  llvm::SmallVector<unsigned> getReduced() const;
};

/// The value that `result` keeps: it costs more than a load, nothing but `reduction` and elementwise ops towards
/// `result` reads it, and the tile does not cut the dimensions over which the reduction goes.
std::optional<KeptValue> findKeptValue(mlir::bufferization::MaterializeInDestinationOp result,
                                       const WorkgroupTile &tile);

} // namespace vx

#endif

// What the gradients of control flow share: the reverse of a region begins with a copy of it, which computes anew what
// the reverse reads.
#ifndef VX_LIB_DIALECT_VX_GRADIENT_REGIONS_H
#define VX_LIB_DIALECT_VX_GRADIENT_REGIONS_H

#include "vx/Dialect/VX/Gradient/Pullback.h"
#include "vx/Dialect/VX/Utils/CloneWithFreshSymbols.h"

#include "mlir/IR/IRMapping.h"

namespace vx {

/// Copies the ops of a region of one block, but for its end, to where the builder stands: adds them to `ops`, and gives
/// what the region yields.
llvm::SmallVector<mlir::Value> cloneRegion(Pullback &p, mlir::Region &region, mlir::IRMapping &mapping,
                                           SymbolMap &symbols, llvm::SmallVectorImpl<mlir::Operation *> &ops);

/// The values of outside that the regions read and whose gradients are wanted.
llvm::SmallVector<mlir::Value> findWantedCaptures(Pullback &p);

/// False, and told, where a copy of the regions that stands behind the op could not compute what they computed: one
/// that reads a variable which is stored between.
bool canComputeAnew(Pullback &p);

/// Drops what the reverse, which stands behind it in the block, does not read of a copied region, and what only the
/// forward may do.
void dropUnread(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> kept = {});

} // namespace vx

#endif

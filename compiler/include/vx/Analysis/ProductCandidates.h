// The families of strategies that a target has for a product, with estimates.
#ifndef VX_ANALYSIS_PRODUCTCANDIDATES_H
#define VX_ANALYSIS_PRODUCTCANDIDATES_H

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include <functional>

namespace vx {

/// Facts about a product that its op does not show.
struct ProductFacts {
  const SymbolRanges &ranges; // of the module, to plan with sizes that only the call gives
  bool isWeight = false;      // the second factor is known before the call, so that it is packed once
  bool isLowBit = false;      // it is decoded from integers of 8 bits or fewer, which can be packed
};

/// A way to compute a product.
struct ProductCandidate {
  ProductAttr product;
  /// Estimated time of one call, without the moves of images into the layout. The times of one target are in the
  /// same proportion to real ones. They do not compare targets.
  double nanoseconds = 0;
};

/// The candidates of a target for a product: see TargetBackend::chooseProduct.
using ProductChooser = std::function<llvm::SmallVector<ProductCandidate>(mlir::Operation *, const ProductFacts &)>;

/// A candidate in plain loops.
ProductCandidate inLoops(mlir::MLIRContext *context, LoopsReason reason, double nanoseconds, bool channelsLast = false);

/// True for a family whose kernels report faults of other ops that they compute.
bool takesFaults(ProductFamily family);

/// The reason as a sentence without its full stop, for reports.
llvm::StringRef describe(LoopsReason reason);

/// Attribute of a fusion region and of a kernel whose product is computed in plain loops: the reason, a string.
inline constexpr llvm::StringLiteral kLoopsReasonAttr = "vx.loops_reason";

/// The sizes of a contraction, planned with.
struct ContractSizes {
  ContractSizes(ContractOp op, const SymbolRanges &ranges);

  double batch = 1, rows = 1, columns = 1, depth = 1; // elements of all dimensions of a kind
  int64_t freeRows = 0, freeColumns = 0;              // dimensions
  double products() const { return batch * rows * columns * depth; }
};

/// The number of products of a convolution, by sizes that are planned with.
double countProducts(ConvOp op, const SymbolRanges &ranges);

} // namespace vx

#endif

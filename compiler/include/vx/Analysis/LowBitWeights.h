// Weights that are integers or floats of few bits, and the ops that make floats of 32 bits of them.
#ifndef VX_ANALYSIS_LOWBITWEIGHTS_H
#define VX_ANALYSIS_LOWBITWEIGHTS_H

#include "vx/Analysis/DerivableVariables.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// True for a tensor that a product reads packed: the result of `vx.unpack`, or of elementwise ops on one.
bool readsPacked(mlir::Value tensor);

/// True for floats that are computed, element for element, from a constant or a variable of integers of 8 or 4 bits,
/// or a constant of floats of 16 bits.
/// The product that reads them computes them: they are never kept.
bool decodesLowBits(mlir::Value tensor);

/// A weight that is computed from integers of 8 or 4 bits, or floats of 16 bits, element for element. Each op reads
/// beside these only numbers that are repeated along the weight.
class LowBitWeight {
public:
  /// Nothing where `weight` is another one. `variables` are those that count as constants.
  static std::optional<LowBitWeight> find(mlir::Value weight, const DerivableVariables &variables);

  mlir::TypedValue<mlir::RankedTensorType> getIntegers() const { return integers; }
  /// The number of neighbours along `dim` that have the numbers beside them in common: 0 where no number differs by
  /// blocks, and nothing where blocks lie along another dimension, have several sizes, or go with numbers of each
  /// place.
  std::optional<int64_t> findBlock(int64_t dim) const;
  /// Numbers of the weight that a broadcast repeats along it. `isJoined`: `value` has one dimension where the broadcast
  /// has two, which are blocks and the places of one.
  struct Repeated {
    mlir::Value value;
    BroadcastOp broadcast;
    bool isJoined;
  };
  /// The weight, computed from `elements` in the place of the integers, in their shape, in which `repeat` gives
  /// repeated numbers.
  mlir::Value decode(GraphBuilder &g, mlir::Value elements,
                     llvm::function_ref<mlir::Value(const Repeated &)> repeat) const;
  /// The weight with a dimension in the form of `sizes`, whose product is its size. A number of neighbours along it is
  /// one of the first of these dimensions: their product is the number of such numbers.
  mlir::Value split(GraphBuilder &g, int64_t dim, llvm::ArrayRef<int64_t> sizes) const;

private:
  mlir::TypedValue<mlir::RankedTensorType> integers;
  llvm::SmallVector<mlir::Operation *> ops; // from the integers to the weight
};

/// `value` with a dimension in the form of `sizes`.
mlir::Value splitDim(GraphBuilder &g, mlir::Value value, int64_t dim, llvm::ArrayRef<int64_t> sizes);

} // namespace vx

#endif

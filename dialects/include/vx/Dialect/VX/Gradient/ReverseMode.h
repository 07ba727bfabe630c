// Reverse-mode differentiation of a run of ops.
#ifndef VX_DIALECT_VX_GRADIENT_REVERSEMODE_H
#define VX_DIALECT_VX_GRADIENT_REVERSEMODE_H

#include "mlir/IR/Builders.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace vx {

class GraphBuilder;

/// Returns true for types that may have a cotangent: tensors of floats, and sequences of these.
bool isDifferentiable(mlir::Type type);

/// Marks a value that gradients are taken with respect to, and returns the marked value. Two marks of one value stay
/// distinct: a gradient with respect to one mark leaves out the uses of the other.
mlir::Value createWatch(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value);

/// Returns zeros of a value's type and sizes. For a sequence this is a sequence of as many tensors of zeros.
mlir::Value makeZeros(GraphBuilder &g, mlir::Value like);

/// Collects cotangents, from the last op of a list to the first. All ops are made at the insertion point of `builder`,
/// where every value of the listed ops is visible. Cotangents are summed in the order of the walk, which the program
/// decides, so sums have the same bits each time. Not thread-safe.
class ReverseMode {
public:
  /// Computes cotangents for `wanted` and for the values between `wanted` and the results. `builder` outlives this.
  ReverseMode(mlir::OpBuilder &builder, mlir::ValueRange wanted);

  mlir::OpBuilder &builder;

  /// Adds to the cotangent of a value; does nothing for a null cotangent.
  void add(GraphBuilder &g, mlir::Value value, mlir::Value cotangent);
  /// Returns the cotangent of a value so far; null if it has none.
  mlir::Value get(mlir::Value value) const { return cotangents.lookup(value); }
  /// The same, with zeros for null.
  mlir::Value getOrZeros(GraphBuilder &g, mlir::Value value) const;
  /// Returns true if this value depends on one of `wanted` through the ops that have been run.
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Replaces the value `before` of an op that is run by `after`.
  void replace(mlir::Value before, mlir::Value after);
  /// Records that an error about a missing gradient was reported, so that `run` fails at its end.
  void fail() { hasFailed = true; }

  /// Applies the rules of `ops`, from the last one to the first. `ops` are in the order of the program. The caller has
  /// passed the cotangents of their results to `add`. Continues after an op without a gradient, so that each of them is
  /// reported; then fails.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);

private:
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
  llvm::DenseSet<mlir::Value> active;
  bool hasFailed = false;
};

/// Returns the ops that `value` depends on, of its own block and of the blocks around it, in the order of the program.
llvm::SmallVector<mlir::Operation *> collectDependences(mlir::Value value);

/// Calls `visit` for each value that the op reads: its operands, and the outer values that its regions read.
void visitReads(mlir::Operation *op, llvm::function_ref<void(mlir::Value)> visit);

} // namespace vx

#endif

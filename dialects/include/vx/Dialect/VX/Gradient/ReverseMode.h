// Reverse-mode differentiation of a run of ops.
#ifndef VX_DIALECT_VX_GRADIENT_REVERSEMODE_H
#define VX_DIALECT_VX_GRADIENT_REVERSEMODE_H

#include "mlir/IR/Builders.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace vx {

class GraphBuilder;

/// True for what may have a cotangent: tensors of floats, and sequences of them.
bool isDifferentiable(mlir::Type type);

/// The value, marked as one that gradients are taken with respect to. Two marks of one value stay two: gradients with
/// respect to one of them are not those with respect to both.
mlir::Value createWatch(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value);

/// Zeros of a value's type and sizes: a tensor's, or a sequence of as many tensors of zeros.
mlir::Value makeZeros(GraphBuilder &g, mlir::Value like);

/// Collects cotangents while it goes from the last op of a run to the first. `builder` stands where all that the run
/// computes can be read; every op that is made stands there. Sums of cotangents are in the order of the walk, which is
/// that of the program, so that they are the same each time. Not thread-safe.
class ReverseMode {
public:
  /// Cotangents are computed for `wanted` and what lies between them and the results. `builder` outlives this.
  ReverseMode(mlir::OpBuilder &builder, mlir::ValueRange wanted);

  mlir::OpBuilder &builder;

  /// Adds to the cotangent of a value; nothing happens for a null one.
  void add(GraphBuilder &g, mlir::Value value, mlir::Value cotangent);
  /// The cotangent of a value so far, null where there is none.
  mlir::Value get(mlir::Value value) const { return cotangents.lookup(value); }
  /// The same, with zeros for null.
  mlir::Value getOrZeros(GraphBuilder &g, mlir::Value value) const;
  /// True where one of the wanted values reaches this one through what has been run.
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// An op that is run stands for another one now: its value is `after`.
  void replace(mlir::Value before, mlir::Value after);
  /// Something has no gradient, and that was told: `run` fails at its end.
  void fail() { hasFailed = true; }

  /// Applies the rules of `ops`, which are in the order of the program, from the last one on. Before, `add` has given
  /// the cotangents of what they compute. Goes on after an op without a gradient, so that all are told.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);

private:
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
  llvm::DenseSet<mlir::Value> active;
  bool hasFailed = false;
};

/// The ops that `value` depends on, in the order of the program: of its own block and of those around it.
llvm::SmallVector<mlir::Operation *> collectDependences(mlir::Value value);

/// Calls `visit` for each value that the op reads: its operands, and what its regions read of what is defined outside.
void visitReads(mlir::Operation *op, llvm::function_ref<void(mlir::Value)> visit);

} // namespace vx

#endif

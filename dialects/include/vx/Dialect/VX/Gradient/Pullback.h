// The interface of an op's gradient rule to reverse mode: see DifferentiableOpInterface.
#ifndef VX_DIALECT_VX_GRADIENT_PULLBACK_H
#define VX_DIALECT_VX_GRADIENT_PULLBACK_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

class ReverseMode;

/// One op with the cotangents of its results. The cotangent of a value is the gradient of the differentiated scalar
/// with respect to that value. The rule computes the cotangents of the operands. A cotangent has the type of its value;
/// null stands for zeros.
///
/// A rule reads the op's operands and results directly. If the reverse ops are not in the op's own block, as in the
/// reverse of a loop, `op` is a copy that computes the results again.
class Pullback {
public:
  /// `op`, `reverse` and `g` outlive this.
  Pullback(mlir::Operation *op, ReverseMode &reverse, GraphBuilder &g) : op(op), reverse(reverse), g(g) {}

  /// A rule that replaces this op by another one sets it.
  mlir::Operation *op;
  /// Collects the cotangents of all values. A rule calls it for the reverse of other ops.
  ReverseMode &reverse;
  /// Makes ops at the insertion point of the reverse, with the location of `op`.
  GraphBuilder &g;

  /// Returns the cotangent of a result; null if the differentiated scalar does not depend on it. At least one result
  /// has one.
  mlir::Value of(unsigned result = 0);
  /// The same, with zeros for null.
  mlir::Value ofOrZeros(unsigned result = 0);

  /// Returns true if a requested gradient depends on this value: an operand, or a value that a region of the op reads.
  bool wants(mlir::Value value);
  bool wants(unsigned operand) { return wants(op->getOperand(operand)); }

  /// Adds to the cotangent of a value. Does nothing if `wants(value)` is false or `cotangent` is null.
  void give(mlir::Value value, mlir::Value cotangent);
  void give(unsigned operand, mlir::Value cotangent) { give(op->getOperand(operand), cotangent); }

  /// Reports that the op has no gradient, with the op's name and location.
  void refuse(const llvm::Twine &message);

  /// Differentiates the ops that the op decomposes into. The op is decomposable.
  void useDecomposition();
};

} // namespace vx

#endif

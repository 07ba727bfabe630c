// What the gradient rule of an op works with: see DifferentiableOpInterface.
#ifndef VX_DIALECT_VX_GRADIENT_PULLBACK_H
#define VX_DIALECT_VX_GRADIENT_PULLBACK_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

class ReverseMode;

/// One op whose results have cotangents: the gradients, with respect to them, of the number that is differentiated. The
/// rule gives those of the operands. A cotangent has the type of its value; null stands for zeros.
///
/// A rule reads what it needs of the op's operands and results as they are: where the reverse ops stand elsewhere than
/// the op itself, as in the reverse of a loop, the op that is given is a copy that computes them anew.
class Pullback {
public:
  /// `op`, `reverse` and `g` outlive this.
  Pullback(mlir::Operation *op, ReverseMode &reverse, GraphBuilder &g) : op(op), reverse(reverse), g(g) {}

  /// A rule that puts another op in the place of this one sets it.
  mlir::Operation *op;
  /// What collects the cotangents of all values, and what a rule asks for the reverse of other ops.
  ReverseMode &reverse;
  /// Makes ops where the reverse stands, with the location of `op`.
  GraphBuilder &g;

  /// The cotangent of a result; null where nothing that is differentiated depends on it. One of them is not null.
  mlir::Value of(unsigned result = 0);
  /// The same, with zeros for null.
  mlir::Value ofOrZeros(unsigned result = 0);

  /// True where a gradient is asked for that depends on this value, an operand or one that a region of the op reads.
  bool wants(mlir::Value value);
  bool wants(unsigned operand) { return wants(op->getOperand(operand)); }

  /// Adds to the cotangent of a value; nothing happens where it is not wanted, or `cotangent` is null.
  void give(mlir::Value value, mlir::Value cotangent);
  void give(unsigned operand, mlir::Value cotangent) { give(op->getOperand(operand), cotangent); }

  /// The op has no gradient here: says so with the op's name and location.
  void refuse(const llvm::Twine &message);

  /// Takes the gradient of what the op, which is decomposable, decomposes into.
  void useDecomposition();
};

} // namespace vx

#endif

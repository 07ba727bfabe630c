// Copies of ops that recompute a value, so that it need not be stored.
#ifndef VX_DIALECT_VX_IR_RECOMPUTEDOPS_H
#define VX_DIALECT_VX_IR_RECOMPUTEDOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace vx {

/// The number of an op that is a copy. Ops with different numbers, and an op with and one without a number, are never
/// merged, since the merging of equal ops compares attributes. An op that replaces a copy is a copy too. No kernel has
/// the attribute.
inline constexpr llvm::StringLiteral kCopyAttr = "vx.copy";

/// Returns null for an op that is no copy.
inline mlir::IntegerAttr getCopyNumber(mlir::Operation *op) { return op->getAttrOfType<mlir::IntegerAttr>(kCopyAttr); }

inline void setCopyNumber(mlir::Operation *op, int64_t number) {
  op->setAttr(kCopyAttr, mlir::Builder(op->getContext()).getI64IntegerAttr(number));
}

/// While it lives, gives the number of `op`, if that is a copy, to all ops that `builder` makes: they replace `op`.
class CopyNumbering final : public mlir::OpBuilder::Listener {
public:
  CopyNumbering(mlir::OpBuilder &builder, mlir::Operation *op)
      : builder(builder), before(builder.getListener()), number(getCopyNumber(op)) {
    builder.setListener(this);
  }
  ~CopyNumbering() { builder.setListener(before); }
  CopyNumbering(const CopyNumbering &) = delete;
  CopyNumbering &operator=(const CopyNumbering &) = delete;

  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override {
    if (number)
      op->setAttr(kCopyAttr, number);
    if (before)
      before->notifyOperationInserted(op, previous);
  }

private:
  mlir::OpBuilder &builder;
  mlir::OpBuilder::Listener *before;
  mlir::IntegerAttr number;
};

} // namespace vx

#endif

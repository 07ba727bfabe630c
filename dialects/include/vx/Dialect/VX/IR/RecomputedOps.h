// Ops that compute again what another op has computed, so that it need not be kept.
#ifndef VX_DIALECT_VX_IR_RECOMPUTEDOPS_H
#define VX_DIALECT_VX_IR_RECOMPUTEDOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace vx {

/// Number of an op that is a copy. Ops with different numbers, or of which one has none, are never made one, since what
/// joins equal ops compares their attributes; what stands for a copy is one too. No kernel has it.
inline constexpr llvm::StringLiteral kCopyAttr = "vx.copy";

/// Null for an op that is no copy.
inline mlir::IntegerAttr getCopyNumber(mlir::Operation *op) { return op->getAttrOfType<mlir::IntegerAttr>(kCopyAttr); }

inline void setCopyNumber(mlir::Operation *op, int64_t number) {
  op->setAttr(kCopyAttr, mlir::Builder(op->getContext()).getI64IntegerAttr(number));
}

/// Numbers what `builder` makes for as long as it lives as `op` is, if that is a copy: for what stands for it.
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

#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_APPLYPRECISIONPASS
#include "vx/Transforms/Passes.h.inc"

std::optional<Precision> parsePrecision(StringRef name) {
  return llvm::StringSwitch<std::optional<Precision>>(name)
      .Case("f32", Precision::F32)
      .Case("tf32", Precision::TF32)
      .Case("f16", Precision::F16)
      .Case("bf16", Precision::BF16)
      .Default(std::nullopt);
}

namespace {

struct ApplyPrecisionPass : impl::ApplyPrecisionPassBase<ApplyPrecisionPass> {
  using ApplyPrecisionPassBase::ApplyPrecisionPassBase;

  void runOnOperation() override {
    std::optional<Precision> wanted = parsePrecision(precision);
    if (!wanted) {
      getOperation().emitError() << "'precision': expected f32, tf32, f16 or bf16, got '" << precision << "'";
      return signalPassFailure();
    }
    if (*wanted == Precision::F32)
      return;
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (op->hasTrait<OpTrait::Product>() && getElementTypeOrSelf(op->getOperand(0).getType()).isF32())
        products.push_back(op);
    });
    for (Operation *op : products)
      apply(op, *wanted);
  }

private:
  static void apply(Operation *op, Precision wanted) {
    MLIRContext *context = op->getContext();
    auto set = [&](StringRef name, Type type) { op->setAttr(name, TypeAttr::get(type)); };
    if (wanted == Precision::TF32)
      return set("factors", FloatTF32Type::get(context));
    Type narrow = wanted == Precision::F16 ? Type(Float16Type::get(context)) : Type(BFloat16Type::get(context));
    OpBuilder builder(op);
    const CopyNumbering numbering(builder, op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = cast<RankedTensorType>(operand.get().getType());
      operand.set(CastOp::create(builder, op->getLoc(), type.clone(narrow), operand.get()));
    }
    op->removeAttr("factors");
    set("sums", Float32Type::get(context));
  }
};

} // namespace
} // namespace vx

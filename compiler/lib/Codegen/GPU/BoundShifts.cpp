#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"

namespace vx {
#define GEN_PASS_DEF_BOUNDSHIFTSPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;

namespace vx {
namespace {

struct BoundShifts : impl::BoundShiftsPassBase<BoundShifts> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      APInt amount;
      if (!isa<arith::ShRUIOp, arith::ShRSIOp, arith::ShLIOp>(op) ||
          !matchPattern(op->getOperand(1), m_ConstantInt(&amount)))
        return;
      unsigned width = amount.getBitWidth();
      if (amount.ult(width))
        return;
      OpBuilder builder(op);
      Type type = op->getResult(0).getType();
      auto constant = [&](int64_t number) -> Value {
        auto element = builder.getIntegerAttr(getElementTypeOrSelf(type), number);
        if (auto shaped = dyn_cast<ShapedType>(type))
          return arith::ConstantOp::create(builder, op->getLoc(), DenseElementsAttr::get(shaped, element));
        return arith::ConstantOp::create(builder, op->getLoc(), element);
      };
      if (isa<arith::ShRSIOp>(op)) {
        op->setOperand(1, constant(width - 1)); // the sign in every bit
        return;
      }
      op->getResult(0).replaceAllUsesWith(constant(0));
      op->erase();
    });
  }
};

} // namespace
} // namespace vx

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Conversion/VXToLinalg.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_VERIFYNOENCODINGPASS
#include "vx/Conversion/VXToLinalg/Passes.h.inc"

namespace {
struct VerifyNoEncodingPass : impl::VerifyNoEncodingPassBase<VerifyNoEncodingPass> {
  void runOnOperation() override {
    auto check = [](Operation *op, Type type) -> LogicalResult {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (tensor && tensor.getEncoding())
        return op->emitOpError() << "expects tensors without an encoding, got " << type;
      return success();
    };
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (isa_and_nonnull<VXDialect>(op->getDialect())) {
        op->emitError() << "expected no vx op after the conversion to linalg, got '" << op->getName() << "'";
        return WalkResult::interrupt();
      }
      for (Type type : op->getResultTypes())
        if (failed(check(op, type)))
          return WalkResult::interrupt();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Type type : block.getArgumentTypes())
            if (failed(check(op, type)))
              return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

} // namespace vx

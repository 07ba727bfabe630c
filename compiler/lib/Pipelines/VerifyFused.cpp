// vx-verify-fused: what holds after the `fused` phase.
#include "vx/Analysis/StrategyChoice.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYFUSEDPASS
#include "vx/Pipelines/Passes.h.inc"

namespace {

/// What the host program runs or reads itself.
bool isHostOp(Operation *op) { return isa<ModuleOp, func::FuncOp, func::ReturnOp>(op) || getRole(op) == Role::Host; }

struct VerifyFusedPass : impl::VerifyFusedPassBase<VerifyFusedPass> {
  void runOnOperation() override {
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto fusion = dyn_cast<FusionOp>(op)) {
        Operation *anchor = fusion.getAnchor();
        if (anchor && anchor->hasTrait<vx::OpTrait::Product>() && isa<LoopsAttr>(fusion.getStrategy()) &&
            !fusion->hasAttr(kLoopsReasonAttr)) {
          fusion.emitError() << "after 'fused' a product in plain loops has a reason, got '" << anchor->getName()
                             << "' of " << describeSource(anchor->getLoc()) << " without one";
          signalPassFailure();
        }
        return WalkResult::skip();
      }
      if (!isHostOp(op)) {
        op->emitError() << "after 'fused' every op of a device stands in a fusion region, got '" << op->getName()
                        << "' of " << describeSource(op->getLoc()) << " outside";
        signalPassFailure();
      }
      return WalkResult::advance();
    });
  }
};

} // namespace
} // namespace vx

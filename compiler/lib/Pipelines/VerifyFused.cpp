// vx-verify-fused: what holds after the `fused` phase.
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

/// True for a strategy of the family.
bool isOfFamily(StrategyAttrInterface strategy, ProductFamily family) {
  switch (family) {
  case ProductFamily::loops:
    return !isa<TiledProductAttr, MmaAttr, CPUProductAttr, CPUDepthwiseAttr>(strategy);
  case ProductFamily::rows:
    return isa<RowsAttr, ThreadRowsAttr>(strategy);
  case ProductFamily::tiled_product:
    return isa<TiledProductAttr>(strategy);
  case ProductFamily::mma:
    return isa<MmaAttr>(strategy);
  case ProductFamily::cpu_product:
    return isa<CPUProductAttr>(strategy);
  case ProductFamily::cpu_depthwise:
    return isa<CPUDepthwiseAttr>(strategy);
  }
  llvm_unreachable("unknown family");
}

LogicalResult verifyProduct(FusionOp fusion, Operation *anchor) {
  ProductAttr product = getProduct(anchor);
  if (!product)
    return fusion.emitError() << "after 'fused' a product has '#vx.product', got '" << anchor->getName() << "' of "
                              << describeSource(anchor->getLoc()) << " without it";
  if (!isOfFamily(fusion.getStrategy(), product.getFamily()))
    return fusion.emitError() << "after 'fused' the strategy of a product is of the family that was chosen for it, '"
                              << stringifyProductFamily(product.getFamily()) << "', got " << fusion.getStrategy()
                              << " for '" << anchor->getName() << "' of " << describeSource(anchor->getLoc());
  return success();
}

struct VerifyFusedPass : impl::VerifyFusedPassBase<VerifyFusedPass> {
  void runOnOperation() override {
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto fusion = dyn_cast<FusionOp>(op)) {
        Operation *anchor = fusion.getAnchor();
        if (anchor && anchor->hasTrait<vx::OpTrait::Product>() && failed(verifyProduct(fusion, anchor)))
          signalPassFailure();
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

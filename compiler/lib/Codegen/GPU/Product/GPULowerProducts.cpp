#include "../EraseTensorOps.h"
#include "Common/DeclineStrategy.h"
#include "CopyTile.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"

namespace vx {
#define GEN_PASS_DEF_GPULOWERPRODUCTSPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;

namespace vx {

namespace {

struct GPULowerProducts : impl::GPULowerProductsPassBase<GPULowerProducts> {
  GPULowerProducts() = default;
  explicit GPULowerProducts(const TargetSpec &spec) : spec(spec) {}

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<StrategyAttrInterface>(vxk::kStrategyAttr);
    if (!isa_and_nonnull<TiledProductAttr, MmaAttr>(strategy))
      return;
    StringRef reason;
    std::optional<ProductShape> shape = ProductShape::match(function, strategy.getWorkgroupTile(), reason);
    if (!shape)
      return declineStrategy(function.getLoc(), strategy, reason);
    FailureOr<ProductTile> tile = ProductTile::cut(function, *shape, strategy, spec);
    if (failed(tile) || failed(emit(*shape, *tile, strategy)))
      return signalPassFailure();
    for (bufferization::MaterializeInDestinationOp result : shape->results)
      result.erase();
    eraseTensorOps(function);
  }

  LogicalResult emit(const ProductShape &shape, const ProductTile &tile, StrategyAttrInterface strategy) {
    WorkgroupProduct emitter(getOperation(), shape, tile, spec);
    Value number = emitter.enterProduct();
    CopyTile copies[] = {CopyTile(emitter, 0), CopyTile(emitter, 1)};
    emitter.enterTile(number, strategy);
    return tile.fragments ? emitFragmentLoop(emitter, copies) : emitScalarLoop(emitter, copies);
  }

  TargetSpec spec; // without one: no fragments
};

} // namespace

std::unique_ptr<Pass> createGPULowerProductsPass(const TargetSpec &spec) {
  return std::make_unique<GPULowerProducts>(spec);
}

} // namespace vx

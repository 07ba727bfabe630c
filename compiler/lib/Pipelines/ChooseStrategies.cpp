#include "vx/Pipelines/Pipelines.h"

using namespace mlir;

namespace vx {

namespace {

struct ChooseStrategiesPass : PassWrapper<ChooseStrategiesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseStrategiesPass)

  ChooseStrategiesPass(const TargetBackend &target, TargetSpec facts) : backend(&target), spec(std::move(facts)) {}

  void runOnOperation() override {
    getOperation().walk([&](FusionOp fusion) {
      fusion.setStrategyAttr(backend->chooseStrategy(fusion, spec));
      Operation *anchor = fusion.getAnchor();
      if (ProductAttr product = anchor ? getProduct(anchor) : ProductAttr();
          product && product.getReason() != LoopsReason::none)
        fusion->setAttr(kLoopsReasonAttr, StringAttr::get(&getContext(), describe(product.getReason())));
    });
  }

  const TargetBackend *backend;
  TargetSpec spec;
};

} // namespace

std::unique_ptr<Pass> createChooseStrategiesPass(const TargetBackend &backend, const TargetSpec &spec) {
  return std::make_unique<ChooseStrategiesPass>(backend, spec);
}

} // namespace vx

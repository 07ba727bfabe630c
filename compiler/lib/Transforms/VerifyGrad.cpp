// vx-verify-grad: what holds after the `grad` phase.
#include "GraphChecks.h"
#include "vx/Transforms/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYGRADPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

struct VerifyGradPass : impl::VerifyGradPassBase<VerifyGradPass> {
  void runOnOperation() override {
    if (failed(checkGraph(getOperation(), "grad")))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace vx

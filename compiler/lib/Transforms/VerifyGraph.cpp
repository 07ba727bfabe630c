// vx-verify-graph: what holds after the `graph` phase.
#include "GraphChecks.h"
#include "vx/Transforms/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

struct VerifyGraphPass : impl::VerifyGraphPassBase<VerifyGraphPass> {
  void runOnOperation() override {
    if (failed(checkGraph(getOperation(), "graph")))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace vx

// vx-expand-math: math functions become arithmetic.
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "vx/Codegen/Common/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_EXPANDMATHPASS
#include "vx/Codegen/Common/Passes.h.inc"

namespace {
class ExpandMathPass : public impl::ExpandMathPassBase<ExpandMathPass> {
public:
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateExpandMathPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void populateExpandMathPatterns(RewritePatternSet &patterns) {}

} // namespace vx

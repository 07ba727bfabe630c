// vx-set-input-ranges: what a caller is told of the values of an input.
#include "vx/Analysis/InputRanges.h"
#include "vx/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SETINPUTRANGESPASS
#include "vx/Pipelines/Passes.h.inc"

namespace {

struct SetInputRangesPass : impl::SetInputRangesPassBase<SetInputRangesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      setInputRanges(function);
  }
};

} // namespace
} // namespace vx

// vx-find-independent-rows: what a caller is told of joining calls.
#include "vx/Analysis/RowIndependence.h"
#include "vx/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_FINDINDEPENDENTROWSPASS
#include "vx/Pipelines/Passes.h.inc"

namespace {

struct FindIndependentRowsPass : impl::FindIndependentRowsPassBase<FindIndependentRowsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (DictionaryAttr batch = findIndependentRows(function))
        function->setAttr(kBatchAttr, batch);
  }
};

} // namespace
} // namespace vx

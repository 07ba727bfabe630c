// The greatest elements of wide windows are found dimension by dimension.

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPLITWINDOWSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// The dimensions along which windows have more than one element, if it pays to go through them one by one.
SmallVector<size_t> findDimsToSplit(ReduceWindowOp op) {
  // A window of fewer elements is read in less time than the results of its lines are stored and read.
  constexpr int64_t leastElements = 16;
  if (op.getKind() != ReduceKind::max && op.getKind() != ReduceKind::min)
    return {};
  SmallVector<size_t> dims;
  int64_t elements = 1;
  for (auto [d, size] : llvm::enumerate(op.getWindow())) {
    elements *= size;
    if (size > 1)
      dims.push_back(d);
  }
  return dims.size() > 1 && elements >= leastElements ? dims : SmallVector<size_t>();
}

void split(ReduceWindowOp op, ArrayRef<size_t> dims) {
  OpBuilder builder(op);
  const size_t rank = op.getWindow().size();
  Value value = op.getInput();
  for (size_t d : dims) {
    SmallVector<int64_t> window(rank, 1), strides = window, dilations = window, low(rank, 0), high = low;
    // A dimension whose windows have one element goes with the first.
    for (size_t k = 0; k < rank; ++k)
      if (k == d || (d == dims.front() && !llvm::is_contained(dims, k))) {
        window[k] = op.getWindow()[k];
        strides[k] = op.getStrides()[k];
        dilations[k] = op.getDilations()[k];
        low[k] = op.getPadsLow()[k];
        high[k] = op.getPadsHigh()[k];
      }
    value = ReduceWindowOp::create(builder, op.getLoc(), op.getKind(), value, window, strides, dilations, low, high);
  }
  op.replaceAllUsesWith(value);
  op.erase();
}

struct SplitWindowsPass : impl::SplitWindowsPassBase<SplitWindowsPass> {
  using SplitWindowsPassBase::SplitWindowsPassBase;

  void runOnOperation() override {
    getOperation().walk([](ReduceWindowOp op) {
      if (SmallVector<size_t> dims = findDimsToSplit(op); !dims.empty())
        split(op, dims);
    });
  }
};

} // namespace
} // namespace vx

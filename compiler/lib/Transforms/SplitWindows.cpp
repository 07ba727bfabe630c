// Wide windows are reduced dimension by dimension.

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPLITWINDOWSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// Whether an order of its own for the parts of the reduction gives the same result, but for the order of sums.
bool isSplittable(ReduceWindowOp op) {
  switch (op.getKind()) {
  case ReduceKind::max:
  case ReduceKind::min:
    return true;
  case ReduceKind::sum:
    // Parts of a sum of fewer bits would be rounded.
    return !isa<FloatType>(typeOf(op.getResult()).getElementType()) ||
           typeOf(op.getResult()).getElementType().getIntOrFloatBitWidth() >= 32;
  default:
    return false;
  }
}

/// The dimensions along which windows have more than one element, if it pays to go through them one by one.
SmallVector<size_t> findDimsToSplit(ReduceWindowOp op, bool masks) {
  if (!isSplittable(op))
    return {};
  // A window of fewer elements is read in less time than the results of its lines are stored and read. Each of the
  // elements that needs a mask takes the time of some.
  const bool hasMasks =
      masks && op.getWindow().back() > 1 && (op.getPadsLow().back() != 0 || op.getPadsHigh().back() != 0);
  const int64_t leastElements = hasMasks ? 9 : 16;
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
    getOperation().walk([this](ReduceWindowOp op) {
      if (SmallVector<size_t> dims = findDimsToSplit(op, masks); !dims.empty())
        split(op, dims);
    });
  }
};

} // namespace
} // namespace vx

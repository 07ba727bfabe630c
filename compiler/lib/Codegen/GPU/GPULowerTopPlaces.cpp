#include "Common/WorkgroupTile.h"
#include "WorkgroupSelection.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_DEF_GPULOWERTOPPLACESPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;

namespace vx {
namespace {

LogicalResult emitTopPlaces(vxk::TopPlacesOp op, SortAttr strategy) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  RankedTensorType codes = op.getCodes().getType();
  int64_t count = cast<MemRefType>(op.getPlaces().getType()).getDimSize(1), threads = strategy.getThreads();
  if (count == 0) {
    op.erase();
    return success();
  }
  int64_t known = codes.isDynamicDim(1) ? 0 : codes.getDimSize(1);
  bool isWhole = known > 0 && known <= TopPlacesOp::mostCount;
  int64_t capacity = isWhole ? getSortCapacity(known) : std::max(getSortCapacity(2 * count), 2 * threads);
  Value number = enterWorkgroup(builder, loc);
  SortEntries entries(builder, loc, codes.getElementType());
  ElementEvaluator evaluator(builder, /*lanes=*/1);
  WorkgroupSelection selection(builder, loc, entries, evaluator, op.getCodes(), capacity, threads);
  SmallVector<Value> sizes = {evaluator.sizeOf(op.getPlaces(), 0)};
  Value row = getWorkgroupTile(builder, loc, number, sizes, strategy.getTile().take_front(1)).lower[0];
  if (failed(isWhole ? selection.sortAll(row) : selection.sortBest(row, count)))
    return failure();
  Value none = arith::ConstantIndexOp::create(builder, loc, 0);
  selection.forShare(none, arith::ConstantIndexOp::create(builder, loc, count), [&](Value place) {
    Value found = entries.getPlace(entries.load(selection.getMemory(), place));
    memref::StoreOp::create(builder, loc, found, op.getPlaces(), ValueRange{row, place});
  });
  op.erase();
  return success();
}

struct GPULowerTopPlaces : impl::GPULowerTopPlacesPassBase<GPULowerTopPlaces> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<SortAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    SmallVector<vxk::TopPlacesOp> found(function.getOps<vxk::TopPlacesOp>());
    for (vxk::TopPlacesOp op : found)
      if (failed(emitTopPlaces(op, strategy)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

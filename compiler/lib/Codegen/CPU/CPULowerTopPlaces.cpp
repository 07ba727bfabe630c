#include "Common/WorkgroupTile.h"
#include "StackSelection.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/CPU/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_CPULOWERTOPPLACESPASS
#include "vx/Codegen/CPU/Passes.h.inc"

namespace {

class TopPlacesEmitter {
public:
  TopPlacesEmitter(vxk::TopPlacesOp op, CPUSortAttr strategy, int64_t vectorBits)
      : op(op), strategy(strategy), vectorBits(vectorBits), builder(op), loc(op.getLoc()) {}

  LogicalResult run() {
    RankedTensorType codes = op.getCodes().getType();
    int64_t count = cast<MemRefType>(op.getPlaces().getType()).getDimSize(1),
            lanes = std::max<int64_t>(vectorBits / 32, 2);
    if (count == 0) {
      op.erase();
      return success();
    }
    // A row that fits is sorted at once, unless its first elements tell that few of the others count; of a longer one
    // the best are kept, and others until there is no room.
    int64_t length = codes.isDynamicDim(1) ? 0 : codes.getDimSize(1),
            capacity = StackSelection::getCapacity(count, lanes);
    bool isWhole = length > 0 && length <= TopPlacesOp::mostCount && getSortCapacity(length) <= capacity &&
                   !StackSelection::sortsEarly(count, length, lanes);
    SortEntries entries(builder, loc, codes.getElementType());
    StackSorter sorter(builder, loc, entries, isWhole ? getSortCapacity(length) : capacity, vectorBits);
    Value number = enterWorkgroup(builder, loc);
    ElementEvaluator evaluator(builder, lanes);
    StackSelection selection(builder, loc, entries, sorter, evaluator, op.getCodes());
    SmallVector<Value> sizes = {evaluator.sizeOf(op.getPlaces(), 0)};
    WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getTile().take_front(1));
    scf::ForOp rows = evaluator.enterLoop(loc, tile.lower[0], tile.upper[0], index(1));
    Value row = rows.getInductionVar();
    if (failed(isWhole ? selection.sortAll(row, length) : selection.sortBest(row, count)))
      return failure();
    auto store = scf::ForOp::create(builder, loc, index(0), index(count), index(1));
    builder.setInsertionPoint(store.getBody()->getTerminator());
    Value place = entries.getPlace(entries.load(sorter.getMemory(), store.getInductionVar()));
    memref::StoreOp::create(builder, loc, place, op.getPlaces(), ValueRange{row, store.getInductionVar()});
    builder.setInsertionPointAfter(store);
    evaluator.leaveLoop();
    op.erase();
    return success();
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  vxk::TopPlacesOp op;
  CPUSortAttr strategy;
  int64_t vectorBits;
  OpBuilder builder;
  Location loc;
};

struct CPULowerTopPlaces : impl::CPULowerTopPlacesPassBase<CPULowerTopPlaces> {
  using CPULowerTopPlacesPassBase::CPULowerTopPlacesPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<CPUSortAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    SmallVector<vxk::TopPlacesOp> found(function.getOps<vxk::TopPlacesOp>());
    for (vxk::TopPlacesOp op : found)
      if (failed(TopPlacesEmitter(op, strategy, vectorBits).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

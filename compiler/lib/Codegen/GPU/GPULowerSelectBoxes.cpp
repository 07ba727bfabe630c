#include "Common/OverlapTest.h"
#include "Common/WorkgroupTile.h"
#include "WorkgroupSelection.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_DEF_GPULOWERSELECTBOXESPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;

namespace vx {
namespace {

/// A workgroup has a class. All threads go through the same candidates, in sorted batches; each compares one with its
/// share of the boxes that are selected: those that it has written itself.
class SelectBoxesEmitter {
public:
  SelectBoxesEmitter(vxk::SelectBoxesOp op, SortAttr strategy)
      : op(op), strategy(strategy), builder(op), loc(op.getLoc()), entries(builder, loc, builder.getI32Type()) {}

  LogicalResult run() {
    Value number = enterWorkgroup(builder, loc);
    ElementEvaluator evaluator(builder, /*lanes=*/1);
    WorkgroupSelection selection(builder, loc, entries, evaluator, op.getCodes(), capacity, strategy.getThreads());
    flags = selection.allocate(flagCount, builder.getI32Type());
    thread = selection.getThread();
    SmallVector<Value> sizes = {evaluator.sizeOf(op.getSelected(), 0), evaluator.sizeOf(op.getSelected(), 1)};
    Value count = evaluator.sizeOf(op.getSelected(), 2), length = evaluator.sizeOf(op.getCodes(), 2);
    row = getWorkgroupTile(builder, loc, number, sizes, strategy.getTile().take_front(2)).lower;
    // What goes from batch to batch: the last candidate, and how many boxes are selected. The same for all threads.
    Value least = arith::ConstantIntOp::create(builder, loc, std::numeric_limits<int64_t>::min(), 64);
    scf::ForOp batches = evaluator.enterLoop(loc, index(0), length, index(batch), {least, index(0)});
    SortEntry after = {{batches.getRegionIterArg(0)}};
    Value known = batches.getRegionIterArg(1);
    Value isOpen = arith::AndIOp::create(builder, loc, compare(arith::CmpIPredicate::ult, known, count),
                                         entries.isBelowLast(after));
    // Once, or not at all: most batches have nothing left to do.
    Value times = arith::SelectOp::create(builder, loc, isOpen, index(1), index(0));
    scf::ForOp once = evaluator.enterLoop(loc, index(0), times, index(1), {after.parts[0], known});
    if (failed(selection.sortBest(row, batch, &after)))
      return failure();
    Value selected = selectFrom(selection.getMemory(), known, count);
    Value last = entries.load(selection.getMemory(), index(batch - 1)).parts[0];
    vxk::BarrierOp::create(builder, loc); // before the memory is written again
    evaluator.leaveLoop({last, selected});
    evaluator.leaveLoop(once.getResults());
    selection.forShare(batches.getResult(1), count, [&](Value place) {
      Value none = arith::ConstantIntOp::create(builder, loc, -1, 64);
      memref::StoreOp::create(builder, loc, none, op.getSelected(), at(place));
    });
    op.erase();
    return success();
  }

private:
  static constexpr int64_t batch = 128, capacity = 512, flagCount = 3;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  SmallVector<Value> at(Value place) { return {row[0], row[1], place}; }
  void storeIf(Value condition, Value value, Value memory, ValueRange place) {
    auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    memref::StoreOp::create(builder, loc, value, memory, place);
  }

  /// Selects from the batch in `memory`, behind the `known` boxes, and gives how many there are then. Of the flags a
  /// candidate has one, and clears that of the next: nobody has read it since the barrier before the last one.
  Value selectFrom(ValueRange memory, Value known, Value count) {
    Value yes = arith::ConstantIntOp::create(builder, loc, 1, 32),
          no = arith::ConstantIntOp::create(builder, loc, 0, 32);
    Value isFirst = compare(arith::CmpIPredicate::eq, thread, index(0));
    storeIf(isFirst, no, flags, index(0));
    vxk::BarrierOp::create(builder, loc);
    auto loop = scf::ForOp::create(builder, loc, index(0), index(batch), index(1), known);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value candidate = loop.getInductionVar(), selected = loop.getRegionIterArg(0);
    SortEntry entry = entries.load(memory, candidate);
    Value counts = arith::AndIOp::create(builder, loc, compare(arith::CmpIPredicate::ult, selected, count),
                                         entries.isBelowLast(entry));
    auto branch = scf::IfOp::create(builder, loc, TypeRange(builder.getIndexType()), counts, /*withElseRegion=*/true);
    scf::YieldOp::create(builder, loc, branch.getResult(0));
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, selected);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value box = entries.getPlace(entry);
    OverlapTest test(builder, loc, op.getBoxes(), row[0]);
    OverlapTest::Box own = test.load(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), box));
    Value threads = index(strategy.getThreads());
    Value flag = arith::RemUIOp::create(builder, loc, candidate, index(flagCount));
    Value nextFlag = arith::RemUIOp::create(builder, loc, arith::AddIOp::create(builder, loc, candidate, index(1)),
                                            index(flagCount));
    storeIf(isFirst, no, flags, nextFlag);
    auto share = scf::ForOp::create(builder, loc, thread, selected, threads);
    {
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPoint(share.getBody()->getTerminator());
      Value other = memref::LoadOp::create(builder, loc, op.getSelected(), at(share.getInductionVar()));
      other = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), other);
      storeIf(test.emit(own, test.load(other), op.getOverlap()), yes, flags, flag);
    }
    vxk::BarrierOp::create(builder, loc);
    Value overlaps = compare(arith::CmpIPredicate::ne, memref::LoadOp::create(builder, loc, flags, flag), no);
    Value owner = arith::RemUIOp::create(builder, loc, selected, threads);
    storeIf(compare(arith::CmpIPredicate::eq, owner, thread), box, op.getSelected(), at(selected));
    Value added = arith::SelectOp::create(builder, loc, overlaps, index(0), index(1));
    scf::YieldOp::create(builder, loc, ValueRange(arith::AddIOp::create(builder, loc, selected, added).getResult()));
    return loop.getResult(0);
  }

  vxk::SelectBoxesOp op;
  SortAttr strategy;
  OpBuilder builder;
  Location loc;
  SortEntries entries;
  SmallVector<Value> row;
  Value thread, flags;
};

struct GPULowerSelectBoxes : impl::GPULowerSelectBoxesPassBase<GPULowerSelectBoxes> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<SortAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    SmallVector<vxk::SelectBoxesOp> found(function.getOps<vxk::SelectBoxesOp>());
    for (vxk::SelectBoxesOp op : found)
      if (failed(SelectBoxesEmitter(op, strategy).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

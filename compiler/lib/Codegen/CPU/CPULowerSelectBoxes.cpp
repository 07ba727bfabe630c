#include "Common/OverlapTest.h"
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
#define GEN_PASS_DEF_CPULOWERSELECTBOXESPASS
#include "vx/Codegen/CPU/Passes.h.inc"

namespace {

/// Takes the candidates of a class in batches, the best ones first, until enough are selected or none is left.
class SelectBoxesEmitter {
public:
  SelectBoxesEmitter(vxk::SelectBoxesOp op, CPUSortAttr strategy, int64_t vectorBits)
      : op(op), strategy(strategy), vectorBits(vectorBits), builder(op), loc(op.getLoc()),
        entries(builder, loc, builder.getI32Type()) {}

  LogicalResult run() {
    int64_t lanes = std::max<int64_t>(vectorBits / 32, 2);
    StackSorter sorter(builder, loc, entries, StackSelection::getCapacity(batch, lanes), vectorBits);
    memory = sorter.getMemory();
    // What goes from batch to batch: the last candidate, and how many boxes are selected.
    auto cell = [&](Type type) { return memref::AllocaOp::create(builder, loc, MemRefType::get({1}, type)); };
    Value lastSeen = cell(builder.getI64Type()), selectedCount = cell(builder.getIndexType());
    Value number = enterWorkgroup(builder, loc);
    ElementEvaluator evaluator(builder, lanes);
    StackSelection selection(builder, loc, entries, sorter, evaluator, op.getCodes());
    SmallVector<Value> sizes = {evaluator.sizeOf(op.getSelected(), 0), evaluator.sizeOf(op.getSelected(), 1)};
    Value count = evaluator.sizeOf(op.getSelected(), 2), length = evaluator.sizeOf(op.getCodes(), 2);
    WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getTile().take_front(2));
    scf::ForOp images = evaluator.enterLoop(loc, tile.lower[0], tile.upper[0], index(1));
    image = images.getInductionVar();
    scf::ForOp classes = evaluator.enterLoop(loc, tile.lower[1], tile.upper[1], index(1));
    row = {image, classes.getInductionVar()};
    Value least = arith::ConstantIntOp::create(builder, loc, std::numeric_limits<int64_t>::min(), 64);
    memref::StoreOp::create(builder, loc, least, lastSeen, index(0));
    memref::StoreOp::create(builder, loc, index(0), selectedCount, index(0));
    // A batch begins where the one before it has ended; most have nothing left to do.
    scf::ForOp batches = evaluator.enterLoop(loc, index(0), length, index(batch));
    (void)batches;
    Value known = memref::LoadOp::create(builder, loc, selectedCount, index(0));
    SortEntry after = {{memref::LoadOp::create(builder, loc, lastSeen, index(0))}};
    Value isOpen = compare(arith::CmpIPredicate::ult, known, count);
    isOpen = arith::AndIOp::create(builder, loc, isOpen, entries.isBelowLast(after));
    evaluator.enterIf(loc, isOpen);
    if (failed(selection.sortBest(row, batch, &after)))
      return failure();
    memref::StoreOp::create(builder, loc, selectFrom(known, count), selectedCount, index(0));
    Value last = entries.load(memory, index(batch - 1)).parts[0];
    memref::StoreOp::create(builder, loc, last, lastSeen, index(0));
    evaluator.leaveIf();
    evaluator.leaveLoop();
    known = memref::LoadOp::create(builder, loc, selectedCount, index(0));
    auto rest = scf::ForOp::create(builder, loc, known, count, index(1));
    builder.setInsertionPoint(rest.getBody()->getTerminator());
    Value none = arith::ConstantIntOp::create(builder, loc, -1, 64);
    memref::StoreOp::create(builder, loc, none, op.getSelected(), at(rest.getInductionVar()));
    builder.setInsertionPointAfter(rest);
    evaluator.leaveLoop();
    evaluator.leaveLoop();
    op.erase();
    return success();
  }

private:
  static constexpr int64_t batch = 128;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  SmallVector<Value> at(Value place) { return {row[0], row[1], place}; }

  /// Selects from the batch in memory, behind the `known` boxes, and gives how many there are then.
  Value selectFrom(Value known, Value count) {
    Type indexType = builder.getIndexType();
    auto candidates = scf::WhileOp::create(
        builder, loc, TypeRange{indexType, indexType}, ValueRange{index(0), known},
        [&](OpBuilder &, Location, ValueRange state) {
          Value isInside = compare(arith::CmpIPredicate::ult, state[0], index(batch));
          Value hasRoom = compare(arith::CmpIPredicate::ult, state[1], count);
          Value place = arith::MinUIOp::create(builder, loc, state[0], index(batch - 1));
          Value isThere = entries.isBelowLast(entries.load(memory, place));
          Value goesOn =
              arith::AndIOp::create(builder, loc, isInside, arith::AndIOp::create(builder, loc, hasRoom, isThere));
          scf::ConditionOp::create(builder, loc, goesOn, state);
        },
        [&](OpBuilder &, Location, ValueRange state) {
          Value box = entries.getPlace(entries.load(memory, state[0]));
          Value overlaps = overlapsSelected(box, state[1]);
          // Written where the next one comes, and counted where it is selected.
          memref::StoreOp::create(builder, loc, box, op.getSelected(), at(state[1]));
          Value added = arith::SelectOp::create(builder, loc, overlaps, index(0), index(1));
          scf::YieldOp::create(builder, loc,
                               ValueRange{arith::AddIOp::create(builder, loc, state[0], index(1)),
                                          arith::AddIOp::create(builder, loc, state[1], added)});
        });
    return candidates.getResult(1);
  }

  Value overlapsSelected(Value box, Value selected) {
    OverlapTest test(builder, loc, op.getBoxes(), image);
    OverlapTest::Box own = test.load(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), box));
    Value no = arith::ConstantIntOp::create(builder, loc, 0, 1), yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
    auto others = scf::WhileOp::create(
        builder, loc, TypeRange{builder.getIndexType(), builder.getI1Type()}, ValueRange{index(0), no},
        [&](OpBuilder &, Location, ValueRange state) {
          Value isInside = compare(arith::CmpIPredicate::ult, state[0], selected);
          Value isFree = arith::XOrIOp::create(builder, loc, state[1], yes);
          scf::ConditionOp::create(builder, loc, arith::AndIOp::create(builder, loc, isInside, isFree), state);
        },
        [&](OpBuilder &, Location, ValueRange state) {
          Value other = memref::LoadOp::create(builder, loc, op.getSelected(), at(state[0]));
          other = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), other);
          Value overlaps = test.emit(own, test.load(other), op.getOverlap());
          scf::YieldOp::create(builder, loc,
                               ValueRange{arith::AddIOp::create(builder, loc, state[0], index(1)), overlaps});
        });
    return others.getResult(1);
  }

  vxk::SelectBoxesOp op;
  CPUSortAttr strategy;
  int64_t vectorBits;
  OpBuilder builder;
  Location loc;
  SortEntries entries;
  SmallVector<Value> memory, row;
  Value image;
};

struct CPULowerSelectBoxes : impl::CPULowerSelectBoxesPassBase<CPULowerSelectBoxes> {
  using CPULowerSelectBoxesPassBase::CPULowerSelectBoxesPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<CPUSortAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    SmallVector<vxk::SelectBoxesOp> found(function.getOps<vxk::SelectBoxesOp>());
    for (vxk::SelectBoxesOp op : found)
      if (failed(SelectBoxesEmitter(op, strategy, vectorBits).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

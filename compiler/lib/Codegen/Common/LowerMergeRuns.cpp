#include "ElementEvaluator.h"
#include "WorkgroupTile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_LOWERMERGERUNSPASS
#include "vx/Codegen/Common/Passes.h.inc"

namespace {

/// A thread has neighbouring places of the result. Where its part of a pair of runs begins it searches for how many of
/// those before come from the left run; from there on it takes one after the other.
class MergeEmitter {
public:
  MergeEmitter(vxk::MergeRunsOp op, StrategyAttrInterface strategy)
      : op(op), strategy(strategy), builder(op), loc(op.getLoc()) {}

  LogicalResult run() {
    Value number = enterWorkgroup(builder, loc);
    evaluator.emplace(builder, /*lanes=*/1);
    SmallVector<Value> sizes = {evaluator->sizeOf(op.getMerged(), 0), evaluator->sizeOf(op.getMerged(), 1)};
    length = sizes[1];
    last = sub(length, index(1));
    level = op.getLevel();
    WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getWorkgroupTile());
    Value begin = tile.lower[1], end = tile.upper[1];
    if (int64_t threads = strategy.getThreads(); threads > 1) {
      Value share = arith::CeilDivUIOp::create(builder, loc, sub(end, begin), index(threads));
      begin = add(begin, arith::MulIOp::create(builder, loc, vxk::ThreadIdOp::create(builder, loc), share));
      end = least(add(begin, share), end);
    }
    scf::ForOp rows = evaluator->enterLoop(loc, tile.lower[0], tile.upper[0], index(1));
    row = rows.getInductionVar();
    Value run = arith::ShLIOp::create(builder, loc, index(1), level), pair = add(run, run);
    Value firstPair = sub(begin, arith::RemUIOp::create(builder, loc, begin, pair));
    scf::ForOp pairs = evaluator->enterLoop(loc, firstPair, end, pair);
    if (failed(emitPair(pairs.getInductionVar(), run, pair, begin, end)))
      return failure();
    evaluator->leaveLoop();
    evaluator->leaveLoop();
    op.erase();
    return success();
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
  Value least(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
  Value most(Value a, Value b) { return arith::MaxSIOp::create(builder, loc, a, b); }
  Value select(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, loc, condition, a, b); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }

  /// The places [begin, end) that lie in the pair of runs at `first`.
  LogicalResult emitPair(Value first, Value run, Value pair, Value begin, Value end) {
    Value middle = least(add(first, run), length), behind = least(add(first, pair), length);
    Value from = most(begin, first), to = least(end, behind), before = sub(from, first);
    Value leftSize = sub(middle, first), rightSize = sub(behind, middle);

    // How many of those before stand in the left run: halved until it is found.
    Value low = most(index(0), sub(before, rightSize)), high = least(before, leftSize);
    scf::ForOp search = evaluator->enterLoop(loc, index(0), add(level, index(1)), index(1), {low, high});
    low = search.getRegionIterArg(0);
    high = search.getRegionIterArg(1);
    Value half = arith::ShRUIOp::create(builder, loc, add(low, high), index(1));
    Value other = sub(add(middle, before), add(half, index(1)));
    Value isRightFirst = isBefore(readPlace(other), readPlace(add(first, half)));
    if (!isRightFirst)
      return failure();
    Value isOpen = compare(arith::CmpIPredicate::slt, low, high);
    Value nextLow = select(isRightFirst, low, add(half, index(1))), nextHigh = select(isRightFirst, half, high);
    evaluator->leaveLoop({select(isOpen, nextLow, low), select(isOpen, nextHigh, high)});
    Value taken = search.getResult(0);

    Value left = add(first, taken), right = add(middle, sub(before, taken));
    scf::ForOp merge = evaluator->enterLoop(loc, from, to, index(1), {left, right});
    left = merge.getRegionIterArg(0);
    right = merge.getRegionIterArg(1);
    Value leftPlace = readPlace(left), rightPlace = readPlace(right);
    isRightFirst = isBefore(rightPlace, leftPlace);
    if (!isRightFirst)
      return failure();
    Value hasLeft = compare(arith::CmpIPredicate::slt, left, middle);
    Value hasRight = compare(arith::CmpIPredicate::slt, right, behind);
    Value isLeftEnd = arith::XOrIOp::create(builder, loc, hasLeft, arith::ConstantIntOp::create(builder, loc, 1, 1));
    Value takesRight = arith::OrIOp::create(builder, loc, isLeftEnd, isRightFirst);
    takesRight = arith::AndIOp::create(builder, loc, hasRight, takesRight);
    Value chosen = select(takesRight, rightPlace, leftPlace);
    chosen = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), chosen);
    memref::StoreOp::create(builder, loc, chosen, op.getMerged(), ValueRange{row, merge.getInductionVar()});
    Value moved = select(takesRight, index(1), index(0));
    evaluator->leaveLoop({sub(add(left, index(1)), moved), add(right, moved)});
    return success();
  }

  /// The place that stands at `at`; inside of the row, whatever the data are.
  Value readPlace(Value at) {
    at = arith::MinUIOp::create(builder, loc, at, last);
    Value place = evaluator->evaluate(op.getPlaces(), {{row, 0, {}}, {at, 0, {}}});
    if (!place)
      return {};
    place = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), place);
    return arith::MinUIOp::create(builder, loc, place, last);
  }

  /// Whether the key at place `x` comes first, and is not equal to that at `y`. Null after an error.
  Value isBefore(Value x, Value y) {
    if (!x || !y)
      return {};
    auto read = [&](Value place, Value member) {
      return evaluator->evaluate(op.getCodes(), {{row, 0, {}}, {place, 0, {}}, {member, 0, {}}});
    };
    if (op.getCodes().getType().getDimSize(2) == 1) {
      Value a = read(x, index(0)), b = read(y, index(0));
      return a && b ? compare(arith::CmpIPredicate::slt, a, b) : Value();
    }
    Value no = arith::ConstantIntOp::create(builder, loc, 0, 1);
    Value members = evaluator->sizeOf(op.getCodes(), 2);
    scf::ForOp loop = evaluator->enterLoop(loc, index(0), members, index(1), {no, no});
    Value a = read(x, loop.getInductionVar()), b = read(y, loop.getInductionVar());
    if (!a || !b)
      return {};
    Value isDecided = loop.getRegionIterArg(1);
    Value result = select(isDecided, loop.getRegionIterArg(0), compare(arith::CmpIPredicate::slt, a, b));
    isDecided = arith::OrIOp::create(builder, loc, isDecided, compare(arith::CmpIPredicate::ne, a, b));
    evaluator->leaveLoop({result, isDecided});
    return loop.getResult(0);
  }

  vxk::MergeRunsOp op;
  StrategyAttrInterface strategy;
  OpBuilder builder;
  Location loc;
  std::optional<ElementEvaluator> evaluator;
  Value row, length, last, level;
};

struct LowerMergeRunsPass : impl::LowerMergeRunsPassBase<LowerMergeRunsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<vxk::MergeRunsOp> found(function.getOps<vxk::MergeRunsOp>());
    for (vxk::MergeRunsOp op : found)
      if (failed(MergeEmitter(op, function->getAttrOfType<StrategyAttrInterface>(vxk::kStrategyAttr)).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

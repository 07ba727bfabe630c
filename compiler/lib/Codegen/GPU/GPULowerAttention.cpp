#include "../Common/MatchAttention.h"
#include "AttentionTile.h"
#include "Common/DeclineStrategy.h"
#include "EraseTensorOps.h"
#include "WorkgroupEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_DEF_GPULOWERATTENTIONPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;

namespace vx {
namespace {

/// A workgroup has some queries of one head. Its threads form a grid: `kThreadColumns` neighbours share the queries of
/// a row of threads, and have the keys, or the columns of the values, that many apart.
class AttentionEmitter : WorkgroupEmitter {
public:
  AttentionEmitter(func::FuncOp function, FlashAttr strategy, Attention attention)
      : WorkgroupEmitter(function, attention.dots.getLoc()), strategy(strategy), attention(attention),
        element(cast<RankedTensorType>(attention.dots.getResult(0).getType()).getElementType()) {}

  LogicalResult run() {
    if (failed(checkStrategy()))
      return failure();
    Value number = enter(attention.lastStore);
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < 4; ++d)
      sizes.push_back(evaluator->sizeOf(attention.resultStores.front().getDest(), d));
    auto [keyTensor, keyDimension] = shapeOfLoop(attention.dots, 3);
    keyCount = evaluator->sizeOf(keyTensor, keyDimension);
    WorkgroupTile box = getWorkgroupTile(builder, loc, number, sizes, strategy.getTile());
    batch = box.lower[attention.resultDims[0]];
    head = box.lower[attention.resultDims[1]];
    firstQuery = box.lower[attention.resultDims[2]];
    queryCount = sizes[attention.resultDims[2]];
    thread = vxk::ThreadIdOp::create(builder, loc);
    threadRow = quotient(thread, index(kThreadColumns));
    threadColumn = remainder(thread, index(kThreadColumns));
    for (int64_t r = 0; r < tile.rows(); ++r)
      rows.push_back(plus(threadRow, index(r * kThreadRows)));
    if (failed(emit()))
      return failure();
    attention.eraseStores();
    return success();
  }

private:
  static constexpr int64_t kThreadColumns = AttentionTile::kThreadColumns, kThreadRows = AttentionTile::kThreadRows;

  LogicalResult checkStrategy() {
    unsigned length = attention.resultDims[2];
    ArrayRef<int64_t> workgroup = strategy.getTile();
    bool isTiled = workgroup.size() == 4 && workgroup[attention.resultDims[0]] == 1 &&
                   workgroup[attention.resultDims[1]] == 1 && workgroup[attention.resultDims[3]] == 0;
    if (isTiled) {
      tile = {workgroup[length], strategy.getKeys(), attention.depth, attention.valueDepth,
              element.getIntOrFloatBitWidth() / 8};
      isTiled = tile.queries > 0 && tile.queries % kThreadRows == 0 && tile.keys % kThreadColumns == 0 &&
                strategy.getThreads() == kThreadRows * kThreadColumns;
    }
    if (!isTiled)
      return function.emitError() << "of " << describeSource(loc) << " expects a strategy that fits attention: one "
                                  << "batch and head, a multiple of " << kThreadRows << " queries, of "
                                  << kThreadColumns << " keys, and " << kThreadRows * kThreadColumns << " threads, got "
                                  << strategy;
    return success();
  }

  Value number(double value) { return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(element, value)); }
  Value none() { return number(-std::numeric_limits<double>::infinity()); }
  Value isNone(Value maximum) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, maximum, none());
  }
  Value greater(Value a, Value b) {
    // A NaN is no maximum; the sum will tell it.
    return select(arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b), a, b);
  }
  Value multiplyAdd(Value a, Value b, Value sum) {
    auto contract = arith::FastMathFlags::contract;
    return arith::AddFOp::create(builder, loc, sum, arith::MulFOp::create(builder, loc, a, b, contract), contract);
  }
  Value exponential(Value value, Value shift) {
    return math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, value, shift));
  }

  /// Neighbours along a row of staged memory.
  SmallVector<Value> loadLanes(Value memory, Value at) {
    auto type = VectorType::get(tile.lanes(), element);
    Value packed = vector::LoadOp::create(builder, loc, type, memory, at);
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < tile.lanes(); ++lane)
      lanes.push_back(vector::ExtractOp::create(builder, loc, packed, ArrayRef<int64_t>{lane}));
    return lanes;
  }

  /// The smaller of two places, where they may differ.
  Value clamp(Value place, Value count, int64_t block) {
    std::optional<int64_t> known = getConstantIntValue(count);
    if (known && *known % block == 0)
      return place;
    return minimum(place, builder.createOrFold<arith::SubIOp>(loc, count, index(1)));
  }
  /// Whether a place of a block is below `count`; null where all are.
  Value isInside(Value place, Value count, int64_t block) {
    std::optional<int64_t> known = getConstantIntValue(count);
    if (known && *known % block == 0)
      return {};
    return compare(arith::CmpIPredicate::ult, place, count);
  }

  /// Brings `block` rows of a factor of depth `depth`, from row `first` of `count`, into workgroup memory: the threads
  /// take the groups of neighbours by turns. Behind the depth there are zeros; behind the last row too, or that row
  /// once more.
  LogicalResult stage(linalg::GenericOp op, Value factor, unsigned rowLoop, unsigned depthLoop, Value first,
                      Value count, int64_t block, int64_t depth, Value memory, bool wantsZeros) {
    int64_t lanes = tile.lanes(), groups = tile.pitch(depth) / lanes - 1, all = block * groups;
    int64_t threads = kThreadRows * kThreadColumns;
    Value zero = number(0);
    scf::ForOp loop = evaluator->enterLoop(loc, index(0), index(llvm::divideCeil(all, threads)), index(1));
    Value unit = plus(thread, times(loop.getInductionVar(), threads));
    if (all % threads != 0)
      evaluator->enterIf(loc, compare(arith::CmpIPredicate::ult, unit, index(all)));
    Value row = quotient(unit, index(groups));
    Value column = times(remainder(unit, index(groups)), lanes);
    Value place = plus(first, row), inside = wantsZeros ? isInside(place, count, block) : Value();
    SmallVector<LaneIndex> ivs(5);
    ivs[0] = {batch, 0, {}};
    ivs[1] = {head, 0, {}};
    ivs[rowLoop] = {clamp(place, count, block), 0, {}};
    SmallVector<Value> values;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Value at = plus(column, index(lane)), isDeep = isInside(at, index(depth), lanes);
      ivs[depthLoop] = {clamp(at, index(depth), lanes), 0, {}};
      Value value = evaluator->evaluateInBody(op, factor, ivs);
      if (!value)
        return failure();
      if (isDeep)
        value = select(isDeep, value, zero);
      if (inside)
        value = select(inside, value, zero);
      values.push_back(value);
    }
    Value packed = vector::FromElementsOp::create(builder, loc, VectorType::get(lanes, element), values);
    vector::StoreOp::create(builder, loc, packed, memory, plus(times(row, tile.pitch(depth)), column));
    if (all % threads != 0)
      evaluator->leaveIf();
    evaluator->leaveLoop();
    return success();
  }

  LogicalResult emit() {
    int64_t rowCount = tile.rows(), groups = tile.valueGroups(), lanes = tile.lanes();
    queries = workgroupMemory(element, tile.queries * tile.pitch(tile.depth));
    keys = workgroupMemory(element, tile.keys * tile.pitch(tile.depth));
    values = workgroupMemory(element, tile.keys * tile.pitch(tile.valueDepth));
    weights = workgroupMemory(element, tile.queries * tile.weightPitch());
    shares = workgroupMemory(element, tile.queries * kThreadColumns);
    if (failed(stage(attention.dots, attention.queryFactor, 2, 4, firstQuery, queryCount, tile.queries, tile.depth,
                     queries, /*wantsZeros=*/false)))
      return failure();

    // Of each row: the maximum, this thread's share of the sum, and its columns of the result.
    SmallVector<Value> carried;
    carried.append(rowCount, none());
    carried.append(rowCount * (1 + groups * lanes), number(0));
    scf::ForOp loop = evaluator->enterLoop(loc, index(0), keyCount, index(tile.keys), carried);
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    if (failed(emitKeys(loop.getInductionVar(), carried)))
      return failure();
    evaluator->leaveLoop(carried);
    carried.assign(loop.result_begin(), loop.result_end());
    return finish(carried);
  }

  LogicalResult emitKeys(Value firstKey, MutableArrayRef<Value> carried) {
    int64_t rowCount = tile.rows(), columnCount = tile.columns();
    MutableArrayRef<Value> maximum = carried.take_front(rowCount), sum = carried.slice(rowCount, rowCount),
                           result = carried.drop_front(2 * rowCount);
    if (failed(stage(attention.dots, attention.keyFactor, 3, 4, firstKey, keyCount, tile.keys, tile.depth, keys,
                     /*wantsZeros=*/false)))
      return failure();
    vxk::BarrierOp::create(builder, loc);
    SmallVector<Value> scores = multiplyKeys();
    if (failed(finishScores(firstKey, scores)))
      return failure();

    // The threads of a row exchange their maxima. The same barrier ends the reads of the values before.
    for (int64_t r = 0; r < rowCount; ++r) {
      Value own = scores[r * columnCount];
      for (int64_t c = 1; c < columnCount; ++c)
        own = greater(scores[r * columnCount + c], own);
      memref::StoreOp::create(builder, loc, own, shares, plus(times(rows[r], kThreadColumns), threadColumn));
    }
    vxk::BarrierOp::create(builder, loc);
    SmallVector<Value> factors;
    for (int64_t r = 0; r < rowCount; ++r) {
      Value next = maximum[r];
      for (int64_t c = 0; c < kThreadColumns; ++c)
        next =
            greater(memref::LoadOp::create(builder, loc, shares, plus(times(rows[r], kThreadColumns), index(c))), next);
      // While nothing takes part, the maximum is -inf, and its difference to itself would be NaN.
      Value shift = select(isNone(next), number(0), next);
      factors.push_back(exponential(maximum[r], shift));
      maximum[r] = next;
      sum[r] = arith::MulFOp::create(builder, loc, sum[r], factors[r]);
      for (int64_t c = 0; c < columnCount; ++c) {
        Value weight = exponential(scores[r * columnCount + c], shift);
        sum[r] = arith::AddFOp::create(builder, loc, sum[r], weight);
        Value column = plus(threadColumn, index(c * kThreadColumns));
        memref::StoreOp::create(builder, loc, weight, weights, plus(times(rows[r], tile.weightPitch()), column));
      }
    }
    if (failed(stage(attention.values, attention.valueFactor, 4, 3, firstKey, keyCount, tile.keys, tile.valueDepth,
                     values, /*wantsZeros=*/true)))
      return failure();
    vxk::BarrierOp::create(builder, loc);
    int64_t ofRow = static_cast<int64_t>(result.size()) / rowCount;
    for (auto [k, value] : llvm::enumerate(result))
      value = arith::MulFOp::create(builder, loc, value, factors[k / ofRow]);
    multiplyValues(result);
    return success();
  }

  /// Queries by keys: this thread's rows and columns.
  SmallVector<Value> multiplyKeys() {
    int64_t columnCount = tile.columns(), pitch = tile.pitch(tile.depth);
    SmallVector<Value> sums(tile.rows() * columnCount, number(0));
    scf::ForOp loop =
        evaluator->enterLoop(loc, index(0), index(llvm::alignTo(tile.depth, tile.lanes())), index(tile.lanes()), sums);
    sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    SmallVector<SmallVector<Value>> query, key;
    for (Value row : rows)
      query.push_back(loadLanes(queries, plus(times(row, pitch), loop.getInductionVar())));
    for (int64_t c = 0; c < columnCount; ++c) {
      Value column = plus(threadColumn, index(c * kThreadColumns));
      key.push_back(loadLanes(keys, plus(times(column, pitch), loop.getInductionVar())));
    }
    for (int64_t lane = 0; lane < tile.lanes(); ++lane)
      for (auto [k, sum] : llvm::enumerate(sums))
        sum = multiplyAdd(query[k / columnCount][lane], key[k % columnCount][lane], sum);
    evaluator->leaveLoop(sums);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  LogicalResult finishScores(Value firstKey, MutableArrayRef<Value> scores) {
    for (auto [k, score] : llvm::enumerate(scores)) {
      Value query = clamp(plus(firstQuery, rows[k / tile.columns()]), queryCount, tile.queries);
      Value column = plus(threadColumn, index(k % tile.columns() * kThreadColumns));
      Value key = plus(firstKey, column), inside = isInside(key, keyCount, tile.keys), product = score;
      LaneIndex place[] = {{batch, 0, {}}, {head, 0, {}}, {query, 0, {}}, {clamp(key, keyCount, tile.keys), 0, {}}};
      evaluator->setSource(attention.dots.getResult(0), [&](ArrayRef<LaneIndex>) { return product; });
      score = evaluator->evaluate(attention.scores.getResult(0), place);
      evaluator->setSource(attention.dots.getResult(0), nullptr);
      if (!score)
        return failure();
      if (inside)
        score = select(inside, score, none());
    }
    return success();
  }

  /// The first column of a thread's group `group` of columns of the values. A group too many is the last one again.
  Value valueColumn(int64_t group) {
    int64_t groups = tile.pitch(tile.valueDepth) / tile.lanes() - 1;
    Value number = plus(threadColumn, index(group * kThreadColumns));
    if (groups % kThreadColumns != 0)
      number = minimum(number, index(groups - 1));
    return times(number, tile.lanes());
  }

  /// Weights by values join this thread's part of the result.
  void multiplyValues(MutableArrayRef<Value> result) {
    int64_t lanes = tile.lanes(), groups = tile.valueGroups();
    scf::ForOp loop = evaluator->enterLoop(loc, index(0), index(tile.keys), index(lanes), result);
    SmallVector<Value> sums(loop.getRegionIterArgs());
    SmallVector<SmallVector<Value>> weight;
    for (Value row : rows)
      weight.push_back(loadLanes(weights, plus(times(row, tile.weightPitch()), loop.getInductionVar())));
    for (int64_t k = 0; k < lanes; ++k)
      for (int64_t group = 0; group < groups; ++group) {
        Value key = plus(loop.getInductionVar(), index(k));
        SmallVector<Value> value = loadLanes(values, plus(times(key, tile.pitch(tile.valueDepth)), valueColumn(group)));
        for (int64_t r = 0; r < tile.rows(); ++r)
          for (int64_t lane = 0; lane < lanes; ++lane) {
            Value &sum = sums[(r * groups + group) * lanes + lane];
            sum = multiplyAdd(weight[r][k], value[lane], sum);
          }
      }
    evaluator->leaveLoop(sums);
    llvm::copy(loop.getResults(), result.begin());
  }

  LogicalResult finish(ArrayRef<Value> carried) {
    int64_t rowCount = tile.rows(), lanes = tile.lanes(), groups = tile.valueGroups();
    // The last reads of the maxima are over: all have met at the barrier behind them.
    for (int64_t r = 0; r < rowCount; ++r)
      memref::StoreOp::create(builder, loc, carried[rowCount + r], shares,
                              plus(times(rows[r], kThreadColumns), threadColumn));
    vxk::BarrierOp::create(builder, loc);
    Value hasKeys = compare(arith::CmpIPredicate::ne, keyCount, index(0));
    for (int64_t r = 0; r < rowCount; ++r) {
      Value maximum = carried[r], sum = number(0);
      for (int64_t c = 0; c < kThreadColumns; ++c)
        sum = arith::AddFOp::create(
            builder, loc, sum,
            memref::LoadOp::create(builder, loc, shares, plus(times(rows[r], kThreadColumns), index(c))));
      // A row of which no key takes part has no weights, unless there are no keys at all.
      Value isInvalid = arith::AndIOp::create(builder, loc, isNone(maximum), hasKeys);
      sum = select(isInvalid, number(std::numeric_limits<double>::quiet_NaN()), sum);
      Value query = plus(firstQuery, rows[r]), inside = isInside(query, queryCount, tile.queries);
      if (inside)
        evaluator->enterIf(loc, inside);
      evaluator->setSource(attention.max.getResult(0), [&](ArrayRef<LaneIndex>) { return maximum; });
      evaluator->setSource(attention.sum.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
      if (failed(storeLogSumExp(query)))
        return failure();
      for (int64_t group = 0; group < groups; ++group)
        if (failed(storeGroup(query, group, carried.slice(2 * rowCount + (r * groups + group) * lanes, lanes))))
          return failure();
      evaluator->setSource(attention.max.getResult(0), nullptr);
      evaluator->setSource(attention.sum.getResult(0), nullptr);
      if (inside)
        evaluator->leaveIf();
    }
    return success();
  }

  LogicalResult storeLogSumExp(Value query) {
    if (!attention.logSumExpStore)
      return success();
    evaluator->enterIf(loc, compare(arith::CmpIPredicate::eq, threadColumn, index(0)));
    LaneIndex place[] = {{batch, 0, {}}, {head, 0, {}}, {query, 0, {}}};
    Value value = evaluator->evaluate(attention.logSumExpStore.getSource(), place);
    if (!value)
      return failure();
    memref::StoreOp::create(builder, loc, value, attention.logSumExpStore.getDest(), ValueRange{batch, head, query});
    evaluator->leaveIf();
    return success();
  }

  /// The results in neighbouring columns: all computed before the first one is stored.
  LogicalResult storeGroup(Value query, int64_t group, ArrayRef<Value> totals) {
    int64_t lanes = tile.lanes(), depth = tile.valueDepth;
    // Where the columns are no whole groups for all threads, each is asked for.
    bool isWhole = depth % (lanes * kThreadColumns) == 0;
    int64_t together = depth % lanes == 0 ? lanes : 1;
    Value first = times(plus(threadColumn, index(group * kThreadColumns)), lanes);
    for (int64_t lane = 0; lane < lanes; lane += together) {
      if (!isWhole)
        evaluator->enterIf(loc, compare(arith::CmpIPredicate::ult, plus(first, index(lane)), index(depth)));
      SmallVector<SmallVector<Value>> places, computed(attention.resultStores.size());
      for (int64_t k = lane; k < lane + together; ++k) {
        Value total = totals[k];
        SmallVector<Value> roles = {batch, head, query, plus(first, index(k))}, &place = places.emplace_back(4);
        for (auto [dim, at] : llvm::zip(attention.resultDims, roles))
          place[dim] = at;
        SmallVector<LaneIndex> indices;
        for (Value at : place)
          indices.push_back({at, 0, {}});
        evaluator->setSource(attention.values.getResult(0), [&](ArrayRef<LaneIndex>) { return total; });
        for (auto [store, list] : llvm::zip(attention.resultStores, computed)) {
          list.push_back(evaluator->evaluate(store.getSource(), indices));
          if (!list.back())
            return failure();
        }
        evaluator->setSource(attention.values.getResult(0), nullptr);
      }
      for (auto [store, list] : llvm::zip(attention.resultStores, computed))
        for (auto [value, place] : llvm::zip(list, places))
          memref::StoreOp::create(builder, loc, value, store.getDest(), place);
      if (!isWhole)
        evaluator->leaveIf();
    }
    return success();
  }

  FlashAttr strategy;
  Attention attention;
  Type element;
  AttentionTile tile;
  Value batch, head, firstQuery, queryCount, keyCount, thread, threadRow, threadColumn;
  SmallVector<Value> rows; // of the tile: those of this thread
  /// Queries and keys [row, depth], values [key, value depth], weights [query, key], and a number of each thread
  /// [query, thread of the row].
  Value queries, keys, values, weights, shares;
};

struct GPULowerAttention : impl::GPULowerAttentionPassBase<GPULowerAttention> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<FlashAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    std::optional<Attention> attention = matchAttention(function);
    if (!attention)
      return declineStrategy(function.getLoc(), strategy,
                             "it is no attention of two products around a softmax, with depths that are known");
    if (failed(AttentionEmitter(function, strategy, *attention).run()))
      return signalPassFailure();
    eraseTensorOps(function);
  }
};

} // namespace
} // namespace vx

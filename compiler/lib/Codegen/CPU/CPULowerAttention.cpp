#include "BlockEmitter.h"
#include "Common/DeclineStrategy.h"
#include "Common/IndexFacts.h"
#include "Common/MatchAttention.h"
#include "Common/TransposeSquare.h"
#include "Common/WorkgroupTile.h"
#include "RowAttention.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/CPU/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_CPULOWERATTENTIONPASS
#include "vx/Codegen/CPU/Passes.h.inc"

namespace {

/// Sizes of the blocks, in elements.
struct AttentionBlocking {
  int64_t lanes;                // of a vector of queries
  int64_t vectors;              // of queries that are worked on at once
  int64_t queryBlock, keyBlock; // queries and keys that the stack holds
  int64_t keyRows, valueRows;   // keys, and columns of the values, whose sums registers hold
  bool isOneKeyBlock = false;
};

/// Attention with the lanes along the queries, so that a row's maximum and sum are those of a lane. What the keys give
/// is kept transposed: weights [key, query] and results [value depth, query], where both products repeat an element of
/// the keys or values in all lanes.
class AttentionEmitter : BlockEmitter {
public:
  AttentionEmitter(func::FuncOp function, CPUFlashAttr strategy, Attention attention, AttentionBlocking blocking)
      : BlockEmitter(function.getContext(), attention.dots.getLoc()), strategy(strategy), attention(attention),
        blocking(blocking), lanes(blocking.lanes), depthPitch(llvm::alignTo(attention.depth, lanes)),
        valuePitch(llvm::alignTo(attention.valueDepth, lanes)),
        element(cast<RankedTensorType>(attention.dots.getResult(0).getType()).getElementType()),
        vectorType(VectorType::get(lanes, element)) {}

  LogicalResult run();

private:
  /// The places along one loop of a product.
  struct LoopRange {
    unsigned loop;
    Range range;
    bool isWhole; // a multiple of the lanes
  };

  LogicalResult emitRows(Range rows);
  /// Stores element (i, j) of a factor's block at first + i * pitch + j of `buffer`. Up to a whole vector behind a row,
  /// and up to as many rows, there may be anything finite afterwards.
  LogicalResult pack(linalg::GenericOp op, Value factor, OpOperand &operand, LoopRange rows, LoopRange columns,
                     Value buffer, Value first, int64_t pitch);
  LogicalResult emitKeyBlock(Range rows, Range keys, Value vectorCount);
  LogicalResult emitGroup(Range rows, Range keys, Value vector, int64_t count);
  LogicalResult finish(Range rows, Value vector);
  LogicalResult storeResult(Range rows, Value vector);
  LogicalResult storeByElement(Range rows, Value vector);

  Value load(Value buffer, Value place) { return vector::LoadOp::create(builder, loc, vectorType, buffer, place); }
  void store(Value value, Value buffer, Value place) { vector::StoreOp::create(builder, loc, value, buffer, place); }
  Value splat(double number) {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(vectorType, builder.getFloatAttr(element, number)));
  }
  Value none() { return splat(-std::numeric_limits<double>::infinity()); }
  Value isNone(Value maximum) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, maximum, none());
  }
  /// The iteration (batch, head, third, fourth[, fifth]).
  SmallVector<LaneIndex> at(LaneIndex third = {}, LaneIndex fourth = {}, LaneIndex fifth = {}) {
    return {{batch, 0, {}}, {head, 0, {}}, third, fourth, fifth};
  }
  /// The place in the result.
  SmallVector<LaneIndex> resultPlace(Value row, LaneIndex column) {
    SmallVector<LaneIndex> place(4), roles = {{batch, 0, {}}, {head, 0, {}}, {row, 0, {}}, column};
    for (auto [dim, index] : llvm::zip(attention.resultDims, roles))
      place[dim] = index;
    return place;
  }

  CPUFlashAttr strategy;
  Attention attention;
  AttentionBlocking blocking;
  int64_t lanes, depthPitch, valuePitch;
  Type element;
  VectorType vectorType;
  Value batch, head, keyCount;
  bool hasWholeRows = false; // no vector of queries reaches beyond the last one
  /// Vectors of queries [vector, depth, lane], keys [key, depth], values [key, value depth], weights [vector, key,
  /// lane], results [vector, value depth, lane], and of each query the maximum and the sum so far.
  Value queries, keys, values, weights, results, maxima, sums, transposed;
};

LogicalResult AttentionEmitter::run() {
  Value destination = attention.resultStores.front().getDest();
  builder.setInsertionPoint(attention.lastStore);
  auto stackBuffer = [&](int64_t elements) -> Value {
    auto bufferType = MemRefType::get({elements}, element);
    return memref::AllocaOp::create(builder, loc, bufferType, ValueRange(), builder.getI64IntegerAttr(64));
  };
  int64_t keyRows = llvm::alignTo(blocking.keyBlock, lanes);
  queries = stackBuffer(blocking.queryBlock * depthPitch);
  keys = stackBuffer(keyRows * depthPitch);
  values = stackBuffer(keyRows * valuePitch);
  weights = stackBuffer(blocking.keyBlock * blocking.vectors * lanes);
  results = stackBuffer(blocking.queryBlock * valuePitch);
  maxima = stackBuffer(blocking.queryBlock);
  sums = stackBuffer(blocking.queryBlock);
  transposed = stackBuffer(lanes * valuePitch);

  Value number = enterWorkgroup(builder, loc);
  evaluator.emplace(builder, lanes);
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < 4; ++d)
    sizes.push_back(evaluator->sizeOf(destination, d));
  auto [keyTensor, keyDimension] = shapeOfLoop(attention.dots, 3);
  keyCount = evaluator->sizeOf(keyTensor, keyDimension);
  ArrayRef<int64_t> tiles = strategy.getTile();
  WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, tiles);
  ArrayRef<unsigned> dims = attention.resultDims;
  unsigned length = dims[2];
  hasWholeRows = isMultipleOf(sizes[length], lanes) && (length >= tiles.size() || tiles[length] % lanes == 0);

  LogicalResult done = forEach(tile.lower[dims[0]], tile.upper[dims[0]], 1, [&](Value b) {
    batch = b;
    return forEach(tile.lower[dims[1]], tile.upper[dims[1]], 1, [&](Value h) {
      head = h;
      return forBlocks({tile.lower[length], tile.upper[length]}, blocking.queryBlock,
                       [&](Range rows) { return emitRows(rows); });
    });
  });
  if (failed(done))
    return failure();
  attention.eraseStores();
  return success();
}

LogicalResult AttentionEmitter::emitRows(Range rows) {
  Value vectorCount = builder.createOrFold<arith::CeilDivUIOp>(loc, minus(rows.upper, rows.lower), index(lanes));
  LoopRange depth = {4, {index(0), index(attention.depth)}, attention.depth % lanes == 0};
  auto prepare = [&](Value vector) -> LogicalResult {
    Value first = plus(rows.lower, times(vector, lanes));
    Value last = plus(first, lanes);
    if (!hasWholeRows)
      last = arith::MinSIOp::create(builder, loc, last, rows.upper);
    LoopRange columns = {2, {first, last}, hasWholeRows};
    if (failed(pack(attention.dots, attention.queryFactor, *attention.query, depth, columns, queries,
                    times(vector, depthPitch * lanes), lanes)))
      return failure();
    if (blocking.isOneKeyBlock)
      return success();
    store(none(), maxima, times(vector, lanes));
    store(splat(0), sums, times(vector, lanes));
    return forEach(index(0), index(valuePitch), 1, [&](Value row) {
      store(splat(0), results, plus(times(vector, valuePitch * lanes), times(row, lanes)));
      return success();
    });
  };
  auto block = [&](Range range) { return emitKeyBlock(rows, range, vectorCount); };
  Range all = {index(0), keyCount};
  return failure(failed(forEach(index(0), vectorCount, 1, prepare)) ||
                 failed(blocking.isOneKeyBlock ? block(all) : forBlocks(all, blocking.keyBlock, block)) ||
                 failed(forEach(index(0), vectorCount, 1, [&](Value vector) { return finish(rows, vector); })));
}

LogicalResult AttentionEmitter::pack(linalg::GenericOp op, Value factor, OpOperand &operand, LoopRange rows,
                                     LoopRange columns, Value buffer, Value first, int64_t pitch) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  bool isTransposed = map.getResults().back() == builder.getAffineDimExpr(rows.loop);
  SmallVector<LaneIndex> ivs = at();
  auto evaluate = [&](Value mask) -> Value {
    evaluator->setMask(mask);
    Value value = evaluator->evaluateInBody(op, factor, ivs);
    evaluator->setMask({});
    return value ? evaluator->toVector(loc, value) : value;
  };
  Value rowLower = rows.range.lower, columnLower = columns.range.lower;
  if (!isTransposed)
    return forEach(rowLower, rows.range.upper, 1, [&](Value row) {
      ivs[rows.loop] = {row, 0, {}};
      Value start = plus(first, times(minus(row, rowLower), pitch));
      return forEach(columnLower, columns.range.upper, lanes, [&](Value column) -> LogicalResult {
        ivs[columns.loop] = {column, 1, {}};
        Value value = evaluate(maskBelow(lanes, column, columns.range.upper, columns.isWhole));
        if (!value)
          return failure();
        store(value, buffer, plus(start, minus(column, columnLower)));
        return success();
      });
    });
  // Neighbours in memory are those of a column: squares of vectors are read along the columns and turned.
  return forEach(rowLower, rows.range.upper, lanes, [&](Value row) {
    ivs[rows.loop] = {row, 1, {}};
    Value start = plus(first, times(minus(row, rowLower), pitch));
    return forEach(columnLower, columns.range.upper, lanes, [&](Value column) -> LogicalResult {
      SmallVector<Value> square;
      Value mask = maskBelow(lanes, row, rows.range.upper, rows.isWhole);
      Value last = columns.isWhole ? Value() : minus(columns.range.upper, index(1));
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Value place = plus(column, lane);
        if (last)
          place = arith::MinSIOp::create(builder, loc, place, last);
        ivs[columns.loop] = {place, 0, {}};
        square.push_back(evaluate(mask));
        if (!square.back())
          return failure();
      }
      for (auto [lane, value] : llvm::enumerate(transposeSquare(builder, loc, square)))
        store(value, buffer, plus(plus(start, minus(column, columnLower)), lane * pitch));
      return success();
    });
  });
}

LogicalResult AttentionEmitter::emitKeyBlock(Range rows, Range keyRange, Value vectorCount) {
  int64_t depth = attention.depth, valueDepth = attention.valueDepth;
  bool hasWholeKeys = isMultipleOf(keyCount, lanes) && blocking.keyBlock % lanes == 0;
  if (failed(pack(attention.dots, attention.keyFactor, *attention.key, {3, keyRange, hasWholeKeys},
                  {4, {index(0), index(depth)}, depth % lanes == 0}, keys, index(0), depthPitch)) ||
      failed(pack(attention.values, attention.valueFactor, *attention.value, {4, keyRange, hasWholeKeys},
                  {3, {index(0), index(valueDepth)}, valueDepth % lanes == 0}, values, index(0), valuePitch)))
    return failure();
  Value groupsEnd = vectorCount;
  if (blocking.vectors > 1)
    groupsEnd = minus(vectorCount, builder.createOrFold<arith::RemUIOp>(loc, vectorCount, index(blocking.vectors)));
  auto groups = [&](Value lower, Value upper, int64_t count) {
    return forEach(lower, upper, count, [&](Value vector) { return emitGroup(rows, keyRange, vector, count); });
  };
  if (failed(groups(index(0), groupsEnd, blocking.vectors)))
    return failure();
  auto end = getConstantIntValue(groupsEnd);
  if (blocking.vectors == 1 || (end && end == getConstantIntValue(vectorCount)))
    return success();
  return groups(groupsEnd, vectorCount, 1);
}

LogicalResult AttentionEmitter::emitGroup(Range rows, Range keyRange, Value vector, int64_t count) {
  Value keysHere = minus(keyRange.upper, keyRange.lower);
  SmallVector<Value> firsts, masks, before, maximum;
  for (int64_t v = 0; v < count; ++v) {
    Value number = plus(vector, v);
    firsts.push_back(plus(rows.lower, times(number, lanes)));
    masks.push_back(maskBelow(lanes, firsts.back(), rows.upper, hasWholeRows));
    before.push_back(blocking.isOneKeyBlock ? none() : load(maxima, times(number, lanes)));
  }
  maximum = before;
  auto weightPlace = [&](int64_t v, Value key) { return plus(times(key, lanes), v * blocking.keyBlock * lanes); };

  // The scores, and the maximum so far. A NaN is no maximum; the sum will tell it.
  auto tile = [&](Value key, int64_t keyRows) -> LogicalResult {
    PackedColumns columns = {queries, {}, lanes, lanes};
    for (int64_t v = 0; v < count; ++v)
      columns.first.push_back(plus(times(vector, depthPitch * lanes), v * depthPitch * lanes));
    SmallVector<Value> products(keyRows * count, splat(0));
    products =
        multiply({keys, times(key, depthPitch), keyRows, depthPitch, 1}, columns, index(attention.depth), products);
    for (int64_t row = 0; row < keyRows; ++row)
      for (int64_t v = 0; v < count; ++v) {
        Value product = products[row * count + v], place = plus(key, row);
        evaluator->setSource(attention.dots.getResult(0), [&](ArrayRef<LaneIndex>) { return product; });
        evaluator->setMask(masks[v]);
        Value score =
            evaluator->evaluate(attention.scores.getResult(0),
                                ArrayRef(at({firsts[v], 1, {}}, {plus(keyRange.lower, place), 0, {}})).drop_back());
        evaluator->setMask({});
        evaluator->setSource(attention.dots.getResult(0), nullptr);
        if (!score)
          return failure();
        score = evaluator->toVector(loc, score);
        store(score, weights, weightPlace(v, place));
        Value isGreater = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, score, maximum[v]);
        maximum[v] = arith::SelectOp::create(builder, loc, isGreater, score, maximum[v]);
      }
    return success();
  };
  if (failed(forDecreasing({index(0), keysHere}, blocking.keyRows, maximum, tile)))
    return failure();

  // e^(score - maximum). While nothing takes part, the maximum is -inf, and its difference to itself would be NaN.
  SmallVector<Value> shifts, factors, total;
  for (int64_t v = 0; v < count; ++v) {
    Value place = times(plus(vector, v), lanes);
    shifts.push_back(arith::SelectOp::create(builder, loc, isNone(maximum[v]), splat(0), maximum[v]));
    store(maximum[v], maxima, place);
    if (blocking.isOneKeyBlock) {
      total.push_back(splat(0));
      continue;
    }
    Value difference = arith::SubFOp::create(builder, loc, before[v], shifts[v]);
    factors.push_back(math::ExpOp::create(builder, loc, difference));
    total.push_back(arith::MulFOp::create(builder, loc, load(sums, place), factors[v]));
  }
  auto exponential = [&](Value key) {
    for (int64_t v = 0; v < count; ++v) {
      Value place = weightPlace(v, key);
      Value difference = arith::SubFOp::create(builder, loc, load(weights, place), shifts[v]);
      Value weight = math::ExpOp::create(builder, loc, difference);
      store(weight, weights, place);
      total[v] = arith::AddFOp::create(builder, loc, total[v], weight);
    }
    return success();
  };
  if (failed(forCarrying({index(0), keysHere}, 1, total, exponential)))
    return failure();
  for (int64_t v = 0; v < count; ++v)
    store(total[v], sums, times(plus(vector, v), lanes));

  // The values by these weights join what there is of smaller maxima.
  auto join = [&](Value column, int64_t columnCount) {
    PackedColumns columns = {weights, {}, lanes, lanes};
    SmallVector<Value> places, products;
    for (int64_t v = 0; v < count; ++v)
      columns.first.push_back(index(v * blocking.keyBlock * lanes));
    for (int64_t row = 0; row < columnCount; ++row)
      for (int64_t v = 0; v < count; ++v) {
        places.push_back(
            plus(plus(times(vector, valuePitch * lanes), times(column, lanes)), (v * valuePitch + row) * lanes));
        products.push_back(blocking.isOneKeyBlock
                               ? splat(0)
                               : arith::MulFOp::create(builder, loc, load(results, places.back()), factors[v]));
      }
    products = multiply({values, column, columnCount, 1, valuePitch}, columns, keysHere, products);
    for (auto [place, value] : llvm::zip(places, products))
      store(value, results, place);
    return success();
  };
  int64_t rest = attention.valueDepth % blocking.valueRows, end = attention.valueDepth - rest;
  if (failed(forEach(index(0), index(end), blocking.valueRows,
                     [&](Value column) { return join(column, blocking.valueRows); })))
    return failure();
  return rest > 0 ? join(index(end), rest) : success();
}

LogicalResult AttentionEmitter::finish(Range rows, Value vector) {
  Value first = times(vector, lanes), maximum = load(maxima, first), sum = load(sums, first);
  // A row of which no key takes part has no weights, unless there are no keys at all.
  Value hasKeys = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, keyCount, index(0));
  Value isInvalid = arith::AndIOp::create(builder, loc, isNone(maximum), evaluator->toVector(loc, hasKeys));
  sum = arith::SelectOp::create(builder, loc, isInvalid, splat(std::numeric_limits<double>::quiet_NaN()), sum);
  store(sum, sums, first);
  Value row = plus(rows.lower, first);
  if (bufferization::MaterializeInDestinationOp logSumExp = attention.logSumExpStore) {
    Value mask = maskBelow(lanes, row, rows.upper, hasWholeRows);
    evaluator->setMask(mask);
    evaluator->setSource(attention.max.getResult(0), [&](ArrayRef<LaneIndex>) { return maximum; });
    evaluator->setSource(attention.sum.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
    Value value = evaluator->evaluate(logSumExp.getSource(), ArrayRef(at({row, 1, {}})).take_front(3));
    evaluator->setSource(attention.max.getResult(0), nullptr);
    evaluator->setSource(attention.sum.getResult(0), nullptr);
    evaluator->setMask({});
    if (!value)
      return failure();
    value = evaluator->toVector(loc, value);
    SmallVector<Value> place = {batch, head, row};
    if (mask)
      vector::MaskedStoreOp::create(builder, loc, logSumExp.getDest(), place, mask, value);
    else
      vector::StoreOp::create(builder, loc, value, logSumExp.getDest(), place);
  }
  return attention.resultDims[3] == 3 ? storeResult(rows, vector) : storeByElement(rows, vector);
}

LogicalResult AttentionEmitter::storeResult(Range rows, Value vector) {
  Value first = plus(rows.lower, times(vector, lanes)), origin = times(vector, valuePitch * lanes);
  auto turn = [&](Value column) {
    SmallVector<Value> square;
    for (int64_t row = 0; row < lanes; ++row)
      square.push_back(load(results, plus(plus(origin, times(column, lanes)), row * lanes)));
    for (auto [row, value] : llvm::enumerate(transposeSquare(builder, loc, square)))
      store(value, transposed, plus(column, row * valuePitch));
    return success();
  };
  if (failed(forEach(index(0), index(valuePitch), lanes, turn)))
    return failure();
  Value last = plus(first, lanes);
  if (!hasWholeRows)
    last = arith::MinSIOp::create(builder, loc, last, rows.upper);
  return forEach(first, last, 1, [&](Value row) {
    Value sum = memref::LoadOp::create(builder, loc, sums, minus(row, rows.lower));
    Value start = times(minus(row, first), valuePitch);
    return forEach(index(0), index(attention.valueDepth), lanes, [&](Value column) -> LogicalResult {
      Value total = load(transposed, plus(start, column));
      Value mask = maskBelow(lanes, column, index(attention.valueDepth), attention.valueDepth % lanes == 0);
      evaluator->setMask(mask);
      evaluator->setSource(attention.values.getResult(0), [&](ArrayRef<LaneIndex>) { return total; });
      evaluator->setSource(attention.sum.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
      LogicalResult stored = evaluator->store(attention.resultStores, resultPlace(row, {column, 1, {}}));
      evaluator->setSource(attention.values.getResult(0), nullptr);
      evaluator->setSource(attention.sum.getResult(0), nullptr);
      evaluator->setMask({});
      return stored;
    });
  });
}

LogicalResult AttentionEmitter::storeByElement(Range rows, Value vector) {
  Value first = plus(rows.lower, times(vector, lanes)), origin = times(vector, valuePitch * lanes);
  Value last = arith::MinSIOp::create(builder, loc, plus(first, lanes), rows.upper);
  evaluator->setLanes(1);
  LogicalResult done = forEach(first, last, 1, [&](Value row) {
    Value sum = memref::LoadOp::create(builder, loc, sums, minus(row, rows.lower));
    return forEach(index(0), index(attention.valueDepth), 1, [&](Value column) -> LogicalResult {
      Value place = plus(plus(origin, times(column, lanes)), minus(row, first));
      Value total = memref::LoadOp::create(builder, loc, results, place);
      evaluator->setSource(attention.values.getResult(0), [&](ArrayRef<LaneIndex>) { return total; });
      evaluator->setSource(attention.sum.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
      LogicalResult stored = evaluator->store(attention.resultStores, resultPlace(row, {column, 0, {}}));
      evaluator->setSource(attention.values.getResult(0), nullptr);
      evaluator->setSource(attention.sum.getResult(0), nullptr);
      return stored;
    });
  });
  evaluator->setLanes(lanes);
  return done;
}

/// At most `most` rows for each tile, so that few are left over.
int64_t chooseRows(int64_t size, int64_t most) {
  for (int64_t rows = most; rows > most / 2; --rows)
    if (size % rows == 0)
      return rows;
  return llvm::divideCeil(size, llvm::divideCeil(size, most));
}

AttentionBlocking chooseBlocking(Attention attention, CPUFlashAttr strategy, int64_t vectorBits, int64_t registers) {
  constexpr int64_t mostQueries = 128, mostKeys = 128, keyBytes = 64 << 10; // of keys and values
  auto type = cast<RankedTensorType>(attention.dots.getResult(0).getType());
  int64_t bits = type.getElementTypeBitWidth();
  AttentionBlocking blocking;
  blocking.lanes = vectorBits / bits;
  unsigned length = attention.resultDims[2];
  int64_t queries = length < strategy.getTile().size() ? strategy.getTile()[length] : 0;
  if (queries <= 0)
    queries = mostQueries;
  if (!type.isDynamicDim(2))
    queries = std::min(queries, std::max<int64_t>(type.getDimSize(2), 1));
  blocking.queryBlock = llvm::alignTo(queries, blocking.lanes);
  // Enough sums to hide the latency of their additions, and few enough vectors that the last group is a full one.
  std::pair<int64_t, int64_t> registerTile =
      *llvm::find_if(getRegisterTiles(registers), [&](std::pair<int64_t, int64_t> choice) {
        return choice.second == 1 || (choice.second == 2 && blocking.queryBlock > blocking.lanes);
      });
  blocking.vectors = registerTile.second;
  blocking.valueRows = chooseRows(attention.valueDepth, registerTile.first);
  int64_t depths = llvm::alignTo(attention.depth, blocking.lanes) + llvm::alignTo(attention.valueDepth, blocking.lanes);
  int64_t keys = std::clamp<int64_t>(keyBytes * 8 / bits / depths, blocking.lanes, mostKeys);
  blocking.keyRows = llvm::bit_floor<uint64_t>(registerTile.first);
  if (type.isDynamicDim(3)) {
    blocking.keyBlock = llvm::alignTo(keys, blocking.keyRows);
    return blocking;
  }
  int64_t keyCount = std::max<int64_t>(type.getDimSize(3), 1);
  int64_t divisor = chooseRows(keyCount, registerTile.first);
  if (keyCount % divisor == 0)
    blocking.keyRows = divisor;
  blocking.keyBlock = getEvenBlock(keyCount, keys, blocking.keyRows);
  blocking.isOneKeyBlock = keyCount <= blocking.keyBlock;
  return blocking;
}

struct CPULowerAttentionPass : impl::CPULowerAttentionPassBase<CPULowerAttentionPass> {
  using CPULowerAttentionPassBase::CPULowerAttentionPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<CPUFlashAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    std::optional<Attention> attention = matchAttention(function);
    if (!attention)
      return declineStrategy(function.getLoc(), strategy,
                             "it is no attention of two products around a softmax, with depths that are known");
    int64_t lanes =
        vectorBits / cast<RankedTensorType>(attention->dots.getResult(0).getType()).getElementTypeBitWidth();
    // The stack has room for the heads of a tile, whose number is to be known.
    if (isRowAttention(*attention, lanes) && strategy.getTile()[attention->resultDims[1]] > 0) {
      if (failed(lowerRowAttention(function, strategy, *attention, lanes)))
        signalPassFailure();
      return;
    }
    AttentionBlocking blocking = chooseBlocking(*attention, strategy, vectorBits, registers);
    if (failed(AttentionEmitter(function, strategy, *attention, blocking).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx

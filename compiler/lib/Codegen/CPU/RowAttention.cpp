#include "RowAttention.h"

#include "BlockEmitter.h"
#include "Common/IndexFacts.h"
#include "Common/WorkgroupTile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace vx {

namespace {

/// Keys and values are taken in blocks that the first-level cache holds. Of each row, a query of a head, the stack has
/// the maximum of its scores so far, the sum of its weights and the values by its weights; a block adds to these. A
/// maximum is the same in all lanes, the lanes of a sum are parts of it.
class RowAttentionEmitter : BlockEmitter {
public:
  RowAttentionEmitter(func::FuncOp function, CPUFlashAttr strategy, Attention attention, int64_t lanes)
      : BlockEmitter(function.getContext(), attention.dots.getLoc()), strategy(strategy), attention(attention),
        lanes(lanes), depthVectors(llvm::divideCeil(attention.depth, lanes)),
        valueVectors(llvm::divideCeil(attention.valueDepth, lanes)),
        element(cast<RankedTensorType>(attention.dots.getResult(0).getType()).getElementType()),
        vectorType(VectorType::get(lanes, element)) {
    // Keys and values of a block stay in the first-level cache for the heads that share them.
    constexpr int64_t blockBytes = 32 << 10, mostKeys = 128;
    int64_t rowBytes = (depthVectors + valueVectors) * lanes * element.getIntOrFloatBitWidth() / 8;
    keyBlock = std::clamp<int64_t>(blockBytes / rowBytes / lanes * lanes, lanes, std::max(mostKeys, lanes));
  }

  LogicalResult run();

private:
  /// Calls `body` for each row of the tile, with its number.
  LogicalResult forEachRow(function_ref<LogicalResult(Value)> body);
  LogicalResult begin(Value number);
  LogicalResult emitBlock(Range keys, Value number);
  /// Stores the products of the row's query with a block's keys.
  LogicalResult emitDots(Range keys, Value number);
  LogicalResult finish(Value number);
  LogicalResult storeLogSumExp(Value maximum, Value sum);

  /// The vector `i` of a factor's row along `loop`; beyond `depth` it is 0.
  Value evaluateRow(linalg::GenericOp op, Value factor, SmallVector<LaneIndex> ivs, unsigned loop, int64_t i,
                    int64_t depth) {
    ivs[loop] = {index(i * lanes), 1, {}};
    evaluator->setMask(maskBelow(lanes, index(i * lanes), index(depth), depth >= (i + 1) * lanes));
    Value value = evaluator->evaluateInBody(op, factor, ivs);
    evaluator->setMask({});
    return value ? evaluator->toVector(loc, value) : Value();
  }
  SmallVector<LaneIndex> at(LaneIndex third = {}, LaneIndex fourth = {}, LaneIndex fifth = {}) {
    return {{batch, 0, {}}, {head, 0, {}}, third, fourth, fifth};
  }
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
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  Value combine(vector::CombiningKind kind, Value vector) {
    return vector::ReductionOp::create(builder, loc, kind, vector, arith::FastMathFlags::reassoc);
  }

  static constexpr int64_t keysAtOnce = 4, vectorsAtOnce = 8;
  CPUFlashAttr strategy;
  Attention attention;
  int64_t lanes, depthVectors, valueVectors, keyBlock;
  Type element;
  VectorType vectorType;
  WorkgroupTile tile;
  Value batch, head, query, keyCount;
  /// Queries [row, depth], results [row, value depth], maxima and sums [row, lane], and the weights of one row.
  Value queries, results, maxima, sums, weights;
};

LogicalResult RowAttentionEmitter::run() {
  Value destination = attention.resultStores.front().getDest();
  builder.setInsertionPoint(attention.lastStore);
  auto stackBuffer = [&](int64_t elements) -> Value {
    auto bufferType = MemRefType::get({elements}, element);
    return memref::AllocaOp::create(builder, loc, bufferType, ValueRange(), builder.getI64IntegerAttr(64));
  };
  ArrayRef<int64_t> tiles = strategy.getTile();
  ArrayRef<unsigned> dims = attention.resultDims;
  int64_t rows = std::max<int64_t>(tiles[dims[1]], 1) *
                 cast<RankedTensorType>(attention.dots.getResult(0).getType()).getDimSize(2);
  queries = stackBuffer(rows * depthVectors * lanes);
  results = stackBuffer(rows * valueVectors * lanes);
  maxima = stackBuffer(rows * lanes);
  sums = stackBuffer(rows * lanes);
  weights = stackBuffer(keyBlock);

  Value number = enterWorkgroup(builder, loc);
  evaluator.emplace(builder, lanes);
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < 4; ++d)
    sizes.push_back(evaluator->sizeOf(destination, d));
  auto [keyTensor, keyDimension] = shapeOfLoop(attention.dots, 3);
  keyCount = evaluator->sizeOf(keyTensor, keyDimension);
  tile = getWorkgroupTile(builder, loc, number, sizes, tiles);
  LogicalResult done = forEach(tile.lower[dims[0]], tile.upper[dims[0]], 1, [&](Value b) {
    batch = b;
    auto block = [&](Range keys) { return forEachRow([&](Value row) { return emitBlock(keys, row); }); };
    return failure(failed(forEachRow([&](Value row) { return begin(row); })) ||
                   failed(forBlocks({index(0), keyCount}, keyBlock, block)) ||
                   failed(forEachRow([&](Value row) { return finish(row); })));
  });
  if (failed(done))
    return failure();
  attention.eraseStores();
  return success();
}

LogicalResult RowAttentionEmitter::forEachRow(function_ref<LogicalResult(Value)> body) {
  unsigned heads = attention.resultDims[1], length = attention.resultDims[2];
  Value count = minus(tile.upper[length], tile.lower[length]);
  return forEach(tile.lower[heads], tile.upper[heads], 1, [&](Value h) {
    head = h;
    return forEach(tile.lower[length], tile.upper[length], 1, [&](Value q) {
      query = q;
      return body(plus(times(minus(h, tile.lower[heads]), count), minus(q, tile.lower[length])));
    });
  });
}

LogicalResult RowAttentionEmitter::begin(Value number) {
  for (int64_t i = 0; i < depthVectors; ++i) {
    Value value = evaluateRow(attention.dots, attention.queryFactor, at({query, 0, {}}), 4, i, attention.depth);
    if (!value)
      return failure();
    store(value, queries, plus(times(number, depthVectors * lanes), i * lanes));
  }
  for (int64_t i = 0; i < valueVectors; ++i)
    store(splat(0), results, plus(times(number, valueVectors * lanes), i * lanes));
  store(none(), maxima, times(number, lanes));
  store(splat(0), sums, times(number, lanes));
  return success();
}

LogicalResult RowAttentionEmitter::emitDots(Range keys, Value number) {
  SmallVector<Value> ofQuery;
  for (int64_t i = 0; i < depthVectors; ++i)
    ofQuery.push_back(load(queries, plus(times(number, depthVectors * lanes), i * lanes)));
  return forDecreasing({index(0), minus(keys.upper, keys.lower)}, keysAtOnce, {}, [&](Value key, int64_t count) {
    for (int64_t next = 0; next < count; ++next) {
      Value place = plus(key, next), sum = splat(0);
      for (int64_t i = 0; i < depthVectors; ++i) {
        Value value = evaluateRow(attention.dots, attention.keyFactor,
                                  at({query, 0, {}}, {plus(keys.lower, place), 0, {}}), 4, i, attention.depth);
        if (!value)
          return failure();
        sum = multiplyAdd(builder, loc, value, ofQuery[i], sum);
      }
      memref::StoreOp::create(builder, loc, combine(vector::CombiningKind::ADD, sum), weights, place);
    }
    return success();
  });
}

LogicalResult RowAttentionEmitter::emitBlock(Range keys, Value number) {
  if (failed(emitDots(keys, number)))
    return failure();
  // The scores, and the maximum so far. A NaN is no maximum; the sum will tell it.
  Value count = minus(keys.upper, keys.lower), place = times(number, lanes);
  bool isWhole = isMultipleOf(keyCount, lanes);
  Value before = load(maxima, place);
  SmallVector<Value> carried = {before};
  LogicalResult done = forCarrying({index(0), count}, lanes, carried, [&](Value key) -> LogicalResult {
    Value mask = maskBelow(lanes, key, count, isWhole);
    Value dots = load(weights, key);
    evaluator->setSource(attention.dots.getResult(0), [&](ArrayRef<LaneIndex>) { return dots; });
    evaluator->setMask(mask);
    Value score = evaluator->evaluate(attention.scores.getResult(0),
                                      ArrayRef(at({query, 0, {}}, {plus(keys.lower, key), 1, {}})).drop_back());
    evaluator->setMask({});
    evaluator->setSource(attention.dots.getResult(0), nullptr);
    if (!score)
      return failure();
    score = evaluator->toVector(loc, score);
    if (mask)
      score = select(mask, score, none());
    store(score, weights, key);
    Value isGreater = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, score, carried.front());
    carried.front() = select(isGreater, score, carried.front());
    return success();
  });
  if (failed(done))
    return failure();
  Value maximum =
      vector::BroadcastOp::create(builder, loc, vectorType, combine(vector::CombiningKind::MAXNUMF, carried.front()));
  store(maximum, maxima, place);
  // e^(score - maximum). While nothing takes part, the maximum is -inf, and its difference to itself would be NaN.
  Value shift = select(isNone(maximum), splat(0), maximum);
  Value factor = math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, before, shift));
  carried = {arith::MulFOp::create(builder, loc, load(sums, place), factor)};
  done = forCarrying({index(0), count}, lanes, carried, [&](Value key) {
    Value difference = arith::SubFOp::create(builder, loc, load(weights, key), shift);
    Value weight = math::ExpOp::create(builder, loc, difference);
    store(weight, weights, key);
    carried.front() = arith::AddFOp::create(builder, loc, carried.front(), weight);
    return success();
  });
  if (failed(done))
    return failure();
  store(carried.front(), sums, place);
  // The values by these weights are added to the sum so far, which is scaled to the new maximum.
  for (int64_t first = 0; first < valueVectors; first += vectorsAtOnce) {
    int64_t vectors = std::min(vectorsAtOnce, valueVectors - first);
    SmallVector<Value> products;
    auto resultPlace = [&](int64_t v) { return plus(times(number, valueVectors * lanes), (first + v) * lanes); };
    for (int64_t v = 0; v < vectors; ++v)
      products.push_back(arith::MulFOp::create(builder, loc, load(results, resultPlace(v)), factor));
    done = forCarrying({index(0), count}, 1, products, [&](Value key) -> LogicalResult {
      Value weight = evaluator->toVector(loc, memref::LoadOp::create(builder, loc, weights, key));
      for (int64_t v = 0; v < vectors; ++v) {
        Value value =
            evaluateRow(attention.values, attention.valueFactor, at({query, 0, {}}, {}, {plus(keys.lower, key), 0, {}}),
                        3, first + v, attention.valueDepth);
        if (!value)
          return failure();
        products[v] = multiplyAdd(builder, loc, weight, value, products[v]);
      }
      return success();
    });
    if (failed(done))
      return failure();
    for (int64_t v = 0; v < vectors; ++v)
      store(products[v], results, resultPlace(v));
  }
  return success();
}

LogicalResult RowAttentionEmitter::finish(Value number) {
  Value maximum = memref::LoadOp::create(builder, loc, maxima, times(number, lanes));
  Value sum = combine(vector::CombiningKind::ADD, load(sums, times(number, lanes)));
  // A row of which no key takes part has no weights, unless there are no keys at all.
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(element, value));
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value hasKeys = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, keyCount, index(0));
  Value hasNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, maximum, constant(-infinity));
  Value isInvalid = arith::AndIOp::create(builder, loc, hasNone, hasKeys);
  sum = select(isInvalid, constant(std::numeric_limits<double>::quiet_NaN()), sum);
  if (failed(storeLogSumExp(maximum, sum)))
    return failure();
  for (int64_t i = 0; i < valueVectors; ++i) {
    Value column = index(i * lanes), total = load(results, plus(times(number, valueVectors * lanes), i * lanes));
    SmallVector<LaneIndex> place(4), roles = at({query, 0, {}}, {column, 1, {}});
    for (auto [dim, role] : llvm::zip_equal(attention.resultDims, ArrayRef(roles).drop_back()))
      place[dim] = role;
    evaluator->setMask(maskBelow(lanes, column, index(attention.valueDepth), attention.valueDepth >= (i + 1) * lanes));
    evaluator->setSource(attention.values.getResult(0), [&](ArrayRef<LaneIndex>) { return total; });
    evaluator->setSource(attention.sum.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
    LogicalResult stored = evaluator->store(attention.resultStores, place);
    evaluator->setSource(attention.values.getResult(0), nullptr);
    evaluator->setSource(attention.sum.getResult(0), nullptr);
    evaluator->setMask({});
    if (failed(stored))
      return failure();
  }
  return success();
}

LogicalResult RowAttentionEmitter::storeLogSumExp(Value maximum, Value sum) {
  bufferization::MaterializeInDestinationOp logSumExp = attention.logSumExpStore;
  if (!logSumExp)
    return success();
  evaluator->setSource(attention.max.getResult(0), [&](ArrayRef<LaneIndex>) { return maximum; });
  evaluator->setSource(attention.sum.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
  Value value = evaluator->evaluate(logSumExp.getSource(), ArrayRef(at({query, 0, {}})).take_front(3));
  evaluator->setSource(attention.max.getResult(0), nullptr);
  evaluator->setSource(attention.sum.getResult(0), nullptr);
  if (!value)
    return failure();
  memref::StoreOp::create(builder, loc, value, logSumExp.getDest(), ValueRange{batch, head, query});
  return success();
}

} // namespace

bool isRowAttention(Attention attention, int64_t lanes) {
  auto type = cast<RankedTensorType>(attention.dots.getResult(0).getType());
  auto liesAlong = [](linalg::GenericOp op, OpOperand *operand, unsigned loop) {
    ArrayRef<AffineExpr> places = op.getMatchingIndexingMap(operand).getResults();
    return !places.empty() && places.back() == getAffineDimExpr(loop, op.getContext());
  };
  return !type.isDynamicDim(2) && type.getDimSize(2) <= lanes / 4 && attention.resultDims[3] == 3 &&
         liesAlong(attention.dots, attention.key, 4) && liesAlong(attention.values, attention.value, 3);
}

LogicalResult lowerRowAttention(func::FuncOp function, CPUFlashAttr strategy, Attention attention, int64_t lanes) {
  return RowAttentionEmitter(function, strategy, attention, lanes).run();
}

} // namespace vx

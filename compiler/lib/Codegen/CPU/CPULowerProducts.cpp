#include "Common/DeclineStrategy.h"
#include "Common/IndexFacts.h"
#include "Common/WorkgroupTile.h"
#include "ProductEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/CPU.h"
#include "vx/Codegen/CPU/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_CPULOWERPRODUCTSPASS
#include "vx/Codegen/CPU/Passes.h.inc"

void ProductEmitter::setPlace(SmallVectorImpl<LaneIndex> &places, ArrayRef<unsigned> dims, LaneIndex flat) {
  if (dims.empty())
    return;
  SmallVector<Value> sizes;
  for (unsigned dim : dims)
    sizes.push_back(loopSizes.lookup(dim));
  for (auto [dim, place] : llvm::zip(dims, evaluator->delinearize(loc, flat, sizes)))
    places[dim] = place;
}

Value ProductEmitter::accumulatorPlace(Range rows, Range columns, Value row, Value column, int64_t vector) {
  Value place = plus(times(minus(row, rows.lower), blocking.columnBlock), minus(column, columns.lower));
  return plus(place, vector * blocking.lanes);
}

void ProductEmitter::findSizes() {
  for (int64_t d = 0; d < type.getRank(); ++d)
    loopSizes[d] = evaluator->sizeOf(destination, d);
  depthSize = index(1);
  for (unsigned k : product.k) {
    auto [tensor, dimension] = shapeOfLoop(product.op, k);
    loopSizes[k] = evaluator->sizeOf(tensor, dimension);
    if (k == product.k.back()) {
      innerLength = loopSizes[k];
      if (product.neighbours > 1)
        loopSizes[k] = builder.createOrFold<arith::CeilDivUIOp>(loc, innerLength, index(product.neighbours));
    }
    depthSize = times(depthSize, loopSizes[k]);
  }
}

LogicalResult ProductEmitter::run() {
  destination = product.results.front().getDest();
  builder.setInsertionPoint(product.results.back());
  auto stackBuffer = [&](int64_t elements, Type element) -> Value {
    auto bufferType = MemRefType::get({elements}, element);
    return memref::AllocaOp::create(builder, loc, bufferType, ValueRange(), builder.getI64IntegerAttr(64));
  };
  bool areBytes = product.neighbours > 1;
  Type factor = areBytes ? builder.getI8Type() : type.getElementType();
  int64_t depth = blocking.depthBlock * product.neighbours;
  // A vector more, since what follows a row's last element is written before the next row is.
  if (blocking.plainStride == 0)
    packedA = stackBuffer(blocking.rowBlock * depth + std::max(blocking.lanes, blocking.packLanes), factor);
  accumulators = stackBuffer(blocking.rowBlock * blocking.columnBlock, type.getElementType());
  readsBlockOfB = (!product.packedB && !blocking.readsRowsOfB) || blocking.decodesBlocks;
  if (readsBlockOfB)
    blockOfB = stackBuffer(blocking.columnBlock * depth, factor);

  Value number = enterWorkgroup(builder, loc);
  evaluator.emplace(builder, blocking.lanes);
  findSizes();
  auto flatten = [&](Value buffer) -> Value {
    int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
    SmallVector<ReassociationIndices> all = {llvm::to_vector(llvm::seq<int64_t>(0, rank))};
    return memref::CollapseShapeOp::create(builder, loc, buffer, all);
  };
  if (product.packedB)
    packedB = flatten(product.packedB);
  if (blocking.plainStride > 0)
    packedA = flatten(product.plainA);
  else if (blocking.isOneDepthBlock && !blocking.hasColumnsInA)
    windowRows = matchWindowRows(product, blocking.packLanes);
  if (windowRows)
    windowInput = flatten(windowRows->buffer);
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    sizes.push_back(loopSizes.lookup(d));
  ArrayRef<int64_t> tiles = strategy.getTile();
  WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, tiles);

  // The rows of a tile are one range where all m dimensions but the first are whole; what comes before is a loop.
  size_t firstRow = 0;
  for (auto [place, m] : llvm::enumerate(product.m))
    if (m < tiles.size() && tiles[m] > 0)
      firstRow = place;
  SmallVector<unsigned> loops(product.outer);
  loops.append(product.m.begin(), product.m.begin() + firstRow);
  product.m.erase(product.m.begin(), product.m.begin() + firstRow);
  ivs.resize(product.op.getNumLoops());
  for (unsigned d : loops) {
    scf::ForOp loop = evaluator->enterLoop(loc, tile.lower[d], tile.upper[d], index(1));
    ivs[d] = {loop.getInductionVar(), 0, {}};
  }
  outerRows = index(0);
  for (unsigned d : loops)
    outerRows = plus(times(outerRows, loopSizes.lookup(d)), ivs[d].base);
  for (unsigned m : product.m)
    outerRows = times(outerRows, loopSizes.lookup(m));
  Range rows = {tile.lower[product.m.front()], tile.upper[product.m.front()]};
  for (unsigned m : ArrayRef<unsigned>(product.m).drop_front())
    rows = {times(rows.lower, loopSizes.lookup(m)), times(rows.upper, loopSizes.lookup(m))};
  Range columns = {tile.lower[product.n], tile.upper[product.n]};
  int64_t columnTile = product.n < tiles.size() ? tiles[product.n] : 0;
  hasWholeColumns = isMultipleOf(loopSizes.lookup(product.n), blocking.lanes) && columnTile % blocking.lanes == 0 &&
                    product.group % blocking.lanes == 0;
  unsigned lastRow = product.m.back();
  int64_t rowTile = lastRow < tiles.size() ? tiles[lastRow] : 0;
  std::optional<int64_t> run = getConstantIntValue(loopSizes.lookup(product.k.back()));
  hasWholeRuns = blocking.isOneDepthBlock || (run && *run > 0 && blocking.depthBlock % *run == 0);
  hasWholeRows = isMultipleOf(loopSizes.lookup(lastRow), blocking.lanes) && rowTile % blocking.lanes == 0 &&
                 blocking.rowBlock % blocking.lanes == 0;

  LogicalResult done = forBlocks(rows, blocking.rowBlock, [&](Range rowBlock) {
    return forEachGroup(columns, [&](Range group) {
      return forBlocks(group, blocking.columnBlock,
                       [&](Range columnBlock) { return emitBlock(rowBlock, columnBlock); });
    });
  });
  if (failed(done))
    return failure();
  for (size_t d = 0; d < loops.size(); ++d)
    evaluator->leaveLoop();
  product.eraseResults();
  return success();
}

LogicalResult ProductEmitter::forEachGroup(Range columns, function_ref<LogicalResult(Range)> body) {
  if (product.group == 0)
    return body(columns);
  Value size = index(product.group);
  Value first = builder.createOrFold<arith::DivUIOp>(loc, columns.lower, size);
  Value last = builder.createOrFold<arith::CeilDivUIOp>(loc, columns.upper, size);
  return forEach(first, last, 1, [&](Value number) {
    Value origin = times(number, size);
    return body({arith::MaxSIOp::create(builder, loc, origin, columns.lower),
                 arith::MinSIOp::create(builder, loc, plus(origin, size), columns.upper)});
  });
}

LogicalResult ProductEmitter::emitBlock(Range rows, Range columns) {
  if (!blocking.isOneDepthBlock) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType(type.getElementType())));
    auto clear = forEach(rows.lower, rows.upper, 1, [&](Value row) {
      return forEach(columns.lower, columns.upper, blocking.lanes, [&](Value column) {
        vector::StoreOp::create(builder, loc, zero, accumulators, accumulatorPlace(rows, columns, row, column, 0));
        return success();
      });
    });
    if (failed(clear))
      return failure();
  }
  auto block = [&](Range depth) {
    bool isPlain = blocking.plainStride > 0;
    if (!isPlain &&
        failed(blocking.hasColumnsInA ? packColumnsOfA(rows, columns, depth) : packRows(rows, columns, depth)))
      return failure();
    return addProducts(rows, columns, depth);
  };
  Range all = {index(0), depthSize};
  if (failed(blocking.isOneDepthBlock ? block(all) : forBlocks(all, blocking.depthBlock, block)))
    return failure();
  return finish(rows, columns);
}

LogicalResult ProductEmitter::addProducts(Range rows, Range columns, Range depth) {
  auto add = [&] {
    return failed(readsBlockOfB ? packColumns(columns, depth) : success()) ? failure()
                                                                           : multiplyBlock(rows, columns, depth);
  };
  // Rows whose sums registers hold read B once: they decode each vector that they load.
  Value count = minus(rows.upper, rows.lower);
  if (!blocking.decodesBlocks || getConstantIntValue(count))
    return add();
  for (bool areFew : {true, false}) {
    auto predicate = areFew ? arith::CmpIPredicate::ule : arith::CmpIPredicate::ugt;
    evaluator->enterIf(loc, arith::CmpIOp::create(builder, loc, predicate, count, index(mostDecodedRows)));
    readsBlockOfB = !areFew;
    if (failed(add()))
      return failure();
    evaluator->leaveIf();
  }
  return success();
}

LogicalResult ProductEmitter::forEachRun(Range range, ArrayRef<unsigned> dims, bool hasWholeRuns,
                                         SmallVectorImpl<LaneIndex> &at, function_ref<LogicalResult(Range, Value)> body,
                                         MutableArrayRef<Value> carried) {
  ArrayRef<unsigned> outer = dims.drop_back();
  if (outer.empty())
    return body(range, index(0));
  Value run = loopSizes.lookup(dims.back());
  bool isFirst = getConstantIntValue(range.lower) == 0;
  Value first = isFirst ? index(0) : builder.createOrFold<arith::DivUIOp>(loc, range.lower, run);
  Value last = builder.createOrFold<arith::CeilDivUIOp>(loc, range.upper, run);
  return forCarrying({first, last}, 1, carried, [&](Value number) {
    setPlace(at, outer, {number, 0, {}});
    Value origin = times(number, run);
    Range part = {index(0), run};
    if (!hasWholeRuns) {
      Value lower = minus(range.lower, origin), upper = minus(range.upper, origin);
      part = {arith::MaxSIOp::create(builder, loc, lower, index(0)), arith::MinSIOp::create(builder, loc, upper, run)};
    }
    return body(part, origin);
  });
}

LogicalResult ProductEmitter::forEachDepth(Range depth, SmallVectorImpl<LaneIndex> &at,
                                           function_ref<LogicalResult(Value)> body) {
  return forEachRun(depth, product.k, hasWholeRuns, at, [&](Range run, Value origin) {
    return forEach(run.lower, run.upper, 1, [&](Value k) {
      at[product.k.back()] = {k, 0, {}};
      return body(plus(origin, k));
    });
  });
}

LogicalResult ProductEmitter::packRows(Range rows, Range columns, Range depth) {
  // The innermost k dimension is a run of memory, and all before it (the places of a filter) are taken one by one: what
  // lies outside of the input is then outside for a whole run.
  evaluator->setLanes(blocking.packLanes);
  LogicalResult done = forEach(rows.lower, rows.upper, 1, [&](Value row) {
    SmallVector<LaneIndex> at = ivs;
    setPlace(at, product.m, {row, 0, {}});
    at[product.n] = {columns.lower, 0, {}};
    Value firstPlace = stepPlace(minus(row, rows.lower), blocking.depthBlock);
    if (windowRows)
      return packWindows(at, firstPlace);
    return forEachRun(depth, product.k, hasWholeRuns, at, [&](Range range, Value origin) {
      return packRun(at, range, plus(firstPlace, stepPlace(minus(origin, depth.lower), 1)));
    });
  });
  evaluator->setLanes(blocking.lanes);
  return done;
}

LogicalResult ProductEmitter::packRun(SmallVectorImpl<LaneIndex> &at, Range run, Value start) {
  std::optional<int64_t> knownLength = getConstantIntValue(innerLength);
  bool isWhole = knownLength && *knownLength % blocking.packLanes == 0;
  return forEach(stepPlace(run.lower, 1), stepPlace(run.upper, 1), blocking.packLanes, [&](Value k) -> LogicalResult {
    at[product.k.back()] = {k, 1, {}};
    evaluator->setMask(maskBelow(blocking.packLanes, k, innerLength, isWhole));
    Value value = evaluator->evaluateInBody(product.op, product.a, at);
    if (!value)
      return failure();
    evaluator->setMask({});
    vector::StoreOp::create(builder, loc, evaluator->toVector(loc, value), packedA, plus(start, k));
    return success();
  });
}

LogicalResult ProductEmitter::packWindows(SmallVectorImpl<LaneIndex> &at, Value first) {
  ArrayRef<unsigned> rows = ArrayRef<unsigned>(product.k).drop_back(2);
  unsigned tap = product.k[rows.size()];
  Value count = index(1), length = index(windowRows->getLength()), channels = index(windowRows->channels);
  for (unsigned k : rows)
    count = times(count, loopSizes.lookup(k));
  return forEach(index(0), count, 1, [&](Value number) {
    setPlace(at, rows, {number, 0, {}});
    Value start = plus(first, times(number, length));
    WindowRows::Row row = windowRows->getRow(builder, loc, *evaluator, at);
    evaluator->enterIf(loc, row.isInside);
    for (int64_t k = 0; k < windowRows->getLength(); k += blocking.packLanes) {
      bool isWhole = k + blocking.packLanes <= windowRows->getLength();
      evaluator->setMask(maskBelow(blocking.packLanes, index(k), length, isWhole));
      Value value = evaluator->load(loc, windowInput, LaneIndex{plus(row.first, k), 1, {}});
      evaluator->setMask({});
      vector::StoreOp::create(builder, loc, value, packedA, plus(start, k));
    }
    evaluator->leaveIf();
    Value all = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    evaluator->enterIf(loc, arith::XOrIOp::create(builder, loc, row.isInside, all));
    LogicalResult done = forEach(index(0), index(windowRows->taps), 1, [&](Value j) {
      at[tap] = {j, 0, {}};
      return packRun(at, {index(0), channels}, plus(start, times(j, channels)));
    });
    evaluator->leaveIf();
    return done;
  });
}

LogicalResult ProductEmitter::packColumnsOfA(Range rows, Range columns, Range depth) {
  unsigned inner = product.m.back();
  Value run = loopSizes.lookup(inner);
  SmallVector<LaneIndex> at = ivs;
  at[product.n] = {columns.lower, 0, {}};
  return forEachDepth(depth, at, [&](Value k) {
    Value firstPlace = times(minus(k, depth.lower), blocking.rowBlock);
    return forEachRun(rows, product.m, /*hasWholeRuns=*/false, at, [&](Range range, Value origin) {
      Value start = plus(firstPlace, minus(origin, rows.lower));
      return forEach(range.lower, range.upper, blocking.lanes, [&](Value row) -> LogicalResult {
        at[inner] = {row, 1, {}};
        evaluator->setMask(maskBelow(blocking.lanes, row, run, hasWholeRows));
        Value value = evaluator->evaluateInBody(product.op, product.a, at);
        if (!value)
          return failure();
        evaluator->setMask({});
        // What is written beyond the run is written again: by the next run, or by the next column.
        vector::StoreOp::create(builder, loc, evaluator->toVector(loc, value), packedA, plus(start, row));
        return success();
      });
    });
  });
}

LogicalResult ProductEmitter::multiplyBlock(Range rows, Range columns, Range depth) {
  Value width = minus(columns.upper, columns.lower), group = index(blocking.columns());
  if (readsBlockOfB) {
    Value groups = builder.createOrFold<arith::CeilDivUIOp>(loc, width, group);
    return forEach(columns.lower, plus(columns.lower, times(groups, group)), blocking.columns(),
                   [&](Value at) { return multiplyColumns(rows, columns, depth, at, blocking.vectors); });
  }
  // Beyond the last vector lies other memory: what does not fill a group goes vector by vector.
  Value end = columns.upper;
  if (blocking.vectors > 1)
    end = minus(columns.upper, builder.createOrFold<arith::RemUIOp>(loc, width, group));
  LogicalResult done = forEach(columns.lower, end, blocking.columns(),
                               [&](Value at) { return multiplyColumns(rows, columns, depth, at, blocking.vectors); });
  if (failed(done) || blocking.vectors == 1)
    return done;
  return forEach(end, columns.upper, blocking.lanes,
                 [&](Value at) { return multiplyColumns(rows, columns, depth, at, 1); });
}

LogicalResult ProductEmitter::multiplyColumns(Range rows, Range columns, Range depth, Value column, int64_t vectors) {
  return forDecreasing(rows, blocking.rows, {}, [&](Value row, int64_t count) {
    return multiplyTile(rows, columns, depth, row, column, count, vectors);
  });
}

LogicalResult ProductEmitter::multiplyTile(Range rows, Range columns, Range depth, Value row, Value column,
                                           int64_t rowCount, int64_t vectors) {
  VectorType vector = vectorType(type.getElementType());
  // Two vectors of one tile are neighbours in memory.
  const bool isPaired = (product.decodesAlone || sumsBlocks()) && product.subByte && !readsBlockOfB &&
                        vectors % 2 == 0 && product.tile % (2 * blocking.lanes) == 0;
  SmallVector<Value> sums, sumPlaces;
  for (int64_t r = 0; r < rowCount; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      sumPlaces.push_back(accumulatorPlace(rows, columns, plus(row, r), column, v));
      if (blocking.isOneDepthBlock)
        sums.push_back(arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vector)));
      else
        sums.push_back(vector::LoadOp::create(builder, loc, vector, accumulators, sumPlaces.back()));
    }
  // Of a pair of vectors, the first has the even columns while products are added, and the second the odd ones.
  auto exchange = [&](MutableArrayRef<Value> sums, function_ref<std::pair<Value, Value>(Value, Value)> change) {
    for (size_t first = 0; isPaired && first < sums.size(); first += 2)
      std::tie(sums[first], sums[first + 1]) = change(sums[first], sums[first + 1]);
  };
  auto exchangeBack = [&](MutableArrayRef<Value> sums) {
    exchange(sums, [&](Value even, Value odd) {
      Value both = vector::InterleaveOp::create(builder, loc, even, odd);
      auto take = [&](int64_t from) -> Value {
        return vector::ExtractStridedSliceOp::create(builder, loc, both, from, blocking.lanes, 1);
      };
      return std::pair(take(0), take(blocking.lanes));
    });
  };
  if (!blocking.isOneDepthBlock && !sumsBlocks())
    exchange(sums, [&](Value low, Value high) {
      auto both = vector::ShuffleOp::create(builder, loc, low, high, joinedLanes());
      auto parts = vector::DeinterleaveOp::create(builder, loc, both);
      return std::pair<Value, Value>(parts.getRes1(), parts.getRes2());
    });
  Value firstRow = minus(row, rows.lower);
  int64_t neighbours = product.neighbours, stride = blocking.depthBlock * neighbours;
  PackedRows a = {packedA, times(firstRow, stride), rowCount, stride, neighbours};
  if (blocking.hasColumnsInA)
    a = {packedA, firstRow, rowCount, 1, blocking.rowBlock};
  if (blocking.plainStride) {
    stride = blocking.plainStride * neighbours;
    a = {packedA, plus(times(plus(outerRows, row), stride), stepPlace(depth.lower, 1)), rowCount, stride, neighbours};
  }
  PackedColumns b;
  b.buffer = readsBlockOfB ? blockOfB : packedB; // null where rows of B are read
  const int64_t shared = readsBlockOfB ? 1 : perElement();
  b.step = neighbours * (readsBlockOfB ? blocking.lanes : product.tile) / shared;
  b.elements = neighbours * blocking.lanes * (isPaired ? 2 : 1) / shared;
  SmallVector<Value> places;
  for (int64_t v = 0; v < vectors; v += isPaired ? 2 : 1) {
    places.push_back(plus(column, v * blocking.lanes));
    b.first.push_back(readsBlockOfB ? stepPlace(minus(places.back(), columns.lower), blocking.depthBlock)
                      : packedB     ? packedPlace(places.back(), depth.lower)
                                    : Value());
  }
  SmallVector<LaneIndex> at = ivs;
  Value firstStep = depth.lower; // of a range, along the last k dimension
  // Groups of several vectors end inside of the columns.
  const Value mask =
      evaluatesB() ? maskBelow(blocking.lanes, column, columns.upper, hasWholeColumns || vectors > 1) : Value();
  if (evaluatesB()) {
    const Value table = isPaired ? makeTable() : Value();
    b.decode = [&, mask, table](Value loaded, Value k, size_t v, SmallVectorImpl<Value> &made) {
      at[product.n] = {places[v], 1, {}};
      at[product.k.back()] = {plus(firstStep, k), 0, {}};
      evaluator->setMask(mask);
      if (isPaired) {
        for (bool areUpper : {false, true}) {
          at[product.n] = {plus(places[v], areUpper), 2, {}};
          made.push_back(table ? lookHalvesUp(table, loaded, areUpper) : decode(takeHalves(loaded, areUpper), at));
        }
      } else if (!loaded) {
        made.push_back(evaluateColumns(at));
      } else {
        made.push_back(decode(product.subByte ? unpackHalves(loaded) : loaded, at));
      }
      evaluator->setMask({});
      return static_cast<bool>(made.back());
    };
  }
  std::optional<Signs> signs;
  if (neighbours > 1)
    signs = {product.isASigned, product.isBSigned};
  if (!b.decode || product.k.size() == 1) {
    sums = multiply(a, b, minus(depth.upper, depth.lower), sums, signs);
  } else {
    // The numbers that decode a run are loaded once for all of its places.
    const PackedRows rowsOfA = a;
    const PackedColumns columnsOfB = b;
    LogicalResult done = forEachRun(
        depth, product.k, hasWholeRuns, at,
        [&](Range run, Value origin) {
          Value done = minus(plus(origin, run.lower), depth.lower);
          a.first = plus(rowsOfA.first, times(done, a.step));
          if (b.buffer)
            for (auto [first, ofAll] : llvm::zip_equal(b.first, columnsOfB.first))
              first = plus(ofAll, times(done, b.step));
          firstStep = run.lower;
          SmallVector<Value> before = sums;
          if (sumsBlocks())
            before.assign(sums.size(), arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vector)));
          SmallVector<Value> next = multiply(a, b, minus(run.upper, run.lower), before, signs);
          if (next.empty())
            return failure();
          if (!sumsBlocks()) {
            llvm::copy(next, sums.begin());
            return success();
          }
          exchangeBack(next);
          SmallVector<Value> columnPlaces;
          for (int64_t v = 0; v < vectors; ++v)
            columnPlaces.push_back(plus(column, v * blocking.lanes));
          at[product.k.back()] = {run.lower, 0, {}};
          return addBlockSums(at, columnPlaces, mask, a, run, next, sums);
        },
        sums);
    if (failed(done))
      return failure();
  }
  if (sums.empty())
    return failure();
  if (!sumsBlocks())
    exchangeBack(sums);
  for (auto [place, value] : llvm::zip_equal(sumPlaces, sums))
    vector::StoreOp::create(builder, loc, value, accumulators, place);
  return success();
}

LogicalResult ProductEmitter::finish(Range rows, Range columns) {
  return forEach(rows.lower, rows.upper, 1, [&](Value row) {
    SmallVector<LaneIndex> at = ivs;
    setPlace(at, product.m, {row, 0, {}});
    return forEach(columns.lower, columns.upper, blocking.lanes, [&](Value column) -> LogicalResult {
      at[product.n] = {column, 1, {}};
      Value mask = maskBelow(blocking.lanes, column, columns.upper, hasWholeColumns);
      Value sum = vector::LoadOp::create(builder, loc, vectorType(type.getElementType()), accumulators,
                                         accumulatorPlace(rows, columns, row, column, 0));
      evaluator->setMask(mask);
      evaluator->setSource(product.op.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
      LogicalResult stored = evaluator->store(product.results, ArrayRef<LaneIndex>(at).take_front(type.getRank()));
      evaluator->setSource(product.op.getResult(0), nullptr);
      evaluator->setMask({});
      return stored;
    });
  });
}

namespace {

struct CPULowerProductsPass : impl::CPULowerProductsPassBase<CPULowerProductsPass> {
  using CPULowerProductsPassBase::CPULowerProductsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<CPUProductAttr>(vxk::kStrategyAttr);
    if (!strategy)
      return;
    StringRef declined;
    std::optional<Product> product = matchProduct(function, declined);
    if (!product)
      return declineStrategy(function.getLoc(), strategy, declined);
    Blocking blocking = chooseBlocking(*product, strategy, vectorBits, registers, hasByteDots);
    if (failed(ProductEmitter(function, strategy, *product, blocking).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx

#include "BlockEmitter.h"
#include "Common/DeclineStrategy.h"
#include "Common/IndexFacts.h"
#include "Common/WorkgroupTile.h"
#include "ProductBlocking.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/CPU.h"
#include "vx/Codegen/CPU/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

#include <numeric>

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_CPULOWERPRODUCTSPASS
#include "vx/Codegen/CPU/Passes.h.inc"

namespace {

/// The loops of a blocked matrix product. A block of A is packed row by row, or column by column where its columns are
/// what lies together in memory; this is where its prologue, its padding and the patches of a convolution are computed.
/// Where there is nothing of these, its rows are read as they lie in memory. B is packed in columns of one vector each,
/// or lies so in memory already. Sums are kept on the stack from one block of k to the next, and the epilogue is
/// computed from there.
///
/// Of bytes, a step along k is four neighbours along the last k dimension, which lie together in the packed blocks. The
/// last step of a run of that dimension may reach beyond it: there B has zeros, and A anything.
class ProductEmitter : BlockEmitter {
public:
  ProductEmitter(func::FuncOp function, CPUProductAttr strategy, Product product, Blocking blocking)
      : BlockEmitter(function.getContext(), product.op.getLoc()), strategy(strategy), product(product),
        blocking(blocking), type(cast<RankedTensorType>(product.op.getResult(0).getType())) {}

  LogicalResult run();

private:
  void findSizes();
  LogicalResult emitBlock(Range rows, Range columns);
  /// Adds the products of a range of k to the sums of a block.
  LogicalResult addProducts(Range rows, Range columns, Range depth);
  /// Calls `body` for the columns of each group in a range, or once for all where there are no groups.
  LogicalResult forEachGroup(Range columns, function_ref<LogicalResult(Range)> body);
  LogicalResult packRows(Range rows, Range columns, Range depth);
  LogicalResult packColumnsOfA(Range rows, Range columns, Range depth);
  LogicalResult packColumns(Range columns, Range depth);
  /// The vector of B at the place `at`; of bytes the vectors of all neighbours of a step, interleaved.
  Value evaluateColumns(SmallVectorImpl<LaneIndex> &at);
  /// The vector of integers of 8 bits that bytes with two integers each hold.
  Value unpackHalves(Value bytes);
  /// The integers of 8 bits that are in the lower or the upper halves of bytes.
  Value takeHalves(Value bytes, bool areUpper);
  /// B of the integers in the lower or the upper halves of bytes, where each is one of `table`.
  Value lookHalvesUp(Value table, Value bytes, bool areUpper);
  /// B of each integer that half a byte may hold, in the order of their bits; null where no instruction looks floats
  /// up.
  Value makeTable();
  /// The vector of B at the place `at`, of a packed B whose elements are `loaded`.
  Value decode(Value loaded, ArrayRef<LaneIndex> at);
  /// The vector of B at the place `at` and step `k`, of a packed B.
  Value decodeColumns(SmallVectorImpl<LaneIndex> &at, Value k, Range columns);
  LogicalResult multiplyBlock(Range rows, Range columns, Range depth);
  LogicalResult multiplyColumns(Range rows, Range columns, Range depth, Value column, int64_t vectors);
  LogicalResult multiplyTile(Range rows, Range columns, Range depth, Value row, Value column, int64_t rowCount,
                             int64_t vectors);
  LogicalResult finish(Range rows, Range columns);

  /// Calls `body` for each place of the k dimensions in a range, with the places of its loops in `at`. The innermost
  /// dimension is a loop of its own, so that the others are found once for all of its places.
  LogicalResult forEachDepth(Range depth, SmallVectorImpl<LaneIndex> &at, function_ref<LogicalResult(Value)> body);
  /// Calls `body` for each run of places of the last of `dims` in `range`, which counts places of all of them, in
  /// row-major order: the run's range, and where it begins. Sets the loops of the others in `at`.
  /// `hasWholeRuns`: the range begins and ends with runs.
  LogicalResult forEachRun(Range range, ArrayRef<unsigned> dims, bool hasWholeRuns, SmallVectorImpl<LaneIndex> &at,
                           function_ref<LogicalResult(Range, Value)> body, MutableArrayRef<Value> carried = {});
  /// Sets the loops `dims` of `places` to the place `flat` in row-major order.
  void setPlace(SmallVectorImpl<LaneIndex> &places, ArrayRef<unsigned> dims, LaneIndex flat);
  Value accumulatorPlace(Range rows, Range columns, Value row, Value column, int64_t vector);
  /// Where the step `k` of a column lies in a packed B, in elements of memory.
  Value packedPlace(Value column, Value k);
  /// Elements of a packed B that an element of memory holds.
  int64_t perElement() const { return product.subByte ? 2 : 1; }
  VectorType vectorType(Type element) { return VectorType::get(blocking.lanes, element); }
  /// The lanes of two vectors, those of the first one first.
  SmallVector<int64_t> joinedLanes() { return llvm::to_vector(llvm::seq<int64_t>(0, 2 * blocking.lanes)); }
  /// The place of a step along k in a packed block or a packed tile whose steps have `elements` elements.
  Value stepPlace(Value step, int64_t elements) { return times(step, elements * product.neighbours); }

  CPUProductAttr strategy;
  Product product;
  Blocking blocking;
  RankedTensorType type;
  DenseMap<unsigned, Value> loopSizes;
  Value destination, packedA, accumulators;
  Value packedB;              // as memory has it, or null
  Value blockOfB;             // on the stack, or null
  bool readsBlockOfB = false; // the code that is emitted reads that block
  Value outerRows;            // of A, before those of this iteration of the loops over `outer`
  /// Elements of the last k dimension.
  Value innerLength;
  /// Steps of all k dimensions. `loopSizes` has the steps of the last one.
  Value depthSize;
  bool hasWholeColumns = false; // no vector reaches beyond a tile's columns
  bool hasWholeRuns = false;    // blocks along k end with runs of the last k dimension
  bool hasWholeRows = false;    // no vector of a column of A reaches beyond its last m dimension
  SmallVector<LaneIndex> ivs;
};

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
  readsBlockOfB = !product.packedB || blocking.decodesBlocks;
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
  unsigned inner = product.k.back();
  std::optional<int64_t> knownLength = getConstantIntValue(innerLength);
  bool isWhole = knownLength && *knownLength % blocking.packLanes == 0;
  evaluator->setLanes(blocking.packLanes);
  LogicalResult done = forEach(rows.lower, rows.upper, 1, [&](Value row) {
    SmallVector<LaneIndex> at = ivs;
    setPlace(at, product.m, {row, 0, {}});
    at[product.n] = {columns.lower, 0, {}};
    Value firstPlace = stepPlace(minus(row, rows.lower), blocking.depthBlock);
    return forEachRun(depth, product.k, hasWholeRuns, at, [&](Range range, Value origin) {
      Value start = plus(firstPlace, stepPlace(minus(origin, depth.lower), 1));
      Value lower = stepPlace(range.lower, 1), upper = stepPlace(range.upper, 1);
      return forEach(lower, upper, blocking.packLanes, [&](Value k) -> LogicalResult {
        at[inner] = {k, 1, {}};
        evaluator->setMask(maskBelow(blocking.packLanes, k, innerLength, isWhole));
        Value value = evaluator->evaluateInBody(product.op, product.a, at);
        if (!value)
          return failure();
        evaluator->setMask({});
        vector::StoreOp::create(builder, loc, evaluator->toVector(loc, value), packedA, plus(start, k));
        return success();
      });
    });
  });
  evaluator->setLanes(blocking.lanes);
  return done;
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

LogicalResult ProductEmitter::packColumns(Range columns, Range depth) {
  // Whole groups of vectors, so that the last group is multiplied like the others.
  Value groups =
      builder.createOrFold<arith::CeilDivUIOp>(loc, minus(columns.upper, columns.lower), index(blocking.columns()));
  Value end = plus(columns.lower, times(groups, blocking.columns()));
  return forEach(columns.lower, end, blocking.lanes, [&](Value column) {
    SmallVector<LaneIndex> at = ivs;
    at[product.n] = {column, 1, {}};
    Value mask = maskBelow(blocking.lanes, column, columns.upper, hasWholeColumns && blocking.vectors == 1);
    Value first = stepPlace(minus(column, columns.lower), blocking.depthBlock);
    return forEachDepth(depth, at, [&](Value k) -> LogicalResult {
      evaluator->setMask(mask);
      Value value = product.packedB ? decodeColumns(at, k, columns) : evaluateColumns(at);
      if (!value)
        return failure();
      evaluator->setMask({});
      vector::StoreOp::create(builder, loc, value, blockOfB,
                              plus(first, stepPlace(minus(k, depth.lower), blocking.lanes)));
      return success();
    });
  });
}

Value ProductEmitter::evaluateColumns(SmallVectorImpl<LaneIndex> &at) {
  auto evaluate = [&]() -> Value {
    Value value = evaluator->evaluateInBody(product.op, product.b, at);
    return value ? evaluator->toVector(loc, value) : Value();
  };
  if (product.neighbours == 1)
    return evaluate();
  unsigned inner = product.k.back();
  LaneIndex step = at[inner];
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType(builder.getI8Type())));
  Value last = minus(innerLength, index(1));
  bool isWhole = isMultipleOf(innerLength, product.neighbours);
  SmallVector<Value> parts;
  for (int64_t neighbour = 0; neighbour < product.neighbours; ++neighbour) {
    Value k = plus(stepPlace(step.base, 1), neighbour);
    at[inner] = {isWhole ? k : arith::MinUIOp::create(builder, loc, k, last).getResult(), 0, {}};
    Value value = evaluate();
    if (!value)
      return {};
    if (!isWhole) {
      Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, k, innerLength);
      value = arith::SelectOp::create(builder, loc, isInside, value, zero);
    }
    parts.push_back(value);
  }
  at[inner] = step;
  auto interleave = [&](Value even, Value odd) -> Value {
    return vector::InterleaveOp::create(builder, loc, even, odd);
  };
  return interleave(interleave(parts[0], parts[2]), interleave(parts[1], parts[3]));
}

Value ProductEmitter::packedPlace(Value column, Value k) {
  Value tile = index(product.tile);
  Value panel = builder.createOrFold<arith::DivUIOp>(loc, column, tile);
  Value within = builder.createOrFold<arith::RemUIOp>(loc, column, tile);
  Value place = stepPlace(plus(plus(times(times(panel, depthSize), tile), within), times(k, tile)), 1);
  return perElement() == 1 ? place : builder.createOrFold<arith::DivUIOp>(loc, place, index(perElement()));
}

Value ProductEmitter::unpackHalves(Value bytes) {
  // Two integers, in the halves of a byte, go to the halves of 64 bits.
  auto pairs = VectorType::get(blocking.lanes / 2, builder.getI64Type());
  auto constant = [&](VectorType type, int64_t value) -> Value {
    auto number = builder.getIntegerAttr(type.getElementType(), value);
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, number));
  };
  Value wide = arith::ExtUIOp::create(builder, loc, pairs, bytes);
  wide = arith::OrIOp::create(builder, loc, wide, arith::ShLIOp::create(builder, loc, wide, constant(pairs, 28)));
  VectorType words = vectorType(builder.getI32Type());
  Value halves = vector::BitCastOp::create(builder, loc, words, wide);
  if (product.subByte.isUnsigned()) {
    halves = arith::AndIOp::create(builder, loc, halves, constant(words, 15));
  } else {
    Value above = constant(words, 28);
    halves = arith::ShRSIOp::create(builder, loc, arith::ShLIOp::create(builder, loc, halves, above), above);
  }
  return arith::TruncIOp::create(builder, loc, vectorType(builder.getI8Type()), halves);
}

Value ProductEmitter::takeHalves(Value bytes, bool areUpper) {
  VectorType words = vectorType(builder.getI32Type());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(words, builder.getI32IntegerAttr(value)));
  };
  Value halves = arith::ExtUIOp::create(builder, loc, words, bytes);
  if (!product.subByte.isUnsigned())
    halves = arith::ShRSIOp::create(
        builder, loc, arith::ShLIOp::create(builder, loc, halves, constant(areUpper ? 24 : 28)), constant(28));
  else if (areUpper)
    halves = arith::ShRUIOp::create(builder, loc, halves, constant(4));
  else
    halves = arith::AndIOp::create(builder, loc, halves, constant(15));
  return arith::TruncIOp::create(builder, loc, vectorType(builder.getI8Type()), halves);
}

Value ProductEmitter::lookHalvesUp(Value table, Value bytes, bool areUpper) {
  VectorType words = vectorType(builder.getI32Type());
  Value places = arith::ExtUIOp::create(builder, loc, words, bytes);
  if (areUpper) {
    auto four = DenseElementsAttr::get(words, builder.getI32IntegerAttr(4));
    places = arith::ShRUIOp::create(builder, loc, places, arith::ConstantOp::create(builder, loc, four));
  }
  return vxk::LookupOp::create(builder, loc, table, places);
}

Value ProductEmitter::makeTable() {
  constexpr int8_t count = 16;
  if (blocking.lanes != count || !type.getElementType().isF32())
    return {};
  SmallVector<int8_t> integers;
  for (int8_t bits = 0; bits < count; ++bits)
    integers.push_back(product.subByte.isUnsigned() || bits < count / 2 ? bits : bits - count);
  auto all = DenseElementsAttr::get(vectorType(builder.getI8Type()), ArrayRef(integers));
  // An integer decides its element, so the place is any.
  SmallVector<LaneIndex> at = ivs;
  for (unsigned k : product.k)
    at[k] = {index(0), 0, {}};
  at[product.n] = {index(0), 1, {}};
  return decode(arith::ConstantOp::create(builder, loc, all), at);
}

Value ProductEmitter::decode(Value loaded, ArrayRef<LaneIndex> at) {
  evaluator->setSource(product.unpackedB, [&](ArrayRef<LaneIndex>) { return loaded; });
  Value value = evaluator->evaluateInBody(product.op, product.b, at);
  evaluator->setSource(product.unpackedB, nullptr);
  return value ? evaluator->toVector(loc, value) : Value();
}

Value ProductEmitter::decodeColumns(SmallVectorImpl<LaneIndex> &at, Value k, Range columns) {
  // A vector of the last group beyond the columns repeats the last one: nothing reads its sums.
  Value column = at[product.n].base;
  if (blocking.vectors > 1) {
    Value whole = minus(minus(columns.upper, index(1)), columns.lower);
    Value last =
        plus(columns.lower, minus(whole, builder.createOrFold<arith::RemUIOp>(loc, whole, index(blocking.lanes))));
    column = arith::MinUIOp::create(builder, loc, column, last);
  }
  Type element = cast<MemRefType>(packedB.getType()).getElementType();
  auto loaded = VectorType::get(blocking.lanes / perElement(), element);
  Value elements = vector::LoadOp::create(builder, loc, loaded, packedB, packedPlace(column, k));
  return decode(product.subByte ? unpackHalves(elements) : elements, at);
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
  const bool isPaired = product.decodesAlone && product.subByte && !readsBlockOfB && vectors % 2 == 0 &&
                        product.tile % (2 * blocking.lanes) == 0;
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
  auto exchange = [&](function_ref<std::pair<Value, Value>(Value, Value)> change) {
    for (size_t first = 0; isPaired && first < sums.size(); first += 2)
      std::tie(sums[first], sums[first + 1]) = change(sums[first], sums[first + 1]);
  };
  if (!blocking.isOneDepthBlock)
    exchange([&](Value low, Value high) {
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
  b.buffer = readsBlockOfB ? blockOfB : packedB;
  const int64_t shared = readsBlockOfB ? 1 : perElement();
  b.step = neighbours * (readsBlockOfB ? blocking.lanes : product.tile) / shared;
  b.elements = neighbours * blocking.lanes * (isPaired ? 2 : 1) / shared;
  SmallVector<Value> places;
  for (int64_t v = 0; v < vectors; v += isPaired ? 2 : 1) {
    places.push_back(plus(column, v * blocking.lanes));
    b.first.push_back(readsBlockOfB ? stepPlace(minus(places.back(), columns.lower), blocking.depthBlock)
                                    : packedPlace(places.back(), depth.lower));
  }
  SmallVector<LaneIndex> at = ivs;
  Value firstStep = depth.lower; // of a range, along the last k dimension
  if (product.isDecoded && !readsBlockOfB) {
    // Groups of several vectors end inside of the columns.
    Value mask = maskBelow(blocking.lanes, column, columns.upper, hasWholeColumns || vectors > 1);
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
          Value before = minus(plus(origin, run.lower), depth.lower);
          a.first = plus(rowsOfA.first, times(before, a.step));
          for (auto [first, ofAll] : llvm::zip_equal(b.first, columnsOfB.first))
            first = plus(ofAll, times(before, b.step));
          firstStep = run.lower;
          SmallVector<Value> next = multiply(a, b, minus(run.upper, run.lower), sums, signs);
          llvm::copy(next, sums.begin());
          return success(!next.empty());
        },
        sums);
    if (failed(done))
      return failure();
  }
  if (sums.empty())
    return failure();
  exchange([&](Value even, Value odd) {
    Value both = vector::InterleaveOp::create(builder, loc, even, odd);
    auto take = [&](int64_t from) -> Value {
      return vector::ExtractStridedSliceOp::create(builder, loc, both, from, blocking.lanes, 1);
    };
    return std::pair(take(0), take(blocking.lanes));
  });
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

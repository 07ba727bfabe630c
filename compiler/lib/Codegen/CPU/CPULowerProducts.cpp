#include "BlockEmitter.h"
#include "Common/DeclineStrategy.h"
#include "Common/IndexFacts.h"
#include "Common/WorkgroupTile.h"
#include "MatchProduct.h"
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

/// Sizes of the loops, in elements.
struct Blocking {
  int64_t lanes;         // of a vector
  int64_t rows, vectors; // of the accumulators that registers hold
  int64_t rowBlock;      // rows of A that are packed at once
  int64_t columnBlock;   // columns whose accumulators the stack holds beside them; whole groups of vectors
  int64_t depthBlock;    // of the packed A and B
  bool isOneDepthBlock = false;
  bool hasColumnsInA = false; // A is packed column by column
  int64_t plainStride = 0;    // of A's rows where they are read as they lie in memory; 0: they are packed
  int64_t columns() const { return vectors * lanes; }
};

/// The most rows, columns and k of a block, for elements of 4 bytes: what the stack of a kernel may hold, and a good
/// part of a second-level cache. A packed B leaves more for the others.
struct BlockLimits {
  int64_t rows, columns, depth;
};
constexpr BlockLimits kBlockLimits = {128, 128, 128}, kPackedBlockLimits = {132, 192, 256};

/// The loops of a blocked matrix product. A block of A is packed row by row, or column by column where its columns are
/// what lies together in memory; this is where its prologue, its padding and the patches of a convolution are computed.
/// Where there is nothing of these, its rows are read as they lie in memory. B is packed in columns of one vector each,
/// or lies so in memory already. Sums are kept on the stack from one block of k to the next, and the epilogue is
/// computed from there.
class ProductEmitter : BlockEmitter {
public:
  ProductEmitter(func::FuncOp function, CPUProductAttr strategy, Product product, Blocking blocking)
      : BlockEmitter(function.getContext(), product.op.getLoc()), strategy(strategy), product(product),
        blocking(blocking), type(cast<RankedTensorType>(product.op.getResult(0).getType())) {}

  LogicalResult run();

private:
  void findSizes();
  LogicalResult emitBlock(Range rows, Range columns);
  /// Calls `body` for the columns of each group in a range, or once for all where there are no groups.
  LogicalResult forEachGroup(Range columns, function_ref<LogicalResult(Range)> body);
  LogicalResult packRows(Range rows, Range columns, Range depth);
  LogicalResult packColumnsOfA(Range rows, Range columns, Range depth);
  LogicalResult packColumns(Range columns, Range depth);
  LogicalResult multiplyBlock(Range rows, Range columns, Range depth);
  LogicalResult multiplyColumns(Range rows, Range columns, Range depth, Value column, int64_t vectors);
  void multiplyTile(Range rows, Range columns, Range depth, Value row, Value column, int64_t rowCount, int64_t vectors);
  LogicalResult finish(Range rows, Range columns);

  /// Calls `body` for each place of the k dimensions in a range, with the places of its loops in `at`. The innermost
  /// dimension is a loop of its own, so that the others are found once for all of its places.
  LogicalResult forEachDepth(Range depth, SmallVectorImpl<LaneIndex> &at, function_ref<LogicalResult(Value)> body);
  /// Calls `body` for each run of places of the last of `dims` in `range`, which counts places of all of them, in
  /// row-major order: the run's range, and where it begins. Sets the loops of the others in `at`.
  LogicalResult forEachRun(Range range, ArrayRef<unsigned> dims, bool isWholeRange, SmallVectorImpl<LaneIndex> &at,
                           function_ref<LogicalResult(Range, Value)> body);
  /// Sets the loops `dims` of `places` to the place `flat` in row-major order.
  void setPlace(SmallVectorImpl<LaneIndex> &places, ArrayRef<unsigned> dims, LaneIndex flat);
  Value accumulatorPlace(Range rows, Range columns, Value row, Value column, int64_t vector);
  VectorType vectorType(Type element) { return VectorType::get(blocking.lanes, element); }

  CPUProductAttr strategy;
  Product product;
  Blocking blocking;
  RankedTensorType type;
  DenseMap<unsigned, Value> loopSizes;
  Value destination, packedA, packedB, accumulators;
  Value outerRows; // of A, before those of this iteration of the loops over `outer`
  Value depthSize;
  bool hasWholeColumns = false; // no vector reaches beyond a tile's columns
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
    depthSize = times(depthSize, loopSizes[k]);
  }
}

LogicalResult ProductEmitter::run() {
  destination = product.results.front().getDest();
  builder.setInsertionPoint(product.results.back());
  auto stackBuffer = [&](int64_t elements) -> Value {
    auto bufferType = MemRefType::get({elements}, type.getElementType());
    return memref::AllocaOp::create(builder, loc, bufferType, ValueRange(), builder.getI64IntegerAttr(64));
  };
  // A vector more, since what follows a row's last element is written before the next row is.
  if (blocking.plainStride == 0)
    packedA = stackBuffer(blocking.rowBlock * blocking.depthBlock + blocking.lanes);
  accumulators = stackBuffer(blocking.rowBlock * blocking.columnBlock);
  if (!product.packedB)
    packedB = stackBuffer(blocking.columnBlock * blocking.depthBlock);

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
    if ((!isPlain &&
         failed(blocking.hasColumnsInA ? packColumnsOfA(rows, columns, depth) : packRows(rows, columns, depth))) ||
        (!product.packedB && failed(packColumns(columns, depth))))
      return failure();
    return multiplyBlock(rows, columns, depth);
  };
  Range all = {index(0), depthSize};
  if (failed(blocking.isOneDepthBlock ? block(all) : forBlocks(all, blocking.depthBlock, block)))
    return failure();
  return finish(rows, columns);
}

LogicalResult ProductEmitter::forEachRun(Range range, ArrayRef<unsigned> dims, bool isWholeRange,
                                         SmallVectorImpl<LaneIndex> &at,
                                         function_ref<LogicalResult(Range, Value)> body) {
  ArrayRef<unsigned> outer = dims.drop_back();
  if (outer.empty())
    return body(range, index(0));
  Value run = loopSizes.lookup(dims.back());
  Value first = isWholeRange ? index(0) : builder.createOrFold<arith::DivUIOp>(loc, range.lower, run);
  Value last = builder.createOrFold<arith::CeilDivUIOp>(loc, range.upper, run);
  return forEach(first, last, 1, [&](Value number) {
    setPlace(at, outer, {number, 0, {}});
    Value origin = times(number, run);
    Range part = {index(0), run};
    if (!isWholeRange) {
      Value lower = minus(range.lower, origin), upper = minus(range.upper, origin);
      part = {arith::MaxSIOp::create(builder, loc, lower, index(0)), arith::MinSIOp::create(builder, loc, upper, run)};
    }
    return body(part, origin);
  });
}

LogicalResult ProductEmitter::forEachDepth(Range depth, SmallVectorImpl<LaneIndex> &at,
                                           function_ref<LogicalResult(Value)> body) {
  return forEachRun(depth, product.k, blocking.isOneDepthBlock, at, [&](Range run, Value origin) {
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
  Value run = loopSizes.lookup(inner);
  std::optional<int64_t> knownRun = getConstantIntValue(run);
  bool isWhole = knownRun && *knownRun % blocking.lanes == 0;
  return forEach(rows.lower, rows.upper, 1, [&](Value row) {
    SmallVector<LaneIndex> at = ivs;
    setPlace(at, product.m, {row, 0, {}});
    at[product.n] = {columns.lower, 0, {}};
    Value firstPlace = times(minus(row, rows.lower), blocking.depthBlock);
    return forEachRun(depth, product.k, blocking.isOneDepthBlock, at, [&](Range range, Value origin) {
      Value start = plus(firstPlace, minus(origin, depth.lower));
      return forEach(range.lower, range.upper, blocking.lanes, [&](Value k) -> LogicalResult {
        at[inner] = {k, 1, {}};
        evaluator->setMask(maskBelow(blocking.lanes, k, run, isWhole));
        Value value = evaluator->evaluateInBody(product.op, product.a, at);
        if (!value)
          return failure();
        evaluator->setMask({});
        vector::StoreOp::create(builder, loc, evaluator->toVector(loc, value), packedA, plus(start, k));
        return success();
      });
    });
  });
}

LogicalResult ProductEmitter::packColumnsOfA(Range rows, Range columns, Range depth) {
  unsigned inner = product.m.back();
  Value run = loopSizes.lookup(inner);
  SmallVector<LaneIndex> at = ivs;
  at[product.n] = {columns.lower, 0, {}};
  return forEachDepth(depth, at, [&](Value k) {
    Value firstPlace = times(minus(k, depth.lower), blocking.rowBlock);
    return forEachRun(rows, product.m, /*isWholeRange=*/false, at, [&](Range range, Value origin) {
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
    Value first = times(minus(column, columns.lower), blocking.depthBlock);
    return forEachDepth(depth, at, [&](Value k) -> LogicalResult {
      evaluator->setMask(mask);
      Value value = evaluator->evaluateInBody(product.op, product.b, at);
      if (!value)
        return failure();
      evaluator->setMask({});
      vector::StoreOp::create(builder, loc, evaluator->toVector(loc, value), packedB,
                              plus(first, times(minus(k, depth.lower), blocking.lanes)));
      return success();
    });
  });
}

LogicalResult ProductEmitter::multiplyBlock(Range rows, Range columns, Range depth) {
  Value width = minus(columns.upper, columns.lower), group = index(blocking.columns());
  if (!product.packedB) {
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
    multiplyTile(rows, columns, depth, row, column, count, vectors);
    return success();
  });
}

void ProductEmitter::multiplyTile(Range rows, Range columns, Range depth, Value row, Value column, int64_t rowCount,
                                  int64_t vectors) {
  VectorType vector = vectorType(type.getElementType());
  SmallVector<Value> sums, places;
  for (int64_t r = 0; r < rowCount; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      places.push_back(accumulatorPlace(rows, columns, plus(row, r), column, v));
      if (blocking.isOneDepthBlock)
        sums.push_back(arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vector)));
      else
        sums.push_back(vector::LoadOp::create(builder, loc, vector, accumulators, places.back()));
    }
  Value firstRow = minus(row, rows.lower);
  PackedRows a = {packedA, times(firstRow, blocking.depthBlock), rowCount, blocking.depthBlock, 1};
  if (blocking.hasColumnsInA)
    a = {packedA, firstRow, rowCount, 1, blocking.rowBlock};
  if (int64_t stride = blocking.plainStride)
    a = {packedA, plus(times(plus(outerRows, row), stride), depth.lower), rowCount, stride, 1};
  PackedColumns b = {
      packedB, {}, product.packedB ? product.tile : blocking.lanes, product.packedB ? product.widening : nullptr};
  for (int64_t v = 0; v < vectors; ++v) {
    Value place = plus(column, v * blocking.lanes);
    if (product.packedB) {
      Value tile = index(product.tile);
      Value panel = builder.createOrFold<arith::DivUIOp>(loc, place, tile);
      Value within = builder.createOrFold<arith::RemUIOp>(loc, place, tile);
      Value start = plus(times(times(panel, depthSize), tile), within);
      b.first.push_back(plus(start, times(depth.lower, tile)));
    } else {
      b.first.push_back(times(minus(place, columns.lower), blocking.depthBlock));
    }
  }
  sums = multiply(a, b, minus(depth.upper, depth.lower), sums);
  for (auto [place, value] : llvm::zip(places, sums))
    vector::StoreOp::create(builder, loc, value, accumulators, place);
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

/// The product of sizes, or nothing when one of them is known at run time only.
std::optional<int64_t> multiplySizes(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(result, size, result))
      return std::nullopt;
  return result;
}

Blocking chooseBlocking(Product &product, CPUProductAttr strategy, int64_t vectorBits, int64_t registers) {
  linalg::GenericOp op = product.op;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Blocking blocking;
  blocking.lanes = vectorBits / type.getElementTypeBitWidth();
  if (product.packedB) {
    // Vectors begin with a group, and are not to reach beyond a tile.
    int64_t columns = type.getDimSize(product.n);
    bool fitsGroups = product.group == 0 || product.group % product.tile == 0 ||
                      (!ShapedType::isDynamic(columns) && columns + blocking.lanes <= product.tile);
    if (product.tile % blocking.lanes != 0 || !fitsGroups)
      product.packedB = {};
  }
  BlockLimits limits = product.packedB ? kPackedBlockLimits : kBlockLimits;
  if (type.getElementTypeBitWidth() > 32)
    limits = {limits.rows, limits.columns / 2, limits.depth / 2};
  ArrayRef<int64_t> tiles = strategy.getTile();
  auto sizeOfTile = [&](unsigned dim) {
    int64_t size = type.getDimSize(dim), tile = dim < tiles.size() ? tiles[dim] : 0;
    return tile == 0 ? size : ShapedType::isDynamic(size) ? tile : std::min(tile, size);
  };

  // The widest register tile that the columns fill.
  int64_t columns = product.group > 0 ? product.group : sizeOfTile(product.n);
  ArrayRef<std::pair<int64_t, int64_t>> choices = getRegisterTiles(registers);
  int64_t vectors = ShapedType::isDynamic(columns) ? choices.front().second : llvm::divideCeil(columns, blocking.lanes);
  std::tie(blocking.rows, blocking.vectors) = *llvm::find_if(choices, [&](std::pair<int64_t, int64_t> choice) {
    return choice.second == 1 || vectors % choice.second == 0 || vectors > 2 * choices.front().second;
  });

  SmallVector<int64_t> rowSizes;
  for (unsigned m : llvm::reverse(product.m)) {
    rowSizes.push_back(sizeOfTile(m));
    if (m < tiles.size() && tiles[m] > 0)
      break;
  }
  int64_t rowCount = std::max<int64_t>(multiplySizes(rowSizes).value_or(limits.rows), 1);
  blocking.rows = std::min(blocking.rows, rowCount);
  // Blocks of whole vectors, where those of a column are stored.
  blocking.hasColumnsInA = product.hasColumnsInA && rowCount >= blocking.lanes;
  int64_t rowUnit = blocking.hasColumnsInA ? std::lcm(blocking.rows, blocking.lanes) : blocking.rows;
  blocking.rowBlock = getEvenBlock(rowCount, limits.rows, rowUnit);
  blocking.columnBlock =
      getEvenBlock(ShapedType::isDynamic(columns) ? limits.columns : columns, limits.columns, blocking.columns());

  SmallVector<int64_t> depthSizes;
  for (unsigned k : product.k) {
    auto [tensor, dimension] = shapeOfLoop(op, k);
    depthSizes.push_back(cast<ShapedType>(tensor.getType()).getDimSize(dimension));
  }
  std::optional<int64_t> depth = multiplySizes(depthSizes);
  // Rows whose elements all fall into one set of the cache are packed all the same.
  constexpr int64_t setBytes = 4096;
  if (product.plainA && depth && *depth > 0 && *depth * type.getElementTypeBitWidth() / 8 % setBytes != 0)
    blocking.plainStride = *depth;
  blocking.depthBlock = blocking.plainStride > 0 && product.packedB ? 2 * limits.depth : limits.depth;
  blocking.isOneDepthBlock = depth && *depth <= blocking.depthBlock;
  blocking.depthBlock = depth ? getEvenBlock(*depth, blocking.depthBlock, blocking.lanes)
                              : llvm::alignTo(blocking.depthBlock, blocking.lanes);
  return blocking;
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
    Blocking blocking = chooseBlocking(*product, strategy, vectorBits, registers);
    if (failed(ProductEmitter(function, strategy, *product, blocking).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx

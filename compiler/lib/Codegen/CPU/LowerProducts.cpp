#include "Common/ElementEvaluator.h"
#include "Common/WorkgroupTile.h"
#include "MatchProduct.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/CPU.h"
#include "vx/Codegen/CPU/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_LOWERPRODUCTSPASS
#include "vx/Codegen/CPU/Passes.h.inc"

namespace {

/// Sizes of the loops, in elements.
struct Blocking {
  int64_t lanes;          // of a vector
  int64_t rows, vectors;  // of the accumulators that registers hold
  int64_t rowBlock;       // rows whose accumulators the stack holds
  int64_t depthBlock;     // the outermost of the k loops is cut into blocks of so many iterations
  int64_t innerDepth = 1; // iterations of the other k loops
  int64_t columns() const { return vectors * lanes; }
};

constexpr int64_t kDepth = 512;      // of a packed panel
constexpr int64_t kRowBlock = 256;   // rows that reuse a packed panel
constexpr int64_t kMostDepth = 1024; // of a packed panel whose inner loops are not cut

class ProductEmitter {
public:
  ProductEmitter(func::FuncOp function, Product product, Blocking blocking)
      : function(function), product(product), blocking(blocking), builder(function.getContext()),
        loc(product.op.getLoc()), type(cast<RankedTensorType>(product.op.getResult(0).getType())) {}

  LogicalResult run();

private:
  LogicalResult emitRowBlock(Value rowLower, Value rowUpper);
  LogicalResult emitPanel(Value rowLower, Value rowUpper, Value column);
  LogicalResult pack(Value column, Value depthLower, Value depthUpper);
  LogicalResult multiply(Value rowLower, Value rowUpper, Value depthLower, Value depthUpper);
  LogicalResult multiplyRows(Value row, Value rowLower, int64_t rows, Value depthLower, Value depthUpper);
  LogicalResult finish(Value rowLower, Value rowUpper, Value column);

  /// Loops over the k dimensions; the body gets the number of the iteration in the block.
  LogicalResult forDepth(Value lower, Value upper, SmallVector<LaneIndex> &ivs, SmallVectorImpl<Value> &carried,
                         function_ref<LogicalResult(Value depth)> body);
  LogicalResult forEach(Value lower, Value upper, Value step, function_ref<LogicalResult(Value)> body);
  /// The place of vector `v` of row `row` in a panel of rows.
  Value panelPlace(Value row, int64_t vector);
  /// Sets ivs of the n dimensions for vector `v` of the panel at `column`, and the mask.
  void setColumns(SmallVectorImpl<LaneIndex> &ivs, Value column, int64_t vector);
  Value plus(Value lhs, Value rhs) { return evaluator->addIndices(loc, {lhs, 0, {}}, {rhs, 0, {}}).base; }
  Value times(Value lhs, Value rhs) { return evaluator->multiplyIndices(loc, {lhs, 0, {}}, {rhs, 0, {}}).base; }
  Value index(int64_t value) { return evaluator->constantIndex(value).base; }
  Value minus(Value lhs, Value rhs) { return builder.createOrFold<arith::SubIOp>(loc, lhs, rhs); }
  VectorType vectorType(Type element) { return VectorType::get(blocking.lanes, element); }

  func::FuncOp function;
  Product product;
  Blocking blocking;
  OpBuilder builder;
  Location loc;
  RankedTensorType type;
  std::optional<ElementEvaluator> evaluator;
  SmallVector<Value> columnSizes;
  Value destination, flatDestination, packed, accumulators;
  Value columnUpper;
  bool hasColumnTail = true;
  SmallVector<LaneIndex> ivs;
};

LogicalResult ProductEmitter::forEach(Value lower, Value upper, Value step, function_ref<LogicalResult(Value)> body) {
  scf::ForOp loop = evaluator->enterLoop(loc, lower, upper, step);
  if (failed(body(loop.getInductionVar())))
    return failure();
  evaluator->leaveLoop();
  return success();
}

Value ProductEmitter::panelPlace(Value row, int64_t vector) {
  return plus(times(row, index(blocking.columns())), index(vector * blocking.lanes));
}

LogicalResult ProductEmitter::run() {
  destination = product.result.getDest();
  builder.setInsertionPoint(product.result);
  Value number = vxk::WorkgroupIdOp::create(builder, loc);
  Value count = vxk::WorkgroupCountOp::create(builder, loc);
  Value isInGrid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, count);

  // The places of the n dimensions are one run of memory.
  SmallVector<ReassociationIndices> groups;
  for (unsigned d = 0; d < product.n.front(); ++d)
    groups.push_back({d});
  groups.emplace_back(product.n.begin(), product.n.end());
  flatDestination = destination;
  if (product.n.size() > 1)
    flatDestination = memref::CollapseShapeOp::create(builder, loc, destination, groups);
  auto stackBuffer = [&](int64_t rows) -> Value {
    auto bufferType = MemRefType::get({rows * blocking.columns()}, type.getElementType());
    return memref::AllocaOp::create(builder, loc, bufferType, ValueRange(), builder.getI64IntegerAttr(64));
  };
  packed = stackBuffer(blocking.depthBlock * blocking.innerDepth);
  accumulators = stackBuffer(blocking.rowBlock);

  auto guard = scf::IfOp::create(builder, loc, isInGrid, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(guard.thenBlock());
  evaluator.emplace(builder, blocking.lanes);
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    sizes.push_back(evaluator->sizeOf(destination, d));
  for (unsigned n : product.n)
    columnSizes.push_back(sizes[n]);
  auto strategy = function->getAttrOfType<StrategyAttr>(vxk::kStrategyAttr);
  WorkgroupTile tile = getWorkgroupTile(builder, loc, number, sizes, strategy.getWorkgroup());

  ivs.resize(product.op.getNumLoops());
  for (unsigned d : product.outer) {
    scf::ForOp loop = evaluator->enterLoop(loc, tile.lower[d], tile.upper[d], index(1));
    ivs[d] = {loop.getInductionVar(), 0, {}};
  }
  // Of several n dimensions only the first may be cut, so that the tile is one run too.
  Value columnLower = tile.lower[product.n.front()];
  columnUpper = tile.upper[product.n.front()];
  Value columns = columnSizes.front();
  for (Value size : ArrayRef<Value>(columnSizes).drop_front()) {
    columnLower = times(columnLower, size);
    columnUpper = times(columnUpper, size);
    columns = times(columns, size);
  }
  int64_t columnTile =
      product.n.front() < strategy.getWorkgroup().size() ? strategy.getWorkgroup()[product.n.front()] : 0;
  for (Value size : ArrayRef<Value>(columnSizes).drop_front())
    columnTile *= getConstantIntValue(size).value_or(0);
  std::optional<int64_t> knownColumns = getConstantIntValue(columns);
  hasColumnTail = !knownColumns || *knownColumns % blocking.columns() != 0 || columnTile % blocking.columns() != 0;

  Value rowLower = tile.lower[product.m], rowUpper = tile.upper[product.m];
  LogicalResult done = forEach(rowLower, rowUpper, index(blocking.rowBlock), [&](Value lower) {
    Value end = plus(lower, index(blocking.rowBlock));
    Value upper = arith::MinSIOp::create(builder, loc, end, rowUpper);
    return forEach(columnLower, columnUpper, index(blocking.columns()),
                   [&](Value column) { return emitPanel(lower, upper, column); });
  });
  if (failed(done))
    return failure();
  for (size_t d = 0; d < product.outer.size(); ++d)
    evaluator->leaveLoop();
  product.result.erase();
  return success();
}

LogicalResult ProductEmitter::emitPanel(Value rowLower, Value rowUpper, Value column) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType(type.getElementType())));
  Value rows = minus(rowUpper, rowLower);
  auto clear = forEach(index(0), rows, index(1), [&](Value row) {
    for (int64_t v = 0; v < blocking.vectors; ++v)
      vector::StoreOp::create(builder, loc, zero, accumulators, panelPlace(row, v));
    return success();
  });
  auto [depthTensor, depthDimension] = shapeOfLoop(product.op, product.k.front());
  Value depth = evaluator->sizeOf(depthTensor, depthDimension);
  auto blocks = forEach(index(0), depth, index(blocking.depthBlock), [&](Value lower) -> LogicalResult {
    Value end = plus(lower, index(blocking.depthBlock));
    Value upper = arith::MinSIOp::create(builder, loc, end, depth);
    if (failed(pack(column, lower, upper)))
      return failure();
    return multiply(rowLower, rowUpper, lower, upper);
  });
  if (failed(clear) || failed(blocks))
    return failure();
  return finish(rowLower, rowUpper, column);
}

void ProductEmitter::setColumns(SmallVectorImpl<LaneIndex> &places, Value column, int64_t vector) {
  Value base = plus(column, index(vector * blocking.lanes));
  auto split = evaluator->delinearize(loc, {base, 1, {}}, columnSizes);
  for (auto [n, place] : llvm::zip(product.n, split))
    places[n] = place;
  Value mask;
  if (hasColumnTail) {
    Value left = arith::SubIOp::create(builder, loc, columnUpper, base);
    mask = vector::CreateMaskOp::create(builder, loc, vectorType(builder.getI1Type()), left);
  }
  evaluator->setMask(mask);
}

LogicalResult ProductEmitter::forDepth(Value lower, Value upper, SmallVector<LaneIndex> &at,
                                       SmallVectorImpl<Value> &carried, function_ref<LogicalResult(Value depth)> body) {
  Value depth;
  for (auto [place, k] : llvm::enumerate(product.k)) {
    auto [tensor, dimension] = shapeOfLoop(product.op, k);
    Value size = evaluator->sizeOf(tensor, dimension);
    scf::ForOp loop =
        evaluator->enterLoop(loc, place == 0 ? lower : index(0), place == 0 ? upper : size, index(1), carried);
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    Value iv = loop.getInductionVar();
    at[k] = {iv, 0, {}};
    depth = place == 0 ? minus(iv, lower) : plus(times(depth, size), iv);
  }
  if (failed(body(depth)))
    return failure();
  for (size_t place = 0; place < product.k.size(); ++place) {
    auto loop = cast<scf::ForOp>(builder.getInsertionBlock()->getParentOp());
    evaluator->leaveLoop(carried);
    carried.assign(loop.result_begin(), loop.result_end());
  }
  return success();
}

LogicalResult ProductEmitter::pack(Value column, Value lower, Value upper) {
  // What depends on the column only is computed here, outside of the loops over k.
  SmallVector<SmallVector<LaneIndex>> places(blocking.vectors, ivs);
  SmallVector<Value> masks;
  for (int64_t v = 0; v < blocking.vectors; ++v) {
    setColumns(places[v], column, v);
    masks.push_back(evaluator->getMask());
  }
  SmallVector<Value> carried;
  SmallVector<LaneIndex> at = ivs;
  LogicalResult done = forDepth(lower, upper, at, carried, [&](Value depth) -> LogicalResult {
    for (int64_t v = 0; v < blocking.vectors; ++v) {
      for (unsigned k : product.k)
        places[v][k] = at[k];
      evaluator->setMask(masks[v]);
      Value value = evaluator->evaluateInBody(product.op, product.b, places[v]);
      if (!value)
        return failure();
      vector::StoreOp::create(builder, loc, evaluator->toVector(loc, value), packed, panelPlace(depth, v));
    }
    return success();
  });
  evaluator->setMask({});
  return done;
}

LogicalResult ProductEmitter::multiply(Value rowLower, Value rowUpper, Value depthLower, Value depthUpper) {
  Value lower = rowLower;
  // As many rows at once as there are registers for, then half as many, then one.
  SmallVector<int64_t> counts = {blocking.rows};
  if (blocking.rows / 2 > 1)
    counts.push_back(blocking.rows / 2);
  if (blocking.rows > 1)
    counts.push_back(1);
  for (int64_t count : counts) {
    Value upper = rowUpper;
    if (count > 1) {
      Value rest = arith::RemUIOp::create(builder, loc, minus(rowUpper, lower), index(count));
      upper = arith::SubIOp::create(builder, loc, rowUpper, rest);
    }
    LogicalResult done = forEach(lower, upper, index(count),
                                 [&](Value row) { return multiplyRows(row, rowLower, count, depthLower, depthUpper); });
    if (failed(done))
      return failure();
    lower = upper;
  }
  return success();
}

LogicalResult ProductEmitter::multiplyRows(Value row, Value rowLower, int64_t rows, Value depthLower,
                                           Value depthUpper) {
  VectorType vector = vectorType(type.getElementType());
  SmallVector<Value> carried, places;
  Value first = minus(row, rowLower);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < blocking.vectors; ++v) {
      places.push_back(panelPlace(plus(first, index(r)), v));
      carried.push_back(vector::LoadOp::create(builder, loc, vector, accumulators, places.back()));
    }
  SmallVector<LaneIndex> at = ivs;
  LogicalResult done = forDepth(depthLower, depthUpper, at, carried, [&](Value depth) -> LogicalResult {
    SmallVector<Value> columns;
    for (int64_t v = 0; v < blocking.vectors; ++v)
      columns.push_back(vector::LoadOp::create(builder, loc, vector, packed, panelPlace(depth, v)));
    for (int64_t r = 0; r < rows; ++r) {
      at[product.m] = evaluator->addIndices(loc, {row, 0, {}}, evaluator->constantIndex(r));
      Value element = evaluator->evaluateInBody(product.op, product.a, at);
      if (!element)
        return failure();
      Value factor = evaluator->toVector(loc, element);
      for (int64_t v = 0; v < blocking.vectors; ++v) {
        Value &sum = carried[r * blocking.vectors + v];
        auto contract = arith::FastMathFlags::contract;
        Value term = arith::MulFOp::create(builder, loc, factor, columns[v], contract);
        sum = arith::AddFOp::create(builder, loc, sum, term, contract);
      }
    }
    return success();
  });
  if (failed(done))
    return failure();
  for (auto [place, value] : llvm::zip(places, carried))
    vector::StoreOp::create(builder, loc, value, accumulators, place);
  return success();
}

LogicalResult ProductEmitter::finish(Value rowLower, Value rowUpper, Value column) {
  SmallVector<SmallVector<LaneIndex>> places(blocking.vectors, ivs);
  SmallVector<Value> masks;
  for (int64_t v = 0; v < blocking.vectors; ++v) {
    setColumns(places[v], column, v);
    masks.push_back(evaluator->getMask());
  }
  LogicalResult done = forEach(rowLower, rowUpper, index(1), [&](Value row) -> LogicalResult {
    Value first = minus(row, rowLower);
    for (int64_t v = 0; v < blocking.vectors; ++v) {
      Value place = panelPlace(first, v);
      places[v][product.m] = {row, 0, {}};
      evaluator->setMask(masks[v]);
      Value sum = vector::LoadOp::create(builder, loc, vectorType(type.getElementType()), accumulators, place);
      evaluator->setSource(product.op.getResult(0), [&](ArrayRef<LaneIndex>) { return sum; });
      Value value =
          evaluator->evaluate(product.result.getSource(), ArrayRef<LaneIndex>(places[v]).take_front(type.getRank()));
      if (!value)
        return failure();
      evaluator->setSource(product.op.getResult(0), nullptr);
      value = evaluator->toVector(loc, value);
      SmallVector<Value> at;
      for (unsigned d = 0; d < product.n.front(); ++d)
        at.push_back(places[v][d].base);
      at.push_back(plus(column, index(v * blocking.lanes)));
      if (masks[v])
        vector::MaskedStoreOp::create(builder, loc, flatDestination, at, masks[v], value);
      else
        vector::StoreOp::create(builder, loc, value, flatDestination, at);
    }
    return success();
  });
  evaluator->setMask({});
  return done;
}

/// The blocks for a product, or nothing when its loops do not suit.
std::optional<Blocking> chooseBlocking(const Product &product, StrategyAttr strategy, int64_t vectorBits,
                                       int64_t registers) {
  linalg::GenericOp op = product.op;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Blocking blocking;
  blocking.lanes = vectorBits / type.getElementTypeBitWidth();
  ArrayRef<int64_t> tiles = strategy.getWorkgroup();
  for (unsigned n : ArrayRef<unsigned>(product.n).drop_front())
    if (n < tiles.size() && tiles[n] != 0)
      return std::nullopt;
  for (unsigned k : ArrayRef<unsigned>(product.k).drop_front()) {
    auto [tensor, dimension] = shapeOfLoop(op, k);
    int64_t size = cast<ShapedType>(tensor.getType()).getDimSize(dimension);
    if (ShapedType::isDynamic(size) || size == 0)
      return std::nullopt;
    blocking.innerDepth *= size;
  }
  if (blocking.innerDepth > kMostDepth)
    return std::nullopt;
  int64_t depth = strategy.getReduction().empty() ? kDepth : strategy.getReduction().front();
  blocking.depthBlock = std::max<int64_t>(1, depth / blocking.innerDepth);
  auto [depthTensor, depthDimension] = shapeOfLoop(op, product.k.front());
  if (int64_t size = cast<ShapedType>(depthTensor.getType()).getDimSize(depthDimension); !ShapedType::isDynamic(size))
    blocking.depthBlock = std::max<int64_t>(1, std::min(blocking.depthBlock, size));

  // As many accumulators as fit beside one row of B and a broadcast of A; few columns give more rows.
  int64_t mostVectors = registers >= 32 ? 3 : 2;
  blocking.vectors = mostVectors;
  int64_t columns = 1;
  for (unsigned n : product.n)
    columns = type.isDynamicDim(n) || columns < 0 ? -1 : columns * type.getDimSize(n);
  if (columns > 0) {
    auto vectorsFor = [&](int64_t count) {
      int64_t panel = count * blocking.lanes;
      return (columns + panel - 1) / panel * count;
    };
    for (int64_t count = mostVectors - 1; count >= 1; --count)
      if (vectorsFor(count) < vectorsFor(blocking.vectors))
        blocking.vectors = count;
  }
  blocking.rows = (registers - blocking.vectors - (registers >= 32 ? 4 : 2)) / blocking.vectors;
  blocking.rows = std::min<int64_t>(blocking.rows, 12);
  int64_t rowSize = type.getDimSize(product.m);
  blocking.rowBlock = kRowBlock;
  if (product.m < tiles.size() && tiles[product.m] > 0)
    blocking.rowBlock = std::min(blocking.rowBlock, tiles[product.m]);
  if (!ShapedType::isDynamic(rowSize)) {
    blocking.rowBlock = std::max<int64_t>(1, std::min(blocking.rowBlock, rowSize));
    blocking.rows = std::max<int64_t>(1, std::min(blocking.rows, rowSize));
  }
  return blocking;
}

struct LowerProductsPass : impl::LowerProductsPassBase<LowerProductsPass> {
  using LowerProductsPassBase::LowerProductsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto strategy = function->getAttrOfType<StrategyAttr>(vxk::kStrategyAttr);
    if (!strategy || (strategy.getName() != "matmul" && strategy.getName() != "conv"))
      return;
    std::optional<Product> product = matchProduct(function);
    if (!product)
      return;
    std::optional<Blocking> blocking = chooseBlocking(*product, strategy, vectorBits, registers);
    if (!blocking)
      return;
    if (failed(ProductEmitter(function, *product, *blocking).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx

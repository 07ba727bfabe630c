#include "ColumnTiles.h"
#include "ElementEvaluator.h"
#include "FlatDims.h"
#include "IndexFacts.h"
#include "KeptValues.h"
#include "WorkgroupTile.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_LOWERTOLOOPSPASS
#include "vx/Codegen/Common/Passes.h.inc"

namespace {

/// True when a reduction that feeds `tensor` reads its operands along the last dimension of the result with a stride,
/// so that vectors belong along what it sums over.
bool readsAcrossLanes(Value tensor, int64_t rank, SmallPtrSetImpl<Operation *> &seen) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op || !seen.insert(op).second)
    return false;
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber()));
  if (outMap.getNumResults() != rank || rank == 0)
    return false;
  AffineExpr lane = outMap.getResult(rank - 1);
  if (op.getNumReductionLoops() != 0)
    for (OpOperand *input : op.getDpsInputOperands())
      for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults().drop_back(
               op.getMatchingIndexingMap(input).getNumResults() == 0 ? 0 : 1))
        if (expr == lane)
          return true;
  for (OpOperand *input : op.getDpsInputOperands())
    if (readsAcrossLanes(input->get(), rank, seen))
      return true;
  return false;
}

/// The dimension of the result along which neighbours in memory of something that it reads lie, where that is not the
/// last one: what is stored as a row is read as a column. `dims` are the result's dimensions that those of `tensor`
/// are.
std::optional<unsigned> findColumn(Value tensor, ArrayRef<std::optional<unsigned>> dims, unsigned rank,
                                   SmallPtrSetImpl<Operation *> &seen) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op) {
    // What does not change along a row is read once.
    bool changes = tensor.getDefiningOp<bufferization::ToTensorOp>() && llvm::is_contained(dims, rank - 1);
    return changes && dims.back() && *dims.back() + 1 < rank ? dims.back() : std::nullopt;
  }
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber()));
  if (op.getNumReductionLoops() != 0 || !outMap.isPermutation() || !seen.insert(op).second)
    return std::nullopt;
  for (OpOperand *input : op.getDpsInputOperands()) {
    SmallVector<std::optional<unsigned>> inputDims;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults()) {
      auto place = outMap.getResultPosition(expr);
      inputDims.push_back(place ? dims[*place] : std::nullopt);
    }
    if (std::optional<unsigned> column = findColumn(input->get(), inputDims, rank, seen))
      return column;
  }
  return std::nullopt;
}

/// The dimensions of the result on which a reduction that feeds `tensor` depends, where it is read for each place of
/// others, too. `dims` are the result's dimensions that those of `tensor` are.
std::optional<llvm::SmallBitVector> findSharedReduction(Value tensor, ArrayRef<std::optional<unsigned>> dims,
                                                        unsigned rank, SmallPtrSetImpl<Operation *> &seen) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op || !seen.insert(op).second)
    return std::nullopt;
  if (op.getNumReductionLoops() != 0) {
    llvm::SmallBitVector kept(rank);
    for (std::optional<unsigned> dim : dims)
      if (dim)
        kept.set(*dim);
    return kept.all() ? std::nullopt : std::optional(kept);
  }
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber()));
  if (!outMap.isPermutation())
    return std::nullopt;
  for (OpOperand *input : op.getDpsInputOperands()) {
    SmallVector<std::optional<unsigned>> inputDims;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults()) {
      auto place = outMap.getResultPosition(expr);
      inputDims.push_back(place ? dims[*place] : std::nullopt);
    }
    if (std::optional<llvm::SmallBitVector> kept = findSharedReduction(input->get(), inputDims, rank, seen))
      return kept;
  }
  return std::nullopt;
}

/// True when `tensor` is computed, element by element at the same places, of nothing but elements of 8 bits and less.
bool isOfBytes(Value tensor, SmallPtrSetImpl<Operation *> &seen) {
  auto isByte = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isInteger() && element.getIntOrFloatBitWidth() <= 8;
  };
  if (!isByte(tensor.getType()))
    return false;
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op || !seen.insert(op).second)
    return true;
  return op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getBody()->getOperations(),
                      [&](Operation &inner) {
                        return llvm::all_of(inner.getResultTypes(), isByte) && inner.getNumRegions() == 0;
                      }) &&
         llvm::all_of(op.getDpsInputs(), [&](Value input) { return isOfBytes(input, seen); });
}

/// True when a thread goes along what the strategy does not cut.
bool keepsRows(StrategyAttrInterface strategy) {
  auto rows = dyn_cast<RowsAttr>(strategy);
  return isa<ThreadRowsAttr>(strategy) || (rows && rows.getSharing() != RowSharing::columns);
}

/// True when elements that differ in their last index are neighbours in memory.
bool hasNeighbours(Value destination) {
  auto places = destination.getDefiningOp<vxk::PlacesOp>();
  if (!places || places.getSlice())
    return true;
  int64_t last = cast<MemRefType>(places.getBuffer().getType()).getRank() - 1;
  return !llvm::is_contained(places.getAxes(), last);
}

/// From so many vectors on, the rest at the end of a row takes little of its time.
constexpr int64_t longRow = 8;
/// Elements of a row up to which vectors of columns are stored in turns: as many shuffles for each vector.
constexpr int64_t mostInterleaved = 4;

class LoopEmitter {
public:
  LoopEmitter(func::FuncOp function, int64_t lanes, int64_t threads)
      : function(function), builder(function.getContext()), lanes(lanes), threads(threads) {}

  LogicalResult run() {
    if (failed(lowerScans()))
      return failure();
    SmallVector<Result> results(function.getOps<Result>());
    if (!results.empty() && failed(emitResults(results)))
      return failure();
    eraseTensors();
    return success();
  }

private:
  using Result = bufferization::MaterializeInDestinationOp;

  /// Loops that the conversion made itself, for ops that go through their input element by element.
  LogicalResult lowerScans() {
    SmallVector<tensor::ExtractOp> reads;
    function.walk([&](tensor::ExtractOp read) {
      if (!read->getParentOfType<linalg::GenericOp>())
        reads.push_back(read);
    });
    for (tensor::ExtractOp read : reads) {
      builder.setInsertionPoint(read);
      ElementEvaluator evaluator(builder, /*lanes=*/1);
      SmallVector<LaneIndex> indices;
      for (Value index : read.getIndices())
        indices.push_back({index, 0, {}});
      Value element = evaluator.evaluate(read.getTensor(), indices);
      if (!element)
        return failure();
      read.replaceAllUsesWith(element);
      read.erase();
    }
    return success();
  }

  LogicalResult emitResults(MutableArrayRef<Result> results) {
    Location loc = function.getLoc();
    builder.setInsertionPoint(results.back());
    Value number = enterWorkgroup(builder, loc);
    Operation *end = &*builder.getInsertionPoint();
    auto strategy = function->getAttrOfType<StrategyAttrInterface>(vxk::kStrategyAttr);
    bool byRows = keepsRows(strategy);
    // All results of one shape share the tiles; another one is computed by the first workgroup.
    auto shapeOf = [](Result result) { return cast<ShapedType>(Value(result.getSource()).getType()).getShape(); };
    SmallVector<Result> tiled, others;
    for (Result result : results)
      (shapeOf(result) == shapeOf(results.front()) ? tiled : others).push_back(result);
    if (failed(emitTogether(tiled, number, strategy.getWorkgroupTile(), byRows)))
      return failure();
    for (Result result : others) {
      builder.setInsertionPoint(end);
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, number, zero);
      auto first = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
      builder.setInsertionPoint(first.thenBlock()->getTerminator());
      if (failed(emitTogether(result, number, {}, byRows)))
        return failure();
    }
    for (Result result : results) {
      auto places = result.getDest().getDefiningOp<vxk::PlacesOp>();
      result.erase();
      if (places)
        places.erase();
    }
    return success();
  }

  LogicalResult emitTogether(ArrayRef<Result> results, Value workgroup, ArrayRef<int64_t> tiles, bool byRows) {
    Result front = results.front();
    Value destination = front.getDest();
    Location loc = front.getLoc();
    auto type = cast<RankedTensorType>(Value(front.getSource()).getType());
    int64_t rank = type.getRank();
    int64_t width = lanes;
    bool alongResult = rank > 0 && hasNeighbours(destination) && llvm::none_of(results, [&](Result result) {
                         SmallPtrSet<Operation *, 8> seen;
                         return readsAcrossLanes(result.getSource(), rank, seen);
                       });
    // Vectors go on from a short row to the next where both are one run of memory.
    unsigned flat = rank;
    const bool isKnownRow = alongResult && threads == 1 && lanes > 1 && !type.isDynamicDim(rank - 1);
    auto flattens = [&](int64_t width) {
      return isKnownRow && type.getDimSize(rank - 1) < longRow * width && type.getDimSize(rank - 1) % width != 0;
    };
    if (flattens(lanes))
      flat = findFlatDims(results, tiles);
    const bool interleaves = flat == rank && alongResult && isInterleaved(results, tiles);
    if (isKnownRow && !interleaves && mayBeWide(results)) {
      // Four times as many bytes as elements of 32 bits fill a register.
      const int64_t wide = 4 * lanes;
      const unsigned wideFlat = flattens(wide) ? findFlatDims(results, tiles) : flat;
      if (wideFlat < rank || !flattens(wide)) {
        width = wide;
        flat = wideFlat;
      }
    }
    // Vectors no longer than a dimension that is known to be short.
    if (flat == rank && alongResult && !interleaves && !type.isDynamicDim(rank - 1)) {
      alongResult = type.getDimSize(rank - 1) > 1;
      while (alongResult && width > 2 && width / 2 >= type.getDimSize(rank - 1))
        width /= 2;
    }
    ElementEvaluator evaluator(builder, width);
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < rank; ++d)
      sizes.push_back(evaluator.sizeOf(destination, d));
    WorkgroupTile tile = getWorkgroupTile(builder, loc, workgroup, sizes, tiles);
    if (threads > 1)
      return emitThreads(evaluator, results, tile, byRows);
    if (flat < rank)
      return emitFlat(evaluator, results, tile, sizes, flat);
    if (interleaves)
      return emitInterleaved(evaluator, front, tile);
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, rank));
    SmallVector<std::optional<unsigned>> own(order.begin(), order.end());
    SmallPtrSet<Operation *, 8> seen;
    // A reduction is computed in the loops over the dimensions on which it depends, around the loops over the others.
    std::optional<llvm::SmallBitVector> outer = findSharedReduction(front.getSource(), own, rank, seen);
    if (outer)
      llvm::sort(order,
                 [&](unsigned a, unsigned b) { return std::pair(!outer->test(a), a) < std::pair(!outer->test(b), b); });
    seen.clear();
    // What is read as columns is taken by blocks of whole lines of the cache, each place of a block beside the next.
    std::optional<unsigned> column;
    if (llvm::is_sorted(order))
      column = findColumn(front.getSource(), own, rank, seen);
    const int64_t side = column && alongResult && lanes > 1 && results.size() == 1
                             ? getColumnTileWidth(front, *column, tiles, lanes)
                             : 0;
    Value isWide = side > 0 ? getWidthCondition(loc, type, tile, *column, side) : Value();
    if (side > 0 && !isWide)
      return emitColumnTiles(builder, evaluator, front, tile, *column, side);
    if (isWide) {
      evaluator.enterIf(loc, isWide);
      if (failed(emitColumnTiles(builder, evaluator, front, tile, *column, side)))
        return failure();
      evaluator.leaveIf();
      evaluator.setLanes(width);
      Value isTrue = arith::ConstantIntOp::create(builder, loc, 1, 1);
      evaluator.enterIf(loc, arith::XOrIOp::create(builder, loc, isWide, isTrue));
    }
    if (column) {
      constexpr int64_t lineBits = 512;
      Value step = evaluator.constantIndex(lineBits / std::max(type.getElementTypeBitWidth(), 8u)).base;
      scf::ForOp blocks = evaluator.enterLoop(loc, tile.lower[*column], tile.upper[*column], step);
      Value end = arith::AddIOp::create(builder, loc, blocks.getInductionVar(), step);
      tile.lower[*column] = blocks.getInductionVar();
      tile.upper[*column] = arith::MinUIOp::create(builder, loc, end, tile.upper[*column]);
      order.erase(order.begin() + *column);
      order.insert(order.end() - 1, *column);
    }
    kept.reset();
    if (!column && results.size() == 1)
      kept = findKeptValue(front, tile);
    SmallVector<LaneIndex> indices(rank);
    LogicalResult done = emitNest(evaluator, results, tile, order, indices, width > 1 && alongResult);
    if (column)
      evaluator.leaveLoop();
    if (isWide)
      evaluator.leaveIf();
    return done;
  }

  /// That the box has `side` elements at the least along `column` and along the last dimension; null if both sizes are
  /// known, and so have them.
  Value getWidthCondition(Location loc, RankedTensorType type, const WorkgroupTile &tile, unsigned column,
                          int64_t side) {
    Value least = arith::ConstantIndexOp::create(builder, loc, side), all;
    for (unsigned d : {column, static_cast<unsigned>(type.getRank()) - 1}) {
      if (!type.isDynamicDim(d))
        continue;
      Value extent = arith::SubIOp::create(builder, loc, tile.upper[d], tile.lower[d]);
      Value isWide = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, extent, least);
      all = all ? arith::AndIOp::create(builder, loc, all, isWide).getResult() : isWide;
    }
    return all;
  }

  /// True where all results are of bytes, and none is read along a column.
  static bool mayBeWide(ArrayRef<Result> results) {
    return llvm::all_of(results, [](Result result) {
      SmallPtrSet<Operation *, 8> seen;
      if (!isOfBytes(result.getSource(), seen))
        return false;
      const unsigned rank = cast<RankedTensorType>(Value(result.getSource()).getType()).getRank();
      SmallVector<std::optional<unsigned>> own;
      for (unsigned d = 0; d < rank; ++d)
        own.push_back(d);
      seen.clear();
      return !findColumn(result.getSource(), own, rank, seen);
    });
  }

  static bool isOrderOf(ArrayRef<unsigned> order, SmallVector<unsigned> dims) {
    return std::is_permutation(order.begin(), order.end(), dims.begin(), dims.end());
  }

  /// Computes the reduction, which stores the elements that it reads into `memref`; `body` loads them from there.
  LogicalResult emitKept(ElementEvaluator &evaluator, const KeptValue &value, Value memref, ArrayRef<LaneIndex> indices,
                         function_ref<LogicalResult()> body) {
    linalg::GenericOp producer = value.producer, reduction = value.reduction;
    Location loc = producer.getLoc();
    Value elements = producer.getResult(0);
    evaluator.setSource(elements, [&](ArrayRef<LaneIndex> at) {
      Value element = evaluator.compute(elements, at);
      if (element)
        evaluator.store(loc, element, memref, at);
      return element;
    });
    SmallVector<LaneIndex> row;
    for (AffineExpr expr : reduction.getMatchingIndexingMap(reduction.getDpsInitOperand(0)).getResults())
      row.push_back(indices[cast<AffineDimExpr>(expr).getPosition()]);
    const bool isReduced = static_cast<bool>(evaluator.evaluate(reduction.getResult(0), row));
    evaluator.setSource(elements, [&](ArrayRef<LaneIndex> at) { return evaluator.load(loc, memref, at); });
    LogicalResult done = isReduced ? body() : failure();
    evaluator.setSource(elements, nullptr);
    return done;
  }

  /// Loops over the dimensions `order`. Vectors lie along the last dimension of the result.
  LogicalResult emitNest(ElementEvaluator &evaluator, ArrayRef<Result> results, const WorkgroupTile &tile,
                         ArrayRef<unsigned> order, SmallVectorImpl<LaneIndex> &indices, bool useLanes) {
    Result front = results.front();
    Location loc = Value(front.getSource()).getLoc();
    if (order.empty())
      return evaluator.store(results, indices);
    if (kept && isOrderOf(order, kept->getReduced())) {
      const KeptValue value = *std::exchange(kept, std::nullopt);
      LogicalResult done = emitKept(evaluator, value, front.getDest(), indices,
                                    [&] { return emitNest(evaluator, results, tile, order, indices, useLanes); });
      kept = value;
      return done;
    }
    unsigned d = order.front();
    Value one = evaluator.constantIndex(1).base;
    if (d + 1 < indices.size() || !useLanes) {
      scf::ForOp loop = evaluator.enterLoop(loc, tile.lower[d], tile.upper[d], one);
      indices[d] = {loop.getInductionVar(), 0, {}};
      if (failed(emitNest(evaluator, results, tile, order.drop_front(), indices, useLanes)))
        return failure();
      evaluator.leaveLoop();
      return success();
    }
    int64_t width = evaluator.getLanes();
    bool isWhole = isMultipleOf(evaluator.sizeOf(front.getDest(), d), width) && isMultipleOf(tile.lower[d], width);
    return forLanes(evaluator, loc, tile.lower[d], tile.upper[d], isWhole, [&](LaneIndex lanesAt) {
      indices[d] = lanesAt;
      return emitNest(evaluator, results, tile, order.drop_front(), indices, useLanes);
    });
  }

  /// Calls `body` in a loop over vectors, and once more with a mask for the rest, unless `isWhole`.
  LogicalResult forLanes(ElementEvaluator &evaluator, Location loc, Value lower, Value upper, bool isWhole,
                         function_ref<LogicalResult(LaneIndex)> body) {
    int64_t width = evaluator.getLanes();
    Value step = evaluator.constantIndex(width).base;
    Value extent = builder.createOrFold<arith::SubIOp>(loc, upper, lower);
    Value rest = builder.createOrFold<arith::RemUIOp>(loc, extent, step);
    Value mainEnd = builder.createOrFold<arith::SubIOp>(loc, upper, rest);
    scf::ForOp main = evaluator.enterLoop(loc, lower, mainEnd, step);
    evaluator.beginLanes();
    if (failed(body({main.getInductionVar(), 1, {}})))
      return failure();
    evaluator.endLanes();
    evaluator.leaveLoop();
    if (isWhole)
      return success();
    scf::ForOp tail = evaluator.enterLoop(loc, mainEnd, upper, step);
    Value left = arith::SubIOp::create(builder, loc, upper, tail.getInductionVar());
    Value mask = vector::CreateMaskOp::create(builder, loc, VectorType::get(width, builder.getI1Type()), left);
    evaluator.setMask(mask);
    evaluator.beginLanes();
    if (failed(body({tail.getInductionVar(), 1, {}})))
      return failure();
    evaluator.endLanes();
    evaluator.setMask({});
    evaluator.leaveLoop();
    return success();
  }

  /// True where a result of few elements in a row is read along its columns: planes of channels become pixels.
  bool isInterleaved(ArrayRef<Result> results, ArrayRef<int64_t> tiles) {
    Result front = results.front();
    auto type = cast<RankedTensorType>(Value(front.getSource()).getType());
    const unsigned rank = type.getRank();
    if (threads > 1 || lanes < 8 || results.size() > 1 || rank < 2 || type.isDynamicDim(rank - 1) ||
        front.getDest().getDefiningOp<vxk::PlacesOp>() || (rank - 1 < tiles.size() && tiles[rank - 1] > 0))
      return false;
    SmallVector<std::optional<unsigned>> own;
    for (unsigned d = 0; d < rank; ++d)
      own.push_back(d);
    SmallPtrSet<Operation *, 8> seen;
    if (findSharedReduction(front.getSource(), own, rank, seen))
      return false;
    seen.clear();
    return type.getDimSize(rank - 1) > 1 && type.getDimSize(rank - 1) <= mostInterleaved &&
           findColumn(front.getSource(), own, rank, seen) == rank - 2;
  }

  /// Vectors along the last dimension but one, one for each element of a row, whose lanes are stored in turns.
  LogicalResult emitInterleaved(ElementEvaluator &evaluator, Result result, const WorkgroupTile &tile) {
    Location loc = Value(result.getSource()).getLoc();
    Value memref = result.getDest();
    const int64_t rank = tile.lower.size(), columns = cast<MemRefType>(memref.getType()).getDimSize(rank - 1);
    SmallVector<ReassociationIndices> groups;
    for (int64_t d = 0; d + 2 < rank; ++d)
      groups.push_back({d});
    groups.push_back({rank - 2, rank - 1});
    Value flat = memref::CollapseShapeOp::create(builder, loc, memref, groups);
    SmallVector<LaneIndex> indices(rank);
    for (int64_t d = 0; d + 2 < rank; ++d) {
      scf::ForOp loop = evaluator.enterLoop(loc, tile.lower[d], tile.upper[d], evaluator.constantIndex(1).base);
      indices[d] = {loop.getInductionVar(), 0, {}};
    }
    Value lower = tile.lower[rank - 2], upper = tile.upper[rank - 2];
    const bool isWhole = isMultipleOf(lower, lanes) && isMultipleOf(upper, lanes);
    LogicalResult done = forLanes(evaluator, loc, lower, upper, isWhole, [&](LaneIndex at) {
      indices[rank - 2] = at;
      SmallVector<Value> values;
      for (int64_t column = 0; column < columns; ++column) {
        indices[rank - 1] = evaluator.constantIndex(column);
        Value value = evaluator.evaluate(result.getSource(), indices);
        if (!value)
          return failure();
        values.push_back(evaluator.toVector(loc, value));
      }
      storeInTurns(evaluator, loc, values, flat, ArrayRef(indices).take_front(rank - 2), at.base, upper);
      return success();
    });
    for (int64_t d = 0; d + 2 < rank; ++d)
      evaluator.leaveLoop();
    return done;
  }

  /// Stores the first elements of all `values`, then the second ones and so on, of the rows from `row` to `upper`.
  void storeInTurns(ElementEvaluator &evaluator, Location loc, ArrayRef<Value> values, Value flat,
                    ArrayRef<LaneIndex> outer, Value row, Value upper) {
    const auto columns = static_cast<int64_t>(values.size());
    const LaneIndex count = evaluator.constantIndex(columns);
    LaneIndex first = evaluator.multiplyIndices(loc, {row, 0, {}}, count);
    Value mask = evaluator.getMask();
    for (int64_t part = 0; part < columns; ++part) {
      Value stored = values.front();
      for (int64_t column = 0; column < columns; ++column) {
        SmallVector<int64_t> order;
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const int64_t element = part * lanes + lane;
          order.push_back(element % columns == column ? lanes + element / columns : lane);
        }
        stored = vector::ShuffleOp::create(builder, loc, stored, values[column], order);
      }
      SmallVector<LaneIndex> at(outer);
      at.push_back(evaluator.addIndices(loc, first, evaluator.constantIndex(part * lanes)));
      at.back().stride = 1;
      if (mask) {
        Value end = evaluator.multiplyIndices(loc, {upper, 0, {}}, count).base;
        Value left = arith::SubIOp::create(builder, loc, end, at.back().base);
        evaluator.setMask(
            vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), left));
      }
      evaluator.store(loc, stored, flat, at);
    }
    evaluator.setMask(mask);
  }

  /// Loops over the dimensions before `flat`, and one over vectors through all from there on.
  LogicalResult emitFlat(ElementEvaluator &evaluator, ArrayRef<Result> results, const WorkgroupTile &tile,
                         ArrayRef<Value> sizes, unsigned flat) {
    Result front = results.front();
    Location loc = Value(front.getSource()).getLoc();
    SmallVector<LaneIndex> indices(sizes.size());
    for (unsigned d = 0; d < flat; ++d) {
      scf::ForOp loop = evaluator.enterLoop(loc, tile.lower[d], tile.upper[d], evaluator.constantIndex(1).base);
      indices[d] = {loop.getInductionVar(), 0, {}};
    }
    LaneIndex row = evaluator.constantIndex(1);
    for (Value size : sizes.drop_front(flat + 1))
      row = evaluator.multiplyIndices(loc, row, {size, 0, {}});
    auto inElements = [&](Value count) { return evaluator.multiplyIndices(loc, {count, 0, {}}, row).base; };
    Value lower = inElements(tile.lower[flat]), upper = inElements(tile.upper[flat]);
    int64_t width = evaluator.getLanes();
    LogicalResult done = forLanes(
        evaluator, loc, lower, upper, isMultipleOf(lower, width) && isMultipleOf(upper, width), [&](LaneIndex at) {
          SmallVector<LaneIndex> parts = evaluator.delinearize(loc, at, sizes.drop_front(flat));
          std::copy(parts.begin(), parts.end(), indices.begin() + flat);
          return evaluator.store(results, indices);
        });
    for (unsigned d = 0; d < flat; ++d)
      evaluator.leaveLoop();
    return done;
  }

  /// The elements of the tile, strided by thread; or, by rows, the places along the tiled dimensions only, with loops
  /// over the others inside of a thread.
  LogicalResult emitThreads(ElementEvaluator &evaluator, ArrayRef<Result> results, const WorkgroupTile &tile,
                            bool byRows) {
    Result front = results.front();
    Location loc = Value(front.getSource()).getLoc();
    size_t rank = tile.lower.size();
    SmallVector<bool> isSpread(rank, !byRows);
    if (byRows)
      for (unsigned d : tile.tiled)
        isSpread[d] = true;
    Value total = evaluator.constantIndex(1).base;
    SmallVector<Value> extents(rank);
    for (size_t d = 0; d < rank; ++d)
      if (isSpread[d]) {
        extents[d] = builder.createOrFold<arith::SubIOp>(loc, tile.upper[d], tile.lower[d]);
        total = builder.createOrFold<arith::MulIOp>(loc, total, extents[d]);
      }
    Value thread = vxk::ThreadIdOp::create(builder, loc);
    scf::ForOp loop = evaluator.enterLoop(loc, thread, total, evaluator.constantIndex(threads).base);
    Value rest = loop.getInductionVar();
    SmallVector<LaneIndex> indices(rank);
    for (size_t d = rank; d-- > 0;) {
      if (!isSpread[d])
        continue;
      bool hasOuter = llvm::any_of(ArrayRef<bool>(isSpread).take_front(d), [](bool spread) { return spread; });
      Value place = rest;
      if (hasOuter) {
        place = arith::RemUIOp::create(builder, loc, rest, extents[d]);
        rest = arith::DivUIOp::create(builder, loc, rest, extents[d]);
      }
      indices[d] = {builder.createOrFold<arith::AddIOp>(loc, tile.lower[d], place), 0, {}};
    }
    size_t loops = 0;
    for (size_t d = 0; d < rank; ++d)
      if (!isSpread[d]) {
        scf::ForOp inner = evaluator.enterLoop(loc, tile.lower[d], tile.upper[d], evaluator.constantIndex(1).base);
        indices[d] = {inner.getInductionVar(), 0, {}};
        ++loops;
      }
    if (failed(evaluator.store(results, indices)))
      return failure();
    for (; loops > 0; --loops)
      evaluator.leaveLoop();
    evaluator.leaveLoop();
    return success();
  }

  /// The tensor ops have no user left.
  void eraseTensors() {
    Block &block = function.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      bool isTensorOp = llvm::any_of(op.getResultTypes(), [](Type type) { return isa<TensorType>(type); });
      if (isTensorOp && op.use_empty())
        op.erase();
    }
  }

  func::FuncOp function;
  OpBuilder builder;
  int64_t lanes, threads;
  std::optional<KeptValue> kept; // of the results that are computed now
};

struct LowerToLoopsPass : impl::LowerToLoopsPassBase<LowerToLoopsPass> {
  using LowerToLoopsPassBase::LowerToLoopsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(vxk::kKernelAttr))
      return;
    if (!function->getAttrOfType<StrategyAttrInterface>(vxk::kStrategyAttr)) {
      function.emitOpError() << "expects a strategy in '" << vxk::kStrategyAttr << "', got none";
      return signalPassFailure();
    }
    int64_t threads = 1;
    if (auto attribute = function->getAttrOfType<IntegerAttr>(vxk::kThreadsAttr))
      threads = attribute.getInt();
    if (failed(LoopEmitter(function, threads > 1 ? 1 : lanes.getValue(), threads).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx

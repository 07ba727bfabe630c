#include "ColumnTiles.h"
#include "TransposeSquare.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {

namespace {

/// True if all that `tensor` is computed from in memory has no dimension `column`, or has it last. `dims` are the
/// result's dimensions that those of `tensor` are.
bool readsColumnsOnly(Value tensor, ArrayRef<std::optional<unsigned>> dims, unsigned column) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return !dims.empty() ? !llvm::is_contained(dims.drop_back(), column) : true;
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber()));
  if (op.getNumReductionLoops() != 0 || !outMap.isPermutation())
    return false;
  // What is read at computed places lies anywhere.
  if (op.getBody()->walk([](tensor::ExtractOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return false;
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    SmallVector<std::optional<unsigned>> inputDims;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults()) {
      std::optional<unsigned> place = outMap.getResultPosition(expr);
      inputDims.push_back(place ? dims[*place] : std::nullopt);
    }
    return readsColumnsOnly(input->get(), inputDims, column);
  });
}

} // namespace

int64_t getColumnTileWidth(bufferization::MaterializeInDestinationOp result, unsigned column, ArrayRef<int64_t> tiles,
                           int64_t lanes) {
  auto type = cast<RankedTensorType>(Value(result.getSource()).getType());
  const unsigned rank = type.getRank();
  const int64_t bits = type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 64;
  if (bits < 8 || result.getDest().getDefiningOp<vxk::PlacesOp>())
    return 0;
  SmallVector<std::optional<unsigned>> dims;
  for (unsigned d = 0; d < rank; ++d)
    dims.push_back(d);
  if (!readsColumnsOnly(result.getSource(), dims, column))
    return 0;
  constexpr int64_t word = 32, leastRegister = 128, least = 4;
  int64_t width = bits < word ? std::max(lanes * word / 2, leastRegister) / bits : lanes * word / bits;
  for (unsigned d : {column, rank - 1}) {
    if (type.isDynamicDim(d))
      continue;
    int64_t part = type.getDimSize(d);
    if (d < tiles.size() && tiles[d] > 0 && tiles[d] < part)
      part = part % tiles[d] != 0 ? part % tiles[d] : tiles[d];
    while (width > part)
      width /= 2;
  }
  return width >= least ? width : 0;
}

LogicalResult emitColumnTiles(OpBuilder &builder, ElementEvaluator &evaluator,
                              bufferization::MaterializeInDestinationOp result, const WorkgroupTile &tile,
                              unsigned column, int64_t width) {
  Location loc = result.getLoc();
  auto type = cast<RankedTensorType>(Value(result.getSource()).getType());
  const unsigned last = type.getRank() - 1;
  unsigned loops = 0;
  auto enter = [&](Value lower, Value upper, int64_t step) {
    ++loops;
    return evaluator.enterLoop(loc, lower, upper, evaluator.constantIndex(step).base).getInductionVar();
  };
  auto plus = [&](Value place, int64_t offset) {
    return evaluator.addIndices(loc, {place, 0, {}}, evaluator.constantIndex(offset)).base;
  };
  SmallVector<LaneIndex> indices(last + 1);
  for (unsigned d = 0; d < last; ++d)
    if (d != column)
      indices[d] = {enter(tile.lower[d], tile.upper[d], 1), 0, {}};
  // Each line of the cache that is read is used whole before the next one.
  constexpr int64_t lineBits = 512;
  const int64_t line = std::max<int64_t>(width, lineBits / type.getElementTypeBitWidth());
  Value from = enter(tile.lower[column], tile.upper[column], line);
  Value end = arith::MinUIOp::create(builder, loc, plus(from, line), tile.upper[column]);
  Value row = enter(tile.lower[last], tile.upper[last], width);
  row = arith::MinUIOp::create(builder, loc, row, plus(tile.upper[last], -width));
  Value place = enter(from, end, width);
  place = arith::MinUIOp::create(builder, loc, place, plus(tile.upper[column], -width));
  evaluator.setLanes(width);
  indices[column] = {place, 1, {}};
  SmallVector<Value> rows;
  for (int64_t i = 0; i < width; ++i) {
    indices[last] = {plus(row, i), 0, {}};
    Value value = evaluator.evaluate(result.getSource(), indices);
    if (!value)
      return failure();
    rows.push_back(evaluator.toVector(loc, value));
  }
  indices[last] = {row, 1, {}};
  LogicalResult done = success();
  for (auto [i, vector] : llvm::enumerate(transposeSquare(builder, loc, rows))) {
    evaluator.setSource(result.getSource(), [&, vector = vector](ArrayRef<LaneIndex>) { return vector; });
    indices[column] = {plus(place, static_cast<int64_t>(i)), 0, {}};
    if (failed(evaluator.store(result, indices)))
      done = failure();
  }
  evaluator.setSource(result.getSource(), nullptr);
  for (; loops > 0; --loops)
    evaluator.leaveLoop();
  return done;
}

} // namespace vx

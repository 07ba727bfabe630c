#include "ProductTile.h"
#include "Common/DeclineStrategy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {

namespace {

class TileCutter {
public:
  TileCutter(func::FuncOp function, const ProductShape &shape, StrategyAttrInterface strategy, const TargetSpec &spec)
      : function(function), shape(shape), strategy(strategy), spec(spec), unit(spec.matrixUnit) {}

  LogicalResult run();
  ProductTile tile;

private:
  InFlightDiagnostic error() {
    return function.emitError() << "of " << describeSource(shape.getLoc())
                                << " expects a strategy that fits its contraction: ";
  }
  std::optional<ProductTile::Fragments> findFragments();
  void findByteDots();
  LogicalResult checkSizes();
  LogicalResult checkBlocks();
  LogicalResult cutFragments(MmaAttr mma);

  func::FuncOp function;
  const ProductShape &shape;
  StrategyAttrInterface strategy;
  const TargetSpec &spec;
  const MatrixUnit &unit;
};

std::optional<ProductTile::Fragments> TileCutter::findFragments() {
  Type element = getUnwidened(shape.factors[0].value).getType();
  if (getUnwidened(shape.factors[1].value).getType() != element || !shape.init.getType().isF32())
    return std::nullopt;
  if (element.isF32() && shape.op->hasAttr(vxk::kTF32Attr))
    element = FloatTF32Type::get(function.getContext());
  if (int64_t depth = unit.depthOf(element))
    return ProductTile::Fragments{element, depth};
  return std::nullopt;
}

void TileCutter::findByteDots() {
  auto isByte = [](const ProductShape::Factor &factor) {
    return isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(factor.value.getDefiningOp()) &&
           getUnwidened(factor.value).getType().isInteger(8);
  };
  if (!spec.hasByteDots || !shape.init.getType().isInteger(32) || !llvm::all_of(shape.factors, isByte))
    return;
  constexpr int64_t kBytes = 4;
  tile.depth = kBytes;
  for (int which : {0, 1})
    tile.areSigned[which] = isa<arith::ExtSIOp>(shape.factors[which].value.getDefiningOp());
}

LogicalResult TileCutter::checkSizes() {
  auto type = cast<RankedTensorType>(shape.sum().getType());
  ArrayRef<int64_t> workgroup = strategy.getWorkgroupTile();
  if (static_cast<int64_t>(workgroup.size()) != type.getRank())
    return error() << "a tile size for each of " << type.getRank() << " dimensions, got " << strategy;
  tile.sizes.assign(workgroup.begin(), workgroup.end());
  for (unsigned d : shape.batchDims)
    if (tile.sizes[d] != 1)
      return error() << "a tile size of 1 for dimension " << d << ", got " << tile.sizes[d];
  if (shape.groupDim && shape.filtersOfGroup % tile.sizes[*shape.groupDim] != 0)
    return error() << "a tile size that divides the " << shape.filtersOfGroup << " filters of a group for dimension "
                   << *shape.groupDim << ", got " << tile.sizes[*shape.groupDim];
  for (unsigned d : shape.rowDims)
    tile.rows *= tile.sizes[d];
  for (unsigned d : shape.columnDims)
    tile.columns *= tile.sizes[d];
  tile.threads = strategy.getThreads();
  return success();
}

LogicalResult TileCutter::checkBlocks() {
  const int64_t rows = tile.rows, columns = tile.columns, blockRows = tile.blockRows, blockColumns = tile.blockColumns;
  if (blockRows < 1 || blockColumns < 1 || tile.step < 1 || tile.slices < 1 || rows % blockRows != 0 ||
      columns % blockColumns != 0 || rows / blockRows * (columns / blockColumns) * tile.slices != tile.threads)
    return error() << "one block for each of " << tile.threads << " threads, got a tile of " << rows << " x " << columns
                   << " in " << strategy;
  for (int64_t block : {blockRows, blockColumns})
    if (block != 1 && block != 2 && block % 4 != 0)
      return error() << "blocks of 1, 2 or a multiple of 4, got " << strategy;
  return success();
}

/// Cuts the tile into one part for each subgroup, as square as it can be.
LogicalResult TileCutter::cutFragments(MmaAttr mma) {
  const int64_t rows = tile.rows, columns = tile.columns, threads = tile.threads;
  tile.step = mma.getStep();
  tile.stages = mma.getStages();
  if (tile.step % tile.fragments->depth != 0)
    return error() << "steps of a multiple of " << tile.fragments->depth << ", got " << strategy;
  int64_t subgroups = threads / unit.subgroup;
  std::optional<int64_t> across; // subgroups that share the columns
  for (int64_t count = 1; count <= subgroups; ++count) {
    int64_t down = subgroups / count;
    if (subgroups % count != 0 || rows % (down * MatrixUnit::rows) != 0 || columns % (count * MatrixUnit::columns) != 0)
      continue;
    auto edge = [&](int64_t wide) { return rows * wide / subgroups + columns / wide; };
    if (!across || edge(count) < edge(*across))
      across = count;
  }
  if (threads % unit.subgroup != 0 || !across)
    return error() << "fragments of " << MatrixUnit::rows << " x " << MatrixUnit::columns << " for each subgroup of "
                   << unit.subgroup << " threads, got a tile of " << rows << " x " << columns << " in " << strategy;
  tile.subgroupColumns = *across;
  tile.blockRows = rows / (subgroups / *across);
  tile.blockColumns = columns / *across;
  return success();
}

LogicalResult TileCutter::run() {
  auto mma = dyn_cast<MmaAttr>(strategy);
  if (mma) {
    tile.fragments = findFragments();
    if (!tile.fragments)
      declineStrategy(function.getLoc(), strategy, TiledProductAttr::getMnemonic(),
                      "the variant has no matrix unit for its factors");
  }
  if (failed(checkSizes()))
    return failure();
  if (tile.fragments)
    return cutFragments(mma);
  findByteDots();
  if (auto tiled = dyn_cast<TiledProductAttr>(strategy)) {
    tile.blockRows = tiled.getBlockRows();
    tile.blockColumns = tiled.getBlockColumns();
    tile.step = tiled.getStep();
    tile.slices = tiled.getSlices();
    return checkBlocks();
  }
  // A GPU without the instructions has the same tile, in blocks.
  constexpr int64_t kThreadColumns = 16;
  tile.blockRows = tile.rows * kThreadColumns / std::max(tile.threads, kThreadColumns);
  tile.blockColumns = tile.columns / kThreadColumns;
  tile.step = 8;
  return checkBlocks();
}

} // namespace

FailureOr<ProductTile> ProductTile::cut(func::FuncOp function, const ProductShape &shape,
                                        StrategyAttrInterface strategy, const TargetSpec &spec) {
  TileCutter cutter(function, shape, strategy, spec);
  if (failed(cutter.run()))
    return failure();
  return std::move(cutter.tile);
}

} // namespace vx

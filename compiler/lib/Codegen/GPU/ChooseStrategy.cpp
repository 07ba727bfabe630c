// Which strategy a fusion region gets on Vulkan, and what the target takes at all.
//
// What a region may hold (the `fused` phase forms them so):
// - No intermediate tensor is stored by any strategy: producers are computed where an element of them is read,
// reductions
//   once for each place that the loops around know. So any region that the conversion to linalg takes is right; a
//   region whose reduction is read along a dimension that it does not reduce over (a contraction behind a softmax) is
//   right too, but computes the reduction once for each element that reads it. The fusion pass keeps one anchor for
//   each region, which avoids that.
// - "matmul" and "conv" want one contraction and an epilogue that reads its result in place; other regions with these
//   strategies are computed by loops over the same tile.

#include "vx/Codegen/GPU.h"
#include "vx/Target/TargetBackend.h"

using namespace mlir;

namespace vx {
namespace {

/// A size for planning: that of a static dimension, and a guess for a dynamic one.
int64_t plannedSize(RankedTensorType type, int64_t dim) {
  constexpr int64_t unknownSize = 128;
  return type.isDynamicDim(dim) ? unknownSize : std::max<int64_t>(1, type.getDimSize(dim));
}

/// The register blocks and the tile of a contraction with `rows` and `columns`: square tiles with 4 x 4 blocks, smaller
/// where the result is.
struct Blocks {
  int64_t rows, columns, blockRows, blockColumns, threads;
};

Blocks chooseBlocks(int64_t rows, int64_t columns, int64_t maxThreads) {
  Blocks blocks{64, 64, 4, 4, 256};
  while (blocks.rows > 8 && (blocks.rows / 2 >= rows || blocks.rows / 4 * (blocks.columns / 4) > maxThreads))
    blocks.rows /= 2;
  while (blocks.columns > 8 && blocks.columns / 2 >= columns)
    blocks.columns /= 2;
  if (rows < 4)
    blocks.rows = 4, blocks.blockRows = 1;
  blocks.threads = blocks.rows / blocks.blockRows * (blocks.columns / blocks.blockColumns);
  return blocks;
}

/// Steps over the summed dimensions; what is staged of both factors takes 16 * (64 + 64) * 4 bytes = 8 KiB at most, 16
/// KiB for f64.
constexpr int64_t summedStep = 16;

StrategyAttr contractStrategy(ContractOp op, RankedTensorType result, const TargetSpec &spec) {
  int64_t batch = op.getLhsBatch().size(), rank = result.getRank();
  int64_t lhsFree = cast<RankedTensorType>(op.getLhs().getType()).getRank() - batch - op.getLhsContracting().size();
  if (lhsFree == 0 || lhsFree == rank - batch || cast<RankedTensorType>(op.getResult().getType()).getRank() != rank)
    return {};
  int64_t row = batch + lhsFree - 1, column = rank - 1;
  Blocks blocks = chooseBlocks(plannedSize(result, row), plannedSize(result, column), spec.maxThreads);
  SmallVector<int64_t> tile(rank, 1);
  tile[row] = blocks.rows;
  tile[column] = blocks.columns;
  return StrategyAttr::get(op.getContext(), "matmul", tile, {blocks.blockRows, blocks.blockColumns}, {summedStep},
                           blocks.threads);
}

StrategyAttr convStrategy(ConvOp op, RankedTensorType result, const TargetSpec &spec) {
  int64_t rank = result.getRank();
  if (op.getGroups() != 1 || cast<RankedTensorType>(op.getResult().getType()).getRank() != rank)
    return {};
  int64_t width = plannedSize(result, rank - 1), height = rank > 3 ? plannedSize(result, rank - 2) : 1;
  Blocks blocks = chooseBlocks(plannedSize(result, 1), std::min<int64_t>(width, 4096) * std::min<int64_t>(height, 4096),
                               spec.maxThreads);
  // A box of places: as wide as the rows are, then high.
  int64_t boxWidth = std::min<int64_t>(blocks.columns, llvm::PowerOf2Ceil(width));
  SmallVector<int64_t> tile(rank, 1);
  tile[1] = blocks.rows;
  tile[rank - 1] = boxWidth;
  if (rank > 3)
    tile[rank - 2] = blocks.columns / boxWidth;
  else
    tile[rank - 1] = blocks.columns;
  return StrategyAttr::get(op.getContext(), "conv", tile, {blocks.blockRows, blocks.blockColumns}, {summedStep},
                           blocks.threads);
}

/// One thread for a row: what the row's reductions give is computed once. Null when the rows are too few to keep a
/// device busy.
StrategyAttr rowsStrategy(MLIRContext *context, RankedTensorType result, int64_t firstReduced, int64_t reducedCount) {
  constexpr int64_t threads = 64;
  SmallVector<int64_t> tile(result.getRank(), 1);
  std::fill_n(tile.begin() + firstReduced, reducedCount, 0);
  int64_t rows = 1;
  for (int64_t d = 0; d < result.getRank() && rows < threads; ++d)
    rows *= tile[d] != 0 ? plannedSize(result, d) : 1;
  if (rows < threads)
    return {};
  for (int64_t d = result.getRank(); d-- > 0;)
    if (tile[d] != 0) {
      tile[d] = threads;
      break;
    }
  return StrategyAttr::get(context, "rows", tile, {}, {}, threads);
}

/// The elements of a tile are shared out to threads.
StrategyAttr loopsStrategy(MLIRContext *context, RankedTensorType result, const TargetSpec &spec) {
  int64_t threads = std::min<int64_t>(spec.maxThreads, 128);
  SmallVector<int64_t> tile(result.getRank(), 1);
  int64_t left = threads;
  for (int64_t d = result.getRank(); d-- > 0 && left > 1;) {
    int64_t size = result.isDynamicDim(d) ? left : std::max<int64_t>(1, result.getDimSize(d));
    tile[d] = std::min(size, left);
    left /= tile[d];
  }
  return StrategyAttr::get(context, "loops", tile, {}, {}, threads);
}

} // namespace

StrategyAttr chooseGPUStrategy(FusionOp region, const TargetSpec &spec) {
  MLIRContext *context = region.getContext();
  auto result = dyn_cast<RankedTensorType>(region.getResult(0).getType());
  bool serial = !result;
  for (Operation &op : region.getBody().front())
    serial |= isa<NonzeroOp, CountNonzeroOp>(op);
  if (serial)
    return StrategyAttr::get(context, "serial", SmallVector<int64_t>(result ? result.getRank() : 0, 0), {}, {}, 1);
  for (Operation &op : region.getBody().front()) {
    StrategyAttr strategy;
    int64_t rank = result.getRank();
    auto isLikeResult = [&] { return cast<RankedTensorType>(op.getResult(0).getType()).getRank() == rank; };
    if (auto contract = dyn_cast<ContractOp>(op))
      strategy = contractStrategy(contract, result, spec);
    else if (auto conv = dyn_cast<ConvOp>(op))
      strategy = convStrategy(conv, result, spec);
    else if (auto softmax = dyn_cast<SoftmaxOp>(op); softmax && isLikeResult())
      strategy = rowsStrategy(context, result, softmax.getAxis(), 1);
    else if (auto norm = dyn_cast<LayerNormOp>(op); norm && isLikeResult())
      strategy = rowsStrategy(context, result, norm.getAxis(), rank - norm.getAxis());
    else if (isa<RmsNormOp>(op) && isLikeResult())
      strategy = rowsStrategy(context, result, rank - 1, 1);
    if (strategy)
      return strategy;
  }
  return loopsStrategy(context, result, spec);
}

} // namespace vx

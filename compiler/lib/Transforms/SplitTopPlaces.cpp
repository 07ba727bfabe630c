// The best elements of long rows are found in two stages, so that more than a few workgroups have work.

#include "vx/Analysis/PlannedSize.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/Utils/LastInOrder.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPLITTOPPLACESPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// The elements of a block of a row; 0 where rows stay whole.
int64_t chooseBlock(TopPlacesOp op, const SymbolRanges &ranges) {
  constexpr int64_t mostRows = 128; // more keep a GPU busy as they are
  constexpr int64_t leastBlock = 4096;
  constexpr int64_t share = 16; // of a block that is kept
  RankedTensorType type = op.getKeys().getType();
  if (type.isDynamicDim(1) || op.getCount() == 0 || getPlannedSize(ranges, type, 0) > mostRows)
    return 0;
  int64_t block = std::max<int64_t>(leastBlock, llvm::PowerOf2Ceil(share * op.getCount()));
  return type.getDimSize(1) >= 4 * block ? block : 0;
}

/// Of each row of `values`, [rows, n], the elements at its `places`, [rows, count].
Value takeInRows(GraphBuilder &g, Value values, Value places) {
  SmallVector<DimAttr> dims = getDims(g.typeOf(values));
  RankedTensorType type = g.typeOf(places);
  Value length = g.broadcastInDim(g.emitDim(dims[1], type.getElementType()), getDims(type), {});
  Value first = g.emit<MulOp>(g.emitAs<IotaOp>(type, 0), length);
  Value all = g.reshape(values, dims[0] * dims[1]);
  return g.emit<GatherOp>(all, g.emit<AddOp>(first, places), 0, IntegerAttr(), /*in_range=*/true);
}

LogicalResult split(TopPlacesOp op, int64_t block) {
  OpBuilder builder(op);
  const CopyNumbering numbering(builder, op);
  GraphBuilder g(builder, op.getLoc());
  SmallVector<DimAttr> dims = getDims(op.getKeys().getType());
  DimAttr count = g.dim(op.getCount()), blocks = DimAttr::ceilDiv(dims[1], g.dim(block));
  DimAttr padded = blocks * g.dim(block);
  Value last = emitLastInOrder(g, op.getKeys().getType().getElementType(), op.getDescending());
  Value keys =
      g.emit<PadOp>(op.getKeys(), last, g.toArray({g.dim(0), g.dim(0)}), g.toArray({g.dim(0), padded - dims[1]}));
  Value ofBlocks = g.reshape(keys, {dims[0] * blocks, g.dim(block)});
  SmallVector<DimAttr> parts = {dims[0], blocks, count};
  Value places = g.reshape(g.emit<TopPlacesOp>(ofBlocks, op.getCount(), op.getDescending()), parts);
  Value number = g.emitAs<IotaOp>(getTensorType(parts, g.builder.getI64Type()), 1);
  places = g.emit<AddOp>(places, g.emit<MulOp>(number, g.splatLike(static_cast<double>(block), number)));
  // Those of a block stand in their order, and blocks in theirs: equal ones stay in the order of their places.
  places = g.reshape(places, {dims[0], blocks * count});
  Value best = g.emit<TopPlacesOp>(takeInRows(g, keys, places), op.getCount(), op.getDescending());
  Value result = takeInRows(g, places, best);
  if (g.hasRefused())
    return failure();
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

struct SplitTopPlacesPass : impl::SplitTopPlacesPassBase<SplitTopPlacesPass> {
  void runOnOperation() override {
    const SymbolRanges ranges(getOperation()->getParentOfType<ModuleOp>());
    // The second stage may be long in turn.
    for (bool isDone = false; !isDone;) {
      SmallVector<std::pair<TopPlacesOp, int64_t>> found;
      getOperation().walk([&](TopPlacesOp op) {
        if (int64_t block = chooseBlock(op, ranges))
          found.emplace_back(op, block);
      });
      for (auto [op, block] : found)
        if (failed(split(op, block)))
          return signalPassFailure();
      isDone = found.empty();
    }
  }
};

} // namespace
} // namespace vx

#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/Utils/RewriteGreedily.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_HOISTGATHERSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// A table of a few ops on constants, which would be computed whole for each call.
bool isOfConstants(Value value, unsigned &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<ConstantOp>(op))
    return op != nullptr;
  constexpr unsigned most = 8;
  if (++ops > most || op->getNumResults() != 1 || !(op->hasTrait<OpTrait::Elementwise>() || isa<BroadcastOp>(op)))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isOfConstants(operand, ops); });
}

/// gather(f(x, y), i) -> f(gather(x, i), gather(y, i))
struct HoistGatherAboveElementwise : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp gather, PatternRewriter &rewriter) const override {
    Operation *op = gather.getInput().getDefiningOp();
    unsigned ops = 0;
    if (!op || !op->hasTrait<OpTrait::Elementwise>() || !isOfConstants(gather.getInput(), ops))
      return rewriter.notifyMatchFailure(gather, "the input is not computed from constants");
    if (gather.getMembers() || !op->getResult(0).hasOneUse())
      return rewriter.notifyMatchFailure(gather, "picks by tuples, or the whole input is read too");
    bool isChecked = false; // an index out of range is to be told by someone
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      std::optional<int64_t> rows = findRows(broadcast, gather.getAxis());
      if (rows &&
          getDims(broadcast.getInput().getType())[*rows] != getDims(broadcast.getResult().getType())[gather.getAxis()])
        return rewriter.notifyMatchFailure(gather, "an operand is repeated along the rows");
      isChecked |= !broadcast || rows;
    }
    if (!isChecked)
      return rewriter.notifyMatchFailure(gather, "no operand has rows");
    GraphBuilder g(rewriter, gather.getLoc());
    SmallVector<DimAttr> dims = getDims(gather.getResult().getType());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(pick(g, gather, operand, dims));
    OperationState state(op->getLoc(), op->getName(), operands, {}, op->getAttrs());
    state.addTypes(getTensorType(dims, getElementTypeOrSelf(op->getResult(0).getType())));
    rewriter.replaceOp(gather, rewriter.create(state));
    return success();
  }

  /// Which dimension of what is repeated becomes `axis`.
  static std::optional<int64_t> findRows(BroadcastOp broadcast, int64_t axis) {
    if (broadcast)
      for (auto [number, place] : llvm::enumerate(broadcast.getDimensions()))
        if (place == axis)
          return number;
    return std::nullopt;
  }

  /// The rows of an operand.
  static Value pick(GraphBuilder &g, GatherOp gather, Value operand, ArrayRef<DimAttr> dims) {
    int64_t axis = gather.getAxis(), more = gather.getIndices().getType().getRank() - 1;
    auto pickRows = [&](Value table, int64_t dim) -> Value {
      return g.emit<GatherOp>(table, gather.getIndices(), dim, IntegerAttr(), gather.getInRange());
    };
    auto broadcast = operand.getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return pickRows(operand, axis);
    SmallVector<int64_t> places;
    for (int64_t place : broadcast.getDimensions())
      if (place != axis)
        places.push_back(place < axis ? place : place + more);
      else
        llvm::append_range(places, llvm::seq(axis, axis + more + 1));
    std::optional<int64_t> rows = findRows(broadcast, axis);
    return g.broadcastInDim(rows ? pickRows(broadcast.getInput(), *rows) : broadcast.getInput(), dims, places);
  }
};

/// Constants of bytes whose numbers products read.
using SharedBytes = llvm::DenseSet<Attribute>;

SharedBytes findBytesOfProducts(ModuleOp module) {
  SharedBytes found;
  module.walk([&](DecodeBlocksOp decode) {
    auto bytes = decode.getInput().getDefiningOp<ConstantOp>();
    if (bytes && llvm::any_of(decode->getUsers(), llvm::IsaPred<ContractOp>))
      found.insert(bytes.getValue());
  });
  return found;
}

/// gather(decode(bytes), i) -> decode(gather(bytes, i))
///
/// Where a product of any function reads the whole input too, it reads the numbers in a layout of its own. So does the
/// gather then: a device has one copy of them.
struct HoistGatherAboveBlocks : OpRewritePattern<GatherOp> {
  HoistGatherAboveBlocks(MLIRContext *context, const SharedBytes &ofProducts)
      : OpRewritePattern(context), ofProducts(ofProducts) {}

  LogicalResult matchAndRewrite(GatherOp gather, PatternRewriter &rewriter) const override {
    auto decode = gather.getInput().getDefiningOp<DecodeBlocksOp>();
    if (!decode || gather.getMembers() ||
        static_cast<int64_t>(gather.getAxis()) + 1 >= decode.getResult().getType().getRank())
      return rewriter.notifyMatchFailure(gather, "the input is not decoded from rows of bytes");
    if (auto bytes = decode.getInput().getDefiningOp<ConstantOp>(); bytes && ofProducts.contains(bytes.getValue()))
      return rewriter.notifyMatchFailure(gather, "a product reads the input too");
    GraphBuilder g(rewriter, gather.getLoc());
    Value rows = g.emit<GatherOp>(decode.getInput(), gather.getIndices(), static_cast<int64_t>(gather.getAxis()),
                                  IntegerAttr(), gather.getInRange());
    rewriter.replaceOp(gather, g.emit<DecodeBlocksOp>(decode.getFormat(), rows));
    return success();
  }

private:
  const SharedBytes &ofProducts;
};

struct HoistGathersPass : impl::HoistGathersPassBase<HoistGathersPass> {
  using HoistGathersPassBase::HoistGathersPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    const SharedBytes ofProducts = findBytesOfProducts(getOperation());
    patterns.add<HoistGatherAboveElementwise>(&getContext());
    patterns.add<HoistGatherAboveBlocks>(&getContext(), ofProducts);
    if (failed(rewriteGreedily(getOperation(), std::move(patterns), getArgument())))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx

// A concatenation of very many pieces is one of concatenations, so that no kernel has a buffer for each.

#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPLITCONCATSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// Of one kernel.
constexpr size_t kMostPieces = 64;

/// Joins neighbours until few enough are left. All groups but the last are of one size, so that pieces of one shape
/// need two kernels at most for each stage.
LogicalResult split(ConcatOp op) {
  OpBuilder builder(op);
  const CopyNumbering numbering(builder, op);
  GraphBuilder g(builder, op.getLoc());
  auto axis = static_cast<int64_t>(op.getAxis());
  SmallVector<Value> pieces(op.getInputs());
  while (pieces.size() > kMostPieces) {
    size_t groups = llvm::divideCeil(pieces.size(), kMostPieces), size = llvm::divideCeil(pieces.size(), groups);
    SmallVector<Value> joined;
    for (ArrayRef<Value> rest = pieces; !rest.empty(); rest = rest.drop_front(std::min(size, rest.size())))
      joined.push_back(rest.size() == 1 ? rest[0] : g.emit<ConcatOp>(ValueRange(rest.take_front(size)), axis));
    pieces = std::move(joined);
  }
  Value result = g.emit<ConcatOp>(ValueRange(pieces), axis);
  if (g.hasRefused())
    return failure();
  op.getResult().replaceAllUsesWith(g.reshape(result, getDims(op.getResult().getType())));
  op.erase();
  return success();
}

struct SplitConcatsPass : impl::SplitConcatsPassBase<SplitConcatsPass> {
  void runOnOperation() override {
    SmallVector<ConcatOp> concats;
    getOperation().walk([&](ConcatOp op) {
      if (op.getInputs().size() > kMostPieces)
        concats.push_back(op);
    });
    for (ConcatOp op : concats)
      if (failed(split(op)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

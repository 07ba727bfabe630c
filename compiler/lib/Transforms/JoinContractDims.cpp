// Neighbouring dimensions that a contraction sums, or that its right factor alone has, are one: kernels know sums and
// columns along one dimension best.

#include "JoinDims.h"
#include "vx/Analysis/LowBitWeights.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_JOINCONTRACTDIMSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// Dimensions of the operands that are summed in pairs.
struct Pair {
  int64_t lhs, rhs;
};

/// A contraction's operand with joined dimensions, and its lists of dimensions.
struct Side {
  Value value;
  SmallVector<int64_t> batch, contracting;
};

Side join(GraphBuilder &g, Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting,
          const llvm::SmallDenseSet<int64_t> &joined) {
  RankedTensorType type = g.typeOf(value);
  SmallVector<int64_t> placeOf;
  for (int64_t d = 0, place = -1; d < type.getRank(); ++d)
    placeOf.push_back(joined.contains(d) ? place : ++place);
  Side side;
  side.value = g.reshape(value, joinDims(type, joined));
  for (int64_t d : batch)
    side.batch.push_back(placeOf[d]);
  for (int64_t d : contracting)
    if (!joined.contains(d))
      side.contracting.push_back(placeOf[d]);
  return side;
}

/// The dimensions of the right factor that follow one another and are neither batch nor summed, but the first of them.
/// Empty where others are between.
llvm::SmallDenseSet<int64_t> findColumns(ContractOp op) {
  llvm::SmallDenseSet<int64_t> joined;
  std::optional<int64_t> last;
  for (int64_t d = 0; d < typeOf(op.getRhs()).getRank(); ++d) {
    if (llvm::is_contained(op.getRhsBatch(), d) || llvm::is_contained(op.getRhsContracting(), d))
      continue;
    if (last && *last + 1 != d)
      return {};
    if (last)
      joined.insert(d);
    last = d;
  }
  return joined;
}

LogicalResult joinNeighbours(ContractOp op) {
  if (decodesLowBits(op.getRhs())) // in blocks that have numbers of their own
    return success();
  auto pairs = llvm::map_to_vector(llvm::zip_equal(op.getLhsContracting(), op.getRhsContracting()),
                                   [](auto dims) { return Pair{std::get<0>(dims), std::get<1>(dims)}; });
  llvm::sort(pairs, [](Pair a, Pair b) { return a.lhs < b.lhs; });
  llvm::SmallDenseSet<int64_t> lhsJoined, rhsJoined;
  for (size_t i = 1; i < pairs.size(); ++i)
    if (pairs[i].lhs == pairs[i - 1].lhs + 1 && pairs[i].rhs == pairs[i - 1].rhs + 1) {
      lhsJoined.insert(pairs[i].lhs);
      rhsJoined.insert(pairs[i].rhs);
    }
  llvm::SmallDenseSet<int64_t> columns = findColumns(op);
  rhsJoined.insert(columns.begin(), columns.end());
  if (rhsJoined.empty())
    return success();
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  SmallVector<int64_t> lhsSummed, rhsSummed;
  for (Pair pair : pairs) {
    lhsSummed.push_back(pair.lhs);
    rhsSummed.push_back(pair.rhs);
  }
  Side lhs = join(g, op.getLhs(), op.getLhsBatch(), lhsSummed, lhsJoined);
  Side rhs = join(g, op.getRhs(), op.getRhsBatch(), rhsSummed, rhsJoined);
  Value result = g.emit<ContractOp>(lhs.value, rhs.value, lhs.batch, rhs.batch, lhs.contracting, rhs.contracting,
                                    op.getSumsAttr(), op.getFactorsAttr());
  if (!columns.empty())
    result = g.reshape(result, getDims(op.getResult().getType()));
  if (g.hasRefused())
    return failure();
  op.getResult().replaceAllUsesWith(result);
  op.erase();
  return success();
}

struct JoinContractDimsPass : impl::JoinContractDimsPassBase<JoinContractDimsPass> {
  void runOnOperation() override {
    SmallVector<ContractOp> contractions;
    getOperation().walk([&](ContractOp op) { contractions.push_back(op); });
    for (ContractOp op : contractions)
      if (failed(joinNeighbours(op)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

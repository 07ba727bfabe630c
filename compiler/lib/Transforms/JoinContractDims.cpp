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

/// Products of bytes are added four channels at a time. In a convolution of fewer channels the positions of the
/// window's last dimension become channels: [N, C, ..., W] -> [N, KW * C, ..., W'].
LogicalResult joinWindow(ConvOp op) {
  RankedTensorType filterType = op.getFilter().getType();
  const int64_t last = filterType.getRank() - 1, spatial = last - 2;
  auto isByte = [](Value value) { return getElementTypeOrSelf(value.getType()).isInteger(8); };
  if (!isByte(op.getInput()) || !isByte(op.getFilter()) || op.getGroups() != 1 || op.getChannelsLast() ||
      !filterType.hasStaticShape())
    return success();
  constexpr int64_t together = 4, leastFilters = 8;
  const int64_t channels = filterType.getDimSize(1), kernel = filterType.getDimSize(last);
  if (kernel == 1 || channels >= together || filterType.getDimSize(0) < leastFilters)
    return success();
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  const int64_t stride = op.getStrides()[spatial], dilation = op.getDilations()[spatial];
  SmallVector<DimAttr> dims = getDims(op.getInput().getType()), low(dims.size(), g.dim(0)), high = low, starts = low;
  low[last] = g.dim(op.getPadsLow()[spatial]);
  high[last] = g.dim(op.getPadsHigh()[spatial]);
  Value padded = g.pad(op.getInput(), low, high);
  SmallVector<int64_t> steps(dims.size(), 1);
  steps[last] = stride;
  dims[last] = getDim(op.getResult().getType(), last);
  SmallVector<Value> parts;
  for (int64_t place = 0; place < kernel; ++place) {
    starts[last] = g.dim(place * dilation);
    parts.push_back(g.slice(padded, starts, dims, steps));
  }
  SmallVector<int64_t> permutation = {0, last};
  llvm::append_range(permutation, llvm::seq<int64_t>(1, last));
  SmallVector<DimAttr> joined = getDims(filterType);
  joined[1] = g.dim(kernel * channels);
  joined[last] = g.dim(1);
  Value filter = g.reshape(g.transpose(op.getFilter(), permutation), joined);
  auto without = [&](ArrayRef<int64_t> values, int64_t value) {
    SmallVector<int64_t> changed(values);
    changed[spatial] = value;
    return changed;
  };
  Value result = g.emit<ConvOp>(g.emit<ConcatOp>(ValueRange(parts), /*axis=*/int64_t(1)), filter,
                                without(op.getStrides(), 1), without(op.getDilations(), 1), without(op.getPadsLow(), 0),
                                without(op.getPadsHigh(), 0), op.getGroups(),
                                /*channels_last=*/false, op.getSumsAttr(), TypeAttr());
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
    SmallVector<ConvOp> convolutions;
    getOperation().walk([&](ConvOp op) { convolutions.push_back(op); });
    for (ConvOp op : convolutions)
      if (failed(joinWindow(op)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

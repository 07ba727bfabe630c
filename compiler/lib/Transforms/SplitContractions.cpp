// Contractions with few results of long sums are cut along their sums, so that more than a few workgroups have work.

#include "vx/Analysis/LowBitWeights.h"
#include "vx/Analysis/PlannedSize.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_SPLITCONTRACTIONSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

constexpr int64_t kTile = 128;        // rows and columns of a result that a workgroup makes
constexpr int64_t kBusyTiles = 132;   // so many tiles keep a GPU busy as they are
constexpr int64_t kWantedTiles = 264; // that there are to be where it pays
constexpr int64_t kLeastSum = 3072;   // of a sum that repays a second kernel
constexpr int64_t kLeastSide = 16;    // rows and columns; few are summed by threads of one workgroup together
constexpr int64_t kLeastPart = 512;   // products that repay writing and reading a sum

/// Cuts along summed dimensions: each is seen as `parts` times the rest.
struct Cut {
  size_t pair;   // number in the lists of contracting dimensions
  int64_t parts; // a divisor of the dimension
};

class ContractionSplitter {
public:
  ContractionSplitter(ContractOp op, const DerivableVariables &variables)
      : op(op), builder(op), g(builder, op.getLoc()), ranges(op->getParentOfType<ModuleOp>()), variables(variables) {}

  LogicalResult run() {
    SmallVector<Cut> cuts = chooseCuts();
    if (cuts.empty())
      return success();
    const CopyNumbering numbering(builder, op);
    Type element = getElementTypeOrSelf(op.getLhs().getType());
    Side lhs = cut(op.getLhs(), op.getLhsBatch(), op.getLhsContracting(), cuts);
    Side rhs = cut(op.getRhs(), op.getRhsBatch(), op.getRhsContracting(), cuts);
    // Each part is rounded once, as the whole sum is.
    TypeAttr sums = op.getSumsAttr();
    if (!sums && (element.isF16() || element.isBF16()))
      sums = TypeAttr::get(builder.getF32Type());
    Value parts = g.emit<ContractOp>(lhs.value, rhs.value, lhs.batch, rhs.batch, lhs.contracting, rhs.contracting, sums,
                                     op.getFactorsAttr());
    int64_t batch = op.getLhsBatch().size();
    Value result = g.reduce(ReduceKind::sum, parts, llvm::to_vector(llvm::seq<int64_t>(batch, batch + cuts.size())));
    result = g.cast(result, getElementTypeOrSelf(op.getResult().getType()));
    if (g.hasRefused())
      return failure();
    op.getResult().replaceAllUsesWith(result);
    op.erase();
    return success();
  }

private:
  int64_t planned(RankedTensorType type, int64_t dim) { return getPlannedSize(ranges, type, dim); }

  /// None where the result has work for all, where sums are short, or where no size to cut is known.
  SmallVector<Cut> chooseCuts() {
    if (!isa<FloatType>(getElementTypeOrSelf(op.getLhs().getType())))
      return {};
    auto lhs = cast<RankedTensorType>(op.getLhs().getType()), rhs = cast<RankedTensorType>(op.getRhs().getType());
    int64_t batch = 1, rows = 1, columns = 1, length = 1;
    for (int64_t d = 0; d < lhs.getRank(); ++d)
      (llvm::is_contained(op.getLhsBatch(), d)         ? batch
       : llvm::is_contained(op.getLhsContracting(), d) ? length
                                                       : rows) *= planned(lhs, d);
    for (int64_t d = 0; d < rhs.getRank(); ++d)
      if (!llvm::is_contained(op.getRhsBatch(), d) && !llvm::is_contained(op.getRhsContracting(), d))
        columns *= planned(rhs, d);
    int64_t tiles = batch * llvm::divideCeil(rows, kTile) * llvm::divideCeil(columns, kTile);
    if (tiles >= kBusyTiles || length < kLeastSum || std::min(rows, columns) < kLeastSide)
      return {};
    int64_t wanted = std::min(llvm::divideCeil(kWantedTiles, tiles), uint64_t(length / kLeastPart));
    // The longest dimension first; of a weight of few bits the first one, of its blocks and not of the places of one.
    SmallVector<size_t> order(op.getLhsContracting().size());
    std::iota(order.begin(), order.end(), 0);
    auto sizeOf = [&](size_t pair) {
      int64_t l = op.getLhsContracting()[pair], r = op.getRhsContracting()[pair];
      return !lhs.isDynamicDim(l) ? lhs.getDimSize(l) : rhs.isDynamicDim(r) ? int64_t(1) : rhs.getDimSize(r);
    };
    if (!LowBitWeight::find(op.getRhs(), variables))
      llvm::sort(order, [&](size_t a, size_t b) { return std::pair(sizeOf(b), a) < std::pair(sizeOf(a), b); });
    SmallVector<Cut> cuts;
    for (size_t pair : order)
      for (int64_t parts = std::min(wanted, sizeOf(pair)); parts > 1; --parts)
        if (sizeOf(pair) % parts == 0) {
          cuts.push_back({pair, parts});
          wanted /= parts;
          break;
        }
    return cuts;
  }

  struct Side {
    Value value;
    SmallVector<int64_t> batch, contracting;
  };

  Side cut(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting, ArrayRef<Cut> cuts) {
    SmallVector<DimAttr> dims;
    SmallVector<int64_t> placeOf, partsOf(cuts.size());
    for (auto [d, dim] : llvm::enumerate(getDims(g.typeOf(value)))) {
      for (auto [number, cut] : llvm::enumerate(cuts))
        if (contracting[cut.pair] == static_cast<int64_t>(d)) {
          partsOf[number] = dims.size();
          dims.push_back(g.dim(cut.parts));
          dim = DimAttr::ceilDiv(dim, dims.back());
        }
      placeOf.push_back(dims.size());
      dims.push_back(dim);
    }
    auto places = [&](ArrayRef<int64_t> old) {
      return llvm::map_to_vector(old, [&](int64_t d) { return placeOf[d]; });
    };
    Side side{reshape(value, dims, contracting, cuts), places(batch), places(contracting)};
    llvm::append_range(side.batch, partsOf);
    return side;
  }

  /// A weight of few bits keeps its form: the numbers that it is computed from get the dimensions.
  Value reshape(Value value, ArrayRef<DimAttr> dims, ArrayRef<int64_t> contracting, ArrayRef<Cut> cuts) {
    if (!LowBitWeight::find(value, variables))
      return g.reshape(value, dims);
    SmallVector<std::pair<int64_t, int64_t>> parts; // of dimensions, the last one first
    for (const Cut &cut : cuts)
      parts.emplace_back(contracting[cut.pair], cut.parts);
    llvm::sort(parts, std::greater<>());
    for (auto [dim, count] : parts) {
      const int64_t size = g.typeOf(value).getDimSize(dim);
      value = LowBitWeight::find(value, variables)->split(g, dim, {count, size / count});
    }
    return value;
  }

  ContractOp op;
  OpBuilder builder;
  GraphBuilder g;
  const SymbolRanges ranges;
  const DerivableVariables &variables;
};

struct SplitContractionsPass : impl::SplitContractionsPassBase<SplitContractionsPass> {
  void runOnOperation() override {
    const DerivableVariables variables(getOperation());
    SmallVector<ContractOp> contractions;
    getOperation().walk([&](ContractOp op) { contractions.push_back(op); });
    for (ContractOp op : contractions)
      if (failed(ContractionSplitter(op, variables).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace vx

// The family of strategies, the layout and the packing of each product.

#include "ChannelsLast.h"
#include "vx/Analysis/LowBitWeights.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/IR/WindowSize.h"
#include "vx/Transforms/FusionPasses.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CHOOSEPRODUCTSPASS
#include "vx/Transforms/FusionPasses.h.inc"

namespace {

/// Nanoseconds in both layouts of images.
struct LayoutTimes {
  double channelsFirst = 0, channelsLast = 0;

  LayoutTimes &operator+=(const LayoutTimes &other) {
    channelsFirst += other.channelsFirst;
    channelsLast += other.channelsLast;
    return *this;
  }
};

/// True for a constant or a variable that is taken for one, and for the result of ops that only move, round or scale
/// its elements.
bool isWeight(Value value, const DerivableVariables &variables) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<ConstantOp>(op) || variables.isLoad(op))
      return true;
    if (!op->hasTrait<OpTrait::View>() && !isa<CastOp>(op) && !(isa<MulOp>(op) && variables.decide(op->getOperand(1))))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

ProductFacts findFacts(Operation *product, const SymbolRanges &ranges, const DerivableVariables &variables) {
  ProductFacts facts{ranges};
  auto contract = dyn_cast<ContractOp>(product);
  if (!contract && !isa<ConvOp>(product))
    return facts;
  Value factor = product->getOperand(1);
  RankedTensorType type = typeOf(factor);
  if (!type.hasStaticShape() || type.getNumElements() == 0)
    return facts;
  facts.isWeight = isWeight(factor, variables);
  // Along the innermost dimension of the sum all numbers of a packed weight are equal.
  const int64_t innermost = !contract                              ? 1
                            : contract.getRhsContracting().empty() ? -1
                                                                   : contract.getRhsContracting().back();
  std::optional<LowBitWeight> weight = LowBitWeight::find(factor, variables);
  facts.isLowBit = weight && innermost >= 0 && weight->findBlock(innermost) == 0;
  return facts;
}

using Candidates = SmallVector<ProductCandidate>;

/// The first of the ranked candidates whose images have this layout; null without one.
const ProductCandidate *findFastest(const Candidates &ranked, bool channelsLast) {
  const auto *found = llvm::find_if(
      ranked, [&](const ProductCandidate &candidate) { return candidate.product.getChannelsLast() == channelsLast; });
  return found == ranked.end() ? nullptr : found;
}

/// The images that `op` reads: operands that have the layout of its region.
SmallVector<Value> getOperandsInLayout(Operation *op) {
  if (isa<ConvOp, ReduceWindowOp, ReduceOp, PadOp>(op))
    return {op->getOperand(0)};
  if (auto gradient = dyn_cast<ConvFilterOp>(op))
    return {gradient.getInput(), gradient.getGradient()};
  return llvm::to_vector(op->getOperands());
}

/// Convolutions and the ops between them that compute in their layout, as regions that have one layout.
class LayoutRegions {
public:
  LayoutRegions(func::FuncOp function, const llvm::DenseMap<Operation *, Candidates> &candidates,
                const std::function<double(Value)> &estimateMove)
      : candidates(candidates), estimateMove(estimateMove) {
    function.walk([&](Operation *op) { visit(op); });
  }

  /// The convolutions of the regions that are the faster ones with their channels last.
  llvm::DenseSet<Operation *> findChannelsLast();

private:
  void visit(Operation *op);
  /// True where the products and the moves at the borders of a region take less time with channels last. A product
  /// without a candidate in the other layout decides.
  bool isFasterWithChannelsLast(ArrayRef<Operation *> region) const;
  /// The time of the move of `value`, which a region reads from outside, for a region of either layout.
  LayoutTimes moveOfInput(Value value) const;
  /// The same of a value of a region that is read outside.
  LayoutTimes moveOfResult(Value value) const;

  const llvm::DenseMap<Operation *, Candidates> &candidates;
  const std::function<double(Value)> &estimateMove;
  llvm::EquivalenceClasses<Operation *> regions;
  llvm::DenseSet<Operation *> members;
};

void LayoutRegions::visit(Operation *op) {
  auto isMember = [&](Value value) { return members.contains(value.getDefiningOp()); };
  bool isFirst = isa<ConvOp, ConvFilterOp>(op);
  if (!isFirst && !isa<ReduceWindowOp, ReduceOp, ConcatOp, PadOp>(op) && !computesInEitherLayout(op))
    return;
  SmallVector<Value> operands = getOperandsInLayout(op);
  if (!isFirst) {
    auto isInLayout = [&](Value value) {
      return isMember(value) || (computesInEitherLayout(op) && isFreeInEither(value));
    };
    if (llvm::none_of(operands, isMember) || !llvm::all_of(operands, isInLayout))
      return;
  }
  members.insert(op);
  regions.insert(op);
  for (Value operand : operands)
    if (isMember(operand))
      regions.unionSets(op, operand.getDefiningOp());
}

LayoutTimes LayoutRegions::moveOfInput(Value value) const {
  double move = estimateMove(value);
  return getChannelsLast(value) ? LayoutTimes{move, 0} : LayoutTimes{0, move};
}

LayoutTimes LayoutRegions::moveOfResult(Value value) const {
  double move = estimateMove(value);
  bool isRead = false, isMovedBack = true;
  for (Operation *user : value.getUsers()) {
    if (members.contains(user))
      continue;
    auto transpose = dyn_cast<TransposeOp>(user);
    isRead = true;
    isMovedBack &=
        transpose && transpose.getPermutation() == ArrayRef<int64_t>(toChannelsLast(typeOf(value).getRank()));
  }
  if (!isRead)
    return {0, 0};
  return isMovedBack ? LayoutTimes{move, 0} : LayoutTimes{0, move};
}

bool LayoutRegions::isFasterWithChannelsLast(ArrayRef<Operation *> region) const {
  LayoutTimes sum;
  llvm::DenseSet<Value> inputs;
  for (Operation *op : region) {
    if (auto own = candidates.find(op); own != candidates.end()) {
      const ProductCandidate *first = findFastest(own->second, false), *last = findFastest(own->second, true);
      if (!first || !last)
        return last;
      sum += {first->nanoseconds, last->nanoseconds};
    }
    for (Value operand : getOperandsInLayout(op))
      if (!members.contains(operand.getDefiningOp()) && !isFreeInEither(operand) && inputs.insert(operand).second)
        sum += moveOfInput(operand);
    if (!isa<ReduceOp, ConvFilterOp>(op))
      sum += moveOfResult(op->getResult(0));
  }
  return sum.channelsLast < sum.channelsFirst;
}

llvm::DenseSet<Operation *> LayoutRegions::findChannelsLast() {
  llvm::DenseSet<Operation *> result;
  for (const auto &leader : regions) {
    if (!leader->isLeader())
      continue;
    SmallVector<Operation *> region(regions.member_begin(*leader), regions.member_end());
    if (isFasterWithChannelsLast(region))
      result.insert(region.begin(), region.end());
  }
  return result;
}

struct ChooseProductsPass : impl::ChooseProductsPassBase<ChooseProductsPass> {
  ChooseProductsPass() = default;
  ChooseProductsPass(ProductChooser choose, std::function<double(Value)> estimateMove)
      : choose(std::move(choose)), estimateMove(std::move(estimateMove)) {}

  void runOnOperation() override {
    if (!choose) {
      getOperation().emitError()
          << "'vx-choose-products' expects a target, as the pipeline 'vx-fused' gives it, got none";
      return signalPassFailure();
    }
    const SymbolRanges ranges(getOperation()->getParentOfType<ModuleOp>());
    const DerivableVariables variables(getOperation());
    SmallVector<Operation *> products;
    llvm::DenseMap<Operation *, Candidates> candidates;
    getOperation().walk([&](Operation *op) {
      if (!op->hasTrait<OpTrait::Product>())
        return;
      products.push_back(op);
      Candidates &ranked = candidates[op] = choose(op, findFacts(op, ranges, variables));
      auto rank = [](const ProductCandidate &candidate) {
        return std::pair(candidate.nanoseconds, candidate.product.getFamily());
      };
      llvm::sort(ranked, [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
    });
    if (products.empty())
      return;
    const llvm::DenseSet<Operation *> channelsLast =
        LayoutRegions(getOperation(), candidates, estimateMove).findChannelsLast();
    for (Operation *op : products) {
      const ProductCandidate *best = findFastest(candidates[op], channelsLast.contains(op));
      if (!best) {
        op->emitError() << "has no strategy for its layout on this target: channels "
                        << (channelsLast.contains(op) ? "last" : "first");
        return signalPassFailure();
      }
      op->setAttr(kProductAttr, best->product);
    }
  }

private:
  ProductChooser choose;
  std::function<double(Value)> estimateMove;
};

} // namespace

std::unique_ptr<Pass> createChooseProductsPass(ProductChooser choose, std::function<double(Value)> estimateMove) {
  return std::make_unique<ChooseProductsPass>(std::move(choose), std::move(estimateMove));
}

} // namespace vx

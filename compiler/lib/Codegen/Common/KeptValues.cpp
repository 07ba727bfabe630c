#include "KeptValues.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {
namespace {

/// True when a math function is computed for each element.
bool isCostly(linalg::GenericOp op) {
  return op.getBody()
      ->walk([](Operation *inner) {
        bool isCheap = isa<math::AbsFOp, math::FmaOp, math::CeilOp, math::FloorOp, math::RoundEvenOp, math::TruncOp,
                           math::CopySignOp, math::SqrtOp>(inner);
        return isa_and_present<math::MathDialect>(inner->getDialect()) && !isCheap ? WalkResult::interrupt()
                                                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.getNumDpsInits() == 1 &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity();
}

/// True when an iteration reads all its operands: there is no branch.
bool readsAlways(linalg::GenericOp op) {
  return llvm::none_of(*op.getBody(), [](Operation &inner) { return inner.getNumRegions() != 0; });
}

/// The only reduction that reads the elements of `producer`, or elements computed from them. All other readers must be
/// elementwise, up to the store of `result`; null otherwise.
linalg::GenericOp findReduction(linalg::GenericOp producer, Value result) {
  linalg::GenericOp reduction;
  llvm::SetVector<Value> dependent;
  dependent.insert(producer.getResult(0));
  for (size_t next = 0; next < dependent.size(); ++next)
    for (OpOperand &use : dependent[next].getUses()) {
      auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!user) {
        if (dependent[next] != result || !isa<bufferization::MaterializeInDestinationOp>(use.getOwner()))
          return {};
        continue;
      }
      if (!user.isDpsInput(&use) || !user.getMatchingIndexingMap(&use).isIdentity() || !readsAlways(user))
        return {};
      if (isElementwise(user)) {
        dependent.insert(user.getResult(0));
        continue;
      }
      if (user.getNumReductionLoops() == 0 || (reduction && reduction != user) || user.getNumDpsInits() != 1)
        return {};
      reduction = user;
    }
  return reduction && dependent.contains(result) ? reduction : linalg::GenericOp();
}

} // namespace

SmallVector<unsigned> KeptValue::getReduced() const {
  SmallVector<unsigned> dims;
  linalg::GenericOp(reduction).getReductionDims(dims);
  return dims;
}

std::optional<KeptValue> findKeptValue(bufferization::MaterializeInDestinationOp result, const WorkgroupTile &tile) {
  Value source = result.getSource();
  Type element = getElementTypeOrSelf(source);
  // Elements that are not at their own positions, or that others read meanwhile.
  if (result.getDest().getDefiningOp<vxk::PlacesOp>() || !source.hasOneUse())
    return std::nullopt;
  auto function = result->getParentOfType<func::FuncOp>();
  for (auto producer : function.getOps<linalg::GenericOp>()) {
    if (!isElementwise(producer) || getElementTypeOrSelf(producer.getResult(0)) != element || !isCostly(producer))
      continue;
    linalg::GenericOp reduction = findReduction(producer, source);
    if (!reduction)
      continue;
    KeptValue kept{producer, reduction};
    if (llvm::none_of(kept.getReduced(), [&](unsigned dim) { return llvm::is_contained(tile.tiled, dim); }))
      return kept;
  }
  return std::nullopt;
}

} // namespace vx

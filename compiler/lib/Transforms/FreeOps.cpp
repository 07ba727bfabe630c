#include "FreeOps.h"

#include "vx/Analysis/LowBitWeights.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

namespace {

/// True for a reader of weights of few bits that decodes what it reads.
bool decodesWhatItReads(Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  return isa<ContractOp, ConvOp>(op) || (gather && !gather.getMembers());
}

/// True for random bits compared with a number: which elements a dropout keeps. To draw them again is cheaper than to
/// keep one byte of each.
bool isRandomMask(Operation *op) {
  auto compare = dyn_cast<CompareOp>(op);
  return compare && compare.getLhs().getDefiningOp<RandomBitsOp>() && getSplatNumber(compare.getRhs());
}

/// True for a check of indices that few elements read, each by itself: a label that is compared with all classes. The
/// first kernel that reads them checks them, and none is waited for.
bool isCheckOfReaders(Operation *op) {
  constexpr int64_t kMostReaders = 64; // elements for each index
  auto check = dyn_cast<CheckIndicesOp>(op);
  if (!check || !check.getFromStart())
    return false;
  auto countStatic = [](RankedTensorType type) {
    int64_t count = 1;
    for (int64_t size : type.getShape())
      count = ShapedType::isDynamic(size) ? count : count * size;
    return count;
  };
  RankedTensorType own = typeOf(check.getResult());
  return llvm::all_of(check->getUsers(), [&](Operation *user) {
    if (!isa<BroadcastOp>(user) && !user->hasTrait<OpTrait::Elementwise>())
      return false;
    RankedTensorType type = typeOf(user->getResult(0));
    return type.getNumDynamicDims() == own.getNumDynamicDims() && countStatic(type) <= kMostReaders * countStatic(own);
  });
}

} // namespace

bool isDecodedByReaders(Operation *op) {
  if (op->getNumResults() != 1 || !op->hasTrait<OpTrait::Elementwise>() || !decodesLowBits(op->getResult(0)))
    return false;
  llvm::SetVector<Operation *> visited;
  visited.insert(op);
  for (size_t next = 0; next < visited.size(); ++next) {
    if (visited[next]->use_empty())
      return false;
    for (Operation *user : visited[next]->getUsers()) {
      if (decodesWhatItReads(user))
        continue;
      if (!isa<BroadcastOp>(user) && (user->getNumResults() != 1 || !user->hasTrait<OpTrait::Elementwise>()))
        return false;
      visited.insert(user);
    }
  }
  return true;
}

bool isNumberOfSizes(Operation *op, unsigned depth) {
  if (isa<DimValueOp>(op))
    return true;
  if (depth == 0 || op->getNumResults() != 1 || !op->hasTrait<OpTrait::Elementwise>() || mayFault(op) ||
      typeOf(op->getResult(0)).getRank() != 0)
    return false;
  bool hasSize = false;
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) {
                        Operation *producer = operand.getDefiningOp();
                        bool isSize = producer && isNumberOfSizes(producer, depth - 1);
                        hasSize |= isSize;
                        return isSize || getSplatNumber(operand);
                      }) &&
         hasSize;
}

bool isFree(Operation *op) {
  if (op->hasTrait<OpTrait::Free>() || isRandomMask(op) || isCheckOfReaders(op) || isNumberOfSizes(op) ||
      isDecodedByReaders(op))
    return true;
  DenseElementsAttr value;
  if (auto constant = dyn_cast<ConstantOp>(op))
    value = dyn_cast<DenseElementsAttr>(constant.getValue());
  return value && value.isSplat();
}

} // namespace vx

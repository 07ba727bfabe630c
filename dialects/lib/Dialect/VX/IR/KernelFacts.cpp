#include "vx/Dialect/VX/IR/KernelFacts.h"

using namespace mlir;

namespace vx {

static constexpr llvm::StringLiteral kInPlaceAttr = "vx.in_place";

llvm::SmallVector<InPlacePair> getInPlacePairs(KernelOp kernel) {
  SmallVector<InPlacePair> pairs;
  auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr);
  for (ArrayRef<int64_t> rest = numbers ? numbers.asArrayRef() : ArrayRef<int64_t>(); rest.size() >= 2;
       rest = rest.drop_front(2))
    pairs.push_back({rest[0], rest[1]});
  return pairs;
}

void setInPlacePairs(KernelOp kernel, llvm::ArrayRef<InPlacePair> pairs) {
  SmallVector<int64_t> numbers;
  for (InPlacePair pair : pairs) {
    numbers.push_back(pair.operand);
    numbers.push_back(pair.result);
  }
  if (!numbers.empty())
    kernel->setAttr(kInPlaceAttr, DenseI64ArrayAttr::get(kernel.getContext(), numbers));
}

UpdateOpInterface getUpdate(Block &body, int64_t result) {
  return body.getTerminator()->getOperand(result).getDefiningOp<UpdateOpInterface>();
}

std::optional<int64_t> getUpdatedOperand(KernelOp kernel, int64_t result) {
  UpdateOpInterface update = getUpdate(kernel.getBody().front(), result);
  auto argument = update ? dyn_cast<BlockArgument>(update->getOperand(0)) : BlockArgument();
  return argument ? std::optional<int64_t>(argument.getArgNumber()) : std::nullopt;
}

bool isUpdated(OpOperand &use) { return isa<UpdateOpInterface>(use.getOwner()) && use.getOperandNumber() == 0; }

RankedTensorType getVisitedType(Block &body) {
  if (UpdateOpInterface update = getUpdate(body, 0))
    return update.getUpdates().getType();
  return cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType());
}

} // namespace vx

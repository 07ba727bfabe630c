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

bool isPacked(Type element) {
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() < 8 && !element.isInteger(1);
}

bool isNarrow(Type element) {
  return isPacked(element) || (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8);
}

Type getWideType(Type narrow) {
  auto integer = dyn_cast<IntegerType>(narrow);
  return integer ? Type(IntegerType::get(narrow.getContext(), 8, integer.getSignedness()))
                 : Type(Float32Type::get(narrow.getContext()));
}

RankedTensorType getStoredForm(RankedTensorType type) {
  Type element = type.getElementType();
  DimAttr count = isPacked(element) ? getNumElements(type) : DimAttr();
  if (!count)
    return type;
  MLIRContext *context = type.getContext();
  DimAttr bytes = DimAttr::ceilDiv(count * element.getIntOrFloatBitWidth(), DimAttr::constant(context, 8));
  return getTensorType(bytes, IntegerType::get(context, 8, IntegerType::Unsigned));
}

RankedTensorType getVisitedType(Block &body) {
  if (UpdateOpInterface update = getUpdate(body, 0))
    return update.getUpdates().getType();
  return getStoredForm(cast<RankedTensorType>(body.getTerminator()->getOperand(0).getType()));
}

} // namespace vx

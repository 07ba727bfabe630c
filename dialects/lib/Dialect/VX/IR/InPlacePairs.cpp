#include "vx/Dialect/VX/IR/InPlacePairs.h"

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

} // namespace vx

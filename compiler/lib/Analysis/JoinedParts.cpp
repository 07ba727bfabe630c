#include "vx/Analysis/JoinedParts.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

std::optional<SmallVector<int64_t>> getPartOffsets(ConcatOp concat) {
  SmallVector<int64_t> offsets = {0};
  for (Value input : concat.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    // One before the other in memory, too.
    if (!type.getElementType().isIntOrFloat() || isPacked(type.getElementType()) || !type.hasStaticShape() ||
        offsets.back() % kVariableAlignment != 0 ||
        llvm::any_of(type.getShape().take_front(concat.getAxis()), [](int64_t size) { return size != 1; }))
      return std::nullopt;
    offsets.push_back(offsets.back() + type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  }
  return offsets;
}

} // namespace vx

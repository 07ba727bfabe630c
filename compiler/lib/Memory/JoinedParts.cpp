#include "JoinedParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

std::optional<SmallVector<int64_t>> getPartOffsets(KernelOp kernel, int64_t alignment) {
  Block &body = kernel.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  auto concat = yield.getNumOperands() == 1 ? yield.getOperand(0).getDefiningOp<ConcatOp>() : ConcatOp();
  if (!concat || !llvm::hasSingleElement(body.without_terminator()) ||
      concat.getInputs().size() != body.getNumArguments())
    return std::nullopt;
  SmallVector<int64_t> offsets;
  int64_t end = 0;
  for (Value input : concat.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    // One before the other in memory, too.
    if (!isa<BlockArgument>(input) || !type.getElementType().isIntOrFloat() || !input.hasOneUse() ||
        !type.hasStaticShape() || end % alignment != 0 ||
        llvm::any_of(type.getShape().take_front(concat.getAxis()), [](int64_t size) { return size != 1; }))
      return std::nullopt;
    offsets.push_back(end);
    end += type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
  // Operands in the kernel's order.
  SmallVector<int64_t> byOperand(offsets.size());
  for (auto [input, offset] : llvm::zip_equal(concat.getInputs(), offsets))
    byOperand[cast<BlockArgument>(input).getArgNumber()] = offset;
  return byOperand;
}

} // namespace vx

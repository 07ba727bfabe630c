#include "ChooseStrategy.h"

#include "vx/Dialect/VX/IR/SourceLocation.h"

using namespace mlir;

namespace vx::vulkan {

LogicalResult checkSupported(Operation *op) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      auto tensor = dyn_cast<TensorType>(type);
      if (!tensor)
        continue;
      Type element = tensor.getElementType();
      // A sequence's strings never reach a kernel.
      bool known = element.isF16() || element.isF32() || element.isF64() || isa<StringType>(element);
      if (auto integer = dyn_cast<IntegerType>(element))
        known |= integer.getWidth() == 1 || integer.getWidth() >= 8;
      if (!known)
        return op->emitOpError() << "of " << describeSource(op->getLoc())
                                 << " expects element types that target 'vulkan' knows, got " << element;
    }
  return success();
}

} // namespace vx::vulkan

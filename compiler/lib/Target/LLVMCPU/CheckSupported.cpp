// What the CPU target refuses, op by op.
#include "CPUTargetImpl.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace vx::cpu {

LogicalResult checkSupported(Operation *op) {
  // Sequences hold tensors that other ops compute; moving them is the host's work and needs no kernel.
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    auto tensor = llvm::dyn_cast<TensorType>(type);
    if (!tensor)
      continue;
    if (llvm::isa<StringType>(tensor.getElementType()))
      return op->emitOpError() << "expects types that target 'cpu' takes, got " << type << ": strings are host "
                               << "objects, no kernel reads them";
  }
  return success();
}

} // namespace vx::cpu

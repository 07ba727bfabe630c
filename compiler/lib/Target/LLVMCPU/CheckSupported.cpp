// What the CPU target refuses, op by op.
#include "CPUTargetImpl.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace vx::cpu {

/// Empty when kernels can read and write elements of `type`, else the reason.
static std::string refusalOf(Type type) {
  if (llvm::isa<StringType>(type))
    return "strings are host objects, no kernel reads them";
  if (auto floatType = llvm::dyn_cast<FloatType>(type)) {
    if (floatType.isF16() || floatType.isBF16() || floatType.isF32() || floatType.isF64())
      return {};
    return "floating-point elements are f16, bf16, f32 or f64";
  }
  // The ops' verifiers leave integers.
  unsigned width = llvm::cast<IntegerType>(type).getWidth();
  if (width == 1 || width == 8 || width == 16 || width == 32 || width == 64)
    return {};
  return "integer elements have 1, 8, 16, 32 or 64 bits";
}

LogicalResult checkSupported(Operation *op) {
  // Sequences hold tensors that other ops compute; moving them is the host's work and needs no kernel.
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    auto tensor = llvm::dyn_cast<TensorType>(type);
    if (!tensor)
      continue;
    std::string refusal = refusalOf(tensor.getElementType());
    if (!refusal.empty())
      return op->emitOpError() << "has the type " << type << ", which target 'cpu' does not take: " << refusal;
  }
  return success();
}

} // namespace vx::cpu

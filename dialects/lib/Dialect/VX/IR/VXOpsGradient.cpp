#include "VXOpFamilies.h"

#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/Constraints.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsGradient.cpp.inc"

namespace vx {

LogicalResult GradientOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getWrt().getTypes());
  return success();
}

LogicalResult GradientOp::verify() {
  if (getSeed() && !areCompatibleTypes(getSeed().getType(), getValue().getType())) // C2
    return emitOpError() << "expects 'seed' of the type of 'value': want " << getValue().getType() << ", got "
                         << getSeed().getType();
  if (getWrt().empty()) // C3
    return emitOpError() << "expects at least 1 value in 'wrt', got 0";
  return success();
}

void GradientOp::collectConstraints(ConstraintCollector &collector) {
  if (getSeed())
    collector.wantEqualShapes(getSeed().getType(), getValue().getType());
}

static LogicalResult verifyRegion(CustomGradientOp op, Block &block, StringRef name, TypeRange arguments,
                                  TypeRange yields) {
  auto check = [&](StringRef what, TypeRange want, TypeRange got) -> LogicalResult {
    if (want.size() != got.size())
      return op.emitOpError() << "expects " << want.size() << " " << what << " of '" << name << "', got " << got.size();
    for (auto [index, pair] : llvm::enumerate(llvm::zip(want, got)))
      if (auto [wanted, type] = pair; !areCompatibleTypes(wanted, type))
        return op.emitOpError() << "expects " << wanted << " as number " << index << " of the " << what << " of '"
                                << name << "', got " << type;
    return success();
  };
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op.emitOpError() << "expects '" << name << "' to end with 'vx.yield'";
  if (failed(check("arguments", arguments, block.getArgumentTypes())))
    return failure();
  return check("values", yields, yield.getValues().getTypes());
}

LogicalResult CustomGradientOp::verify() {
  SmallVector<Type> arguments(getInputs().getTypes()), gradients;
  if (failed(verifyRegion(*this, getForward().front(), "forward", arguments, getResultTypes()))) // C1
    return failure();
  llvm::append_range(arguments, getResultTypes());
  llvm::copy_if(getResultTypes(), std::back_inserter(arguments), isDifferentiable);
  llvm::copy_if(getInputs().getTypes(), std::back_inserter(gradients), isDifferentiable);
  return verifyRegion(*this, getPullback().front(), "pullback", arguments, gradients); // C2
}

void registerGradientOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsGradient.cpp.inc"
      >(dialect);
}

} // namespace vx

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "vx/Target/Vulkan.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_STOREBF16ASBITSPASS
#include "vx/Target/Vulkan/Passes.h.inc"

namespace {

/// The type with i16 in the place of bf16.
Type toBits(Type type) {
  Type bits = IntegerType::get(type.getContext(), 16);
  if (type.isBF16())
    return bits;
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.getElementType().isBF16() ? shaped.clone(bits) : type;
}

struct StoreBF16AsBitsPass : impl::StoreBF16AsBitsPassBase<StoreBF16AsBitsPass> {
  void runOnOperation() override {
    SmallVector<arith::BitcastOp> casts;
    WalkResult result = getOperation().walk([&](Operation *op) -> WalkResult {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            argument.setType(toBits(argument.getType()));
      bool isBF16 = false;
      for (Value value : op->getResults()) {
        isBF16 |= toBits(value.getType()) != value.getType();
        value.setType(toBits(value.getType()));
      }
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        if (isBF16)
          constant.setValueAttr(toBitsOf(constant.getValue()));
      } else if (auto cast = dyn_cast<arith::BitcastOp>(op)) {
        casts.push_back(cast);
      } else if (isBF16 && isa<arith::ArithDialect>(op->getDialect()) && !isa<arith::SelectOp>(op)) {
        return op->emitError() << "expected arithmetic in f32 on Vulkan, got '" << op->getName() << "' in bf16",
               WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    func::FuncOp function = getOperation();
    auto convert = [](TypeRange types) { return llvm::map_to_vector(types, [](Type type) { return toBits(type); }); };
    function.setFunctionType(
        FunctionType::get(&getContext(), convert(function.getArgumentTypes()), convert(function.getResultTypes())));
    for (arith::BitcastOp cast : casts)
      if (cast.getIn().getType() == cast.getType()) {
        cast.replaceAllUsesWith(cast.getIn());
        cast.erase();
      }
  }

private:
  static TypedAttr toBitsOf(TypedAttr value) {
    Type bits = IntegerType::get(value.getContext(), 16);
    if (auto number = dyn_cast<FloatAttr>(value))
      return IntegerAttr::get(bits, number.getValue().bitcastToAPInt());
    return cast<DenseElementsAttr>(value).bitcast(bits);
  }
};

} // namespace
} // namespace vx

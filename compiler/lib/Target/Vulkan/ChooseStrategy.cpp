#include "ChooseStrategy.h"

#include "vx/Dialect/VX/IR/SourceLocation.h"

using namespace mlir;

namespace vx::vulkan {

StrategyAttr chooseStrategy(FusionOp region, const TargetSpec &spec) {
  auto result = cast<RankedTensorType>(region.getResult(0).getType());
  // Elements of a result in rows of the innermost dimension, a tile of `threads` elements in all where sizes are known.
  int64_t threads = std::min<int64_t>(spec.maxThreads, 128);
  SmallVector<int64_t> tile(result.getRank(), 1);
  int64_t left = threads;
  for (int64_t dim = result.getRank(); dim-- > 0 && left > 1;) {
    int64_t size = result.isDynamicDim(dim) ? left : std::max<int64_t>(1, result.getDimSize(dim));
    tile[dim] = std::min(size, left);
    left /= tile[dim];
  }
  return StrategyAttr::get(region.getContext(), "loops", tile, {}, {}, threads);
}

LogicalResult checkSupported(Operation *op) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      auto tensor = dyn_cast<TensorType>(type);
      if (!tensor)
        continue;
      Type element = tensor.getElementType();
      bool known = element.isF16() || element.isF32() || element.isF64() || element.isInteger(1) ||
                   element.isInteger(8) || element.isInteger(16) || element.isInteger(32) || element.isInteger(64);
      if (!known)
        return op->emitOpError() << "of " << describeSource(op->getLoc())
                                 << " expects element types that target 'vulkan' knows, got '" << element << "'";
    }
  return success();
}

} // namespace vx::vulkan

#include "vx/Dialect/VX/Utils/LastInOrder.h"

#include <limits>

using namespace mlir;

namespace vx {

Value emitLastInOrder(GraphBuilder &g, Type type, bool descending) {
  if (isa<FloatType>(type)) {
    double number = descending ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return g.emitScalar(number, type);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger();
  APInt least = isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  APInt most = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  return g.emitConstant(DenseElementsAttr::get(RankedTensorType::get({}, type), descending ? least : most));
}

} // namespace vx

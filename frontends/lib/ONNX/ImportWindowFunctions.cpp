// Window functions of signals: sums of cosines. An input has the number of points.
#include "OpFunctions.h"

#include <cmath>

using namespace mlir;

namespace vx::onnx {

/// `factors[k] * cos(2 pi k i / period)`, summed, at the points i.
static void setCosineWindow(NodeImporter &n, ArrayRef<double> factors) {
  Type type = getElementType(n.context, n.getInt("output_datatype", 1), "the result");
  if (!isa<FloatType, IntegerType>(type) || type.isInteger(1))
    throwInvalid("expects 'output_datatype' to be a type of numbers, got " + describe(type));
  DimAttr size = n.getInteger(0);
  if (size.asConstant() && *size.asConstant() < 0)
    throwInvalid("expects a size of at least 0, got " + Twine(*size.asConstant()));
  DimAttr period = n.getFlag("periodic", true) ? size : subDims(size, n.dim(1));
  Type wide = type.isF64() ? type : Type(Float32Type::get(n.context));
  RankedTensorType points = makeTensorType(size, wide);
  Value turns = n.emit<DivOp>(n.emitAs<IotaOp>(points, 0), n.broadcastInDim(n.emitDim(period, wide), size, {}));
  Value sum = n.splat(factors[0], points);
  for (auto [index, factor] : llvm::enumerate(factors.drop_front())) {
    Value angle = n.emit<MulOp>(turns, n.splat(2 * M_PI * double(index + 1), points));
    sum = n.emit<AddOp>(sum, n.emit<MulOp>(n.emit<CosOp>(angle), n.splat(factor, points)));
  }
  n.setOutput(0, n.cast(sum, type));
}

static void importBlackmanWindow(NodeImporter &n) { setCosineWindow(n, {0.42, -0.5, 0.08}); }
static void importHammingWindow(NodeImporter &n) { setCosineWindow(n, {25.0 / 46, -21.0 / 46}); }
static void importHannWindow(NodeImporter &n) { setCosineWindow(n, {0.5, -0.5}); }

static constexpr OpTableEntry windowFunctionsTable[] = {
    {"BlackmanWindow", 17, newestOpset, importBlackmanWindow},
    {"HammingWindow", 17, newestOpset, importHammingWindow},
    {"HannWindow", 17, newestOpset, importHannWindow},
};
const llvm::ArrayRef<OpTableEntry> windowFunctionsOps = windowFunctionsTable;

} // namespace vx::onnx

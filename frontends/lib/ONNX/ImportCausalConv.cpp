// A causal convolution of each channel along time, and the elements that the next call needs.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Activations.h"

using namespace mlir;

namespace vx::onnx {

/// Sums of products of a row's windows with its filter, where the call knows how long that is.
static Value convolveWindows(NodeImporter &n, Value padded, Value filter, DimAttr length) {
  Dims dims = vx::getDims(typeOf(padded)), filterDims = vx::getDims(typeOf(filter));
  RankedTensorType places = makeTensorType({length, filterDims[2]}, n.builder.getI64Type());
  Value place = n.emit<AddOp>(n.emitAs<IotaOp>(places, 0), n.emitAs<IotaOp>(places, 1));
  Value windows = n.widen(n.emit<GatherOp>(padded, place, 2, IntegerAttr(), /*in_range=*/true));
  Value factors = n.reshape(n.widen(filter), {dims[1], filterDims[2]});
  factors = n.broadcastInDim(factors, vx::getDims(typeOf(windows)), {1, 3});
  return n.reduce(ReduceKind::sum, n.emit<MulOp>(windows, factors), 3);
}

static void importCausalConvWithState(NodeImporter &n) {
  Value input = n.getTensor(0), filter = n.getTensor(1);
  Type type = elementOf(input);
  if (typeOf(input).getRank() != 3 || typeOf(filter).getRank() != 3 || !isa<FloatType>(type) ||
      elementOf(filter) != type)
    throwInvalid("expects an input and a filter of floats of one type in 3 dimensions, got " +
                 describe(input.getType()) + " and " + describe(filter.getType()));
  std::string activation = n.getString("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    throwInvalid("expects 'activation' to be none, silu or swish, got '" + activation + "'");
  Dims dims = n.getDims(0);
  DimAttr size = n.getDims(1)[2];
  if (size.asConstant() == 0)
    throwInvalid("expects a filter of at least 1 place, got " + describe(filter.getType()));
  n.require(ConstraintKind::at_least, size, n.dim(1));
  n.requireShape(1, {dims[1], n.dim(1), size});
  DimAttr kept = subDims(size, n.dim(1));
  for (unsigned optional : {2, 3})
    if (n.hasInput(optional) && n.getTensorType(optional).getElementType() != type)
      throwInvalid("expects the elements of " + describe(input.getType()) + " as input " + Twine(optional) + ", got " +
                   describe(n.getTensorType(optional)));
  Dims stateDims = {dims[0], dims[1], kept};
  Value before;
  if (n.hasInput(3)) {
    n.requireShape(3, stateDims);
    before = n.getTensor(3);
  } else {
    before = n.splat(0, makeTensorType(stateDims, type));
  }
  Value padded = n.emit<ConcatOp>(ValueRange{before, input}, 2), result;
  std::optional<int64_t> channels = dims[1].asConstant();
  if (channels && *channels > 0 && size.asConstant())
    result = n.widen(n.emit<ConvOp>(padded, filter, ArrayRef<int64_t>(1), ArrayRef<int64_t>(1), ArrayRef<int64_t>(0),
                                    ArrayRef<int64_t>(0), *channels));
  else
    result = convolveWindows(n, padded, filter, dims[2]);
  if (n.hasInput(2)) {
    n.requireShape(2, dims[1]);
    result = n.emit<AddOp>(result, n.broadcastInDim(n.widen(n.getTensor(2)), dims, 1));
  }
  if (activation != "none")
    result = n.emit<MulOp>(result, emitSigmoid(n, result));
  n.setOutput(0, n.cast(result, type));
  n.setOutput(1, n.slice(padded, {n.dim(0), n.dim(0), dims[2]}, stateDims, {1, 1, 1}));
}

static constexpr OpTableEntry causalConvTable[] = {
    {"CausalConvWithState", 27, newestOpset, importCausalConvWithState},
};
const llvm::ArrayRef<OpTableEntry> causalConvOps = causalConvTable;

} // namespace vx::onnx

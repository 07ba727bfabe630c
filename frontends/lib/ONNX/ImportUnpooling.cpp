// MaxUnpool: the inverse of a MaxPool with indices.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

static void importMaxUnpool(NodeImporter &n) {
  Value input = n.getTensor(0), places = n.getTensor(1);
  Dims dims = n.getDims(0);
  if (dims.size() < 3 || !elementOf(places).isSignlessInteger(64))
    throwInvalid("expects a tensor of 3 or more dimensions and places of i64, got " + describe(input.getType()) +
                 " and " + describe(places.getType()));
  n.requireShape(1, dims);
  size_t count = dims.size() - 2;
  if (!n.hasAttribute("kernel_shape"))
    throwInvalid("expects attribute 'kernel_shape', got none");
  SmallVector<int64_t> kernel = getWindowList(n, "kernel_shape", count, 1, 1),
                       strides = getWindowList(n, "strides", count, 1, 1),
                       pads = getWindowList(n, "pads", 2 * count, 0, 0);
  Dims result = dims;
  if (n.hasInput(2)) {
    Dims sizes = n.getIntegers(2, dims.size());
    if (sizes.size() != dims.size())
      throwInvalid("expects " + Twine(dims.size()) + " sizes as input 2, got " + Twine(sizes.size()));
    for (size_t d : {0, 1}) {
      if (!mayBeEqual(sizes[d], dims[d]))
        throwInvalid("expects an output of " + dims[0].str() + " x " + dims[1].str() + " planes, got " +
                     sizes[0].str() + " x " + sizes[1].str());
      n.require(ConstraintKind::equal, sizes[d], dims[d]);
    }
    std::copy(sizes.begin() + 2, sizes.end(), result.begin() + 2);
  } else {
    for (size_t d = 0; d < count; ++d) {
      DimAttr reach = mulDims(subDims(dims[d + 2], n.dim(1)), n.dim(strides[d]));
      result[d + 2] = addDims(reach, n.dim(kernel[d] - pads[d] - pads[count + d]));
    }
  }
  // The indices are flat indices into the whole result.
  DimAttr size = productOf(n.context, result), updates = productOf(n.context, dims);
  Value flat = n.splat(0, makeTensorType(size, elementOf(input)));
  Value indices = n.emit<CheckIndicesOp>(n.reshape(places, {updates, n.dim(1)}), n.toArray(size));
  Value written = n.emit<ScatterOp>(ScatterKind::set, flat, indices, n.reshape(input, updates), ArrayRef<int64_t>(0));
  n.setOutput(0, n.reshape(written, result));
}

static constexpr OpTableEntry unpoolingTable[] = {
    {"MaxUnpool", 9, newestOpset, importMaxUnpool},
};
const llvm::ArrayRef<OpTableEntry> unpoolingOps = unpoolingTable;

} // namespace vx::onnx

// Ops that tell the elements of matrices by the diagonal that they stand on.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

/// How far the element of each place of a matrix stands above its main diagonal: column - row.
static Value emitDiagonals(NodeImporter &n, DimAttr rows, DimAttr columns) {
  RankedTensorType type = makeTensorType({rows, columns}, n.builder.getI64Type());
  return n.emit<SubOp>(n.emitAs<IotaOp>(type, 1), n.emitAs<IotaOp>(type, 0));
}

static void importTrilu(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  int64_t rank = dims.size();
  if (rank < 2)
    throwInvalid("expects a tensor of 2 or more dimensions, got " + describe(input.getType()));
  Value diagonals = emitDiagonals(n, dims[rank - 2], dims[rank - 1]), last = n.splatLike(0, diagonals);
  if (n.hasInput(1)) {
    RankedTensorType type = n.getTensorType(1);
    if (!isa<IntegerType>(type.getElementType()))
      throwInvalid("expects one integer as input 1, got " + describe(type));
    n.checkIsSingle(1, "integer");
    last = n.broadcastInDim(n.reshape(n.cast(n.getTensor(1), n.builder.getI64Type()), {}),
                            {dims[rank - 2], dims[rank - 1]}, {});
  }
  auto kept = n.getFlag("upper", true) ? ComparePredicate::ge : ComparePredicate::le;
  Value isKept = n.broadcast(n.emit<CompareOp>(kept, diagonals, last), dims);
  n.setOutput(0, n.emit<SelectOp>(isKept, input, n.splatLike(0, input)));
}

static void importEyeLike(NodeImporter &n) {
  RankedTensorType type = n.getTensorType(0);
  Dims dims = n.getDims(0);
  if (dims.size() != 2)
    throwInvalid("expects a matrix, got " + describe(type));
  Type elementType = type.getElementType();
  if (n.hasAttribute("dtype"))
    elementType = getElementType(n.context, n.getInt("dtype"), "the result");
  auto scalar = RankedTensorType::get({}, n.builder.getI64Type());
  Value one = n.broadcastInDim(n.emitConstant(DenseElementsAttr::get(scalar, n.getInt("k", 0))), dims, {});
  Value isOne = n.emit<CompareOp>(ComparePredicate::eq, emitDiagonals(n, dims[0], dims[1]), one);
  n.setOutput(0, n.cast(isOne, elementType));
}

static constexpr OpTableEntry diagonalsTable[] = {
    {"EyeLike", 9, newestOpset, importEyeLike},
    {"Trilu", 14, newestOpset, importTrilu},
};
const llvm::ArrayRef<OpTableEntry> diagonalsOps = diagonalsTable;

} // namespace vx::onnx

// Ops whose element addresses come from data.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

/// Indices as vx.gather takes them: i32 or i64.
static Value toIndices(NodeImporter &n, Value indices) {
  Type type = elementOf(indices);
  if (!isa<IntegerType>(type))
    throwInvalid("expects integer indices, got " + describe(indices.getType()));
  bool isIndex = type.isSignlessInteger(32) || type.isSignlessInteger(64);
  return isIndex ? indices : n.cast(indices, n.builder.getI64Type());
}

static void importGather(NodeImporter &n) {
  RankedTensorType type = n.getTensorType(0), indexType = n.getTensorType(1);
  int64_t axis = n.getAxis("axis", 0, type.getRank());
  std::optional<Dims> contents = n.getContents(0), indices = n.getContents(1);
  if (contents && indices && type.getRank() == 1 && indexType.getRank() <= 1) {
    Dims taken;
    int64_t count = contents->size();
    for (DimAttr index : *indices)
      if (std::optional<int64_t> place = index.asConstant()) {
        if (*place < -count || *place >= count)
          throwInvalid("expects indices from " + Twine(-count) + " to " + Twine(count - 1) + ", got " + Twine(*place));
        taken.push_back((*contents)[*place < 0 ? *place + count : *place]);
      }
    if (taken.size() == indices->size())
      return n.setContents(0, taken, RankedTensorType::get(indexType.getShape(), type.getElementType()));
  }
  n.setOutput(0, n.emit<GatherOp>(n.getTensor(0), toIndices(n, n.getTensor(1)), axis, IntegerAttr()));
}

/// How many dimensions of the first input the tuples along the last dimension of the second one index.
static int64_t getTupleSize(NodeImporter &n) {
  Dims dims = n.getDims(0), indexDims = n.getDims(1);
  Type input = n.getTensor(0).getType(), indices = n.getTensor(1).getType();
  if (dims.empty() || indexDims.empty())
    throwInvalid("expects tensors of 1 or more dimensions, got " + describe(input) + " and " + describe(indices));
  std::optional<int64_t> size = indexDims.back().asConstant();
  if (!size || *size < 1 || *size > static_cast<int64_t>(dims.size()))
    throwUnsupported("expects tuples of 1 to " + Twine(dims.size()) + " indices, got " + describe(indices));
  return *size;
}

static void importGatherND(NodeImporter &n) {
  if (n.getInt("batch_dims", 0) != 0)
    throwUnsupported("expects 'batch_dims' to be 0, got " + Twine(n.getInt("batch_dims", 0)));
  int64_t size = getTupleSize(n);
  n.setOutput(
      0, n.emit<GatherOp>(n.getTensor(0), toIndices(n, n.getTensor(1)), 0, n.model.builder.getI64IntegerAttr(size)));
}

static void importScatterND(NodeImporter &n) {
  int64_t size = getTupleSize(n);
  std::string reduction = n.getString("reduction", "none");
  if (reduction != "none" && reduction != "add")
    throwUnsupported("expects 'reduction' to be none or add, got '" + Twine(reduction) + "'");
  Dims dims = n.getDims(0);
  SmallVector<Attribute> sizes(dims.begin(), dims.begin() + size);
  Value places = n.emit<CheckIndicesOp>(toIndices(n, n.getTensor(1)), n.model.builder.getArrayAttr(sizes));
  auto kind = reduction == "add" ? ScatterKind::add : ScatterKind::set;
  n.setOutput(
      0, n.emit<ScatterOp>(kind, n.getTensor(0), places, n.getTensor(2), llvm::to_vector(llvm::seq<int64_t>(0, size))));
}

static void importNonZero(NodeImporter &n) {
  Value input = n.getTensor(0);
  // A scalar counts as a list of one element.
  if (typeOf(input).getRank() == 0)
    input = n.reshape(input, n.dim(1));
  Value count = n.emitAs<CountNonzeroOp>(RankedTensorType::get({}, n.builder.getI64Type()), input);
  DimAttr symbol = n.bindSymbol(count, n.proto.output(0) + ".shape[1]");
  Dims dims = {n.dim(typeOf(input).getRank()), symbol};
  n.setOutput(0, n.emitAs<NonzeroOp>(makeTensorType(dims, n.builder.getI64Type()), input));
}

static constexpr OpTableEntry indexingTable[] = {
    {"Gather", 1, newestOpset, importGather, "axis"},
    {"GatherND", 11, newestOpset, importGatherND, "batch_dims@12"},
    {"NonZero", 9, newestOpset, importNonZero, ""},
    {"ScatterND", 11, newestOpset, importScatterND, "reduction@16"},
};
const llvm::ArrayRef<OpTableEntry> indexingOps = indexingTable;

} // namespace vx::onnx

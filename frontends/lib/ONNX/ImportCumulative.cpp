// Sums and products of all elements before each one along a dimension.
#include "OpFunctions.h"
#include "vx/Dialect/VX/Utils/Cumulation.h"

using namespace mlir;

namespace vx::onnx {

Value emitCumulativeSum(NodeImporter &n, Value list) {
  DimAttr length = getDim(typeOf(list), 0);
  Value line = n.reshape(list, {n.dim(1), length, n.dim(1)});
  return n.reshape(n.emit<CumulativeSumOp>(line, /*exclusive=*/false, /*reverse=*/false), length);
}

AroundAxis bindAroundAxis(NodeImporter &n, unsigned input, ArrayRef<DimAttr> dims) {
  Type i64 = n.builder.getI64Type();
  DimAttr rank = n.dim(dims.size());
  RankedTensorType listType = makeTensorType(rank, i64);
  Value axis = n.reshape(n.cast(n.getTensor(input), i64), {}), zero = n.emitScalar(0, i64);
  Value isNegative = n.emit<CompareOp>(ComparePredicate::lt, axis, zero);
  axis = n.emit<SelectOp>(isNegative, n.emit<AddOp>(axis, n.emitDim(rank, i64)), axis);
  // One that is too great is -1, as one that is too small is below 0.
  Value isTooGreat = n.emit<CompareOp>(ComparePredicate::ge, axis, n.emitDim(rank, i64));
  axis = n.emit<SelectOp>(isTooGreat, n.emitScalar(-1, i64), axis);
  std::string name = n.proto.input(input);
  DimAttr place = n.bindSymbol(axis, name);
  Value places = n.emitAs<IotaOp>(listType, 0), list = n.emitList(dims), ones = n.splat(1, listType);
  Value spread = n.broadcastInDim(axis, rank, {});
  Dims around;
  for (auto [predicate, what] : {std::pair(ComparePredicate::lt, "before"), std::pair(ComparePredicate::eq, "along"),
                                 std::pair(ComparePredicate::gt, "behind")}) {
    Value counted = n.emit<SelectOp>(n.emit<CompareOp>(predicate, places, spread), list, ones);
    around.push_back(n.bindSymbol(n.reduce(ReduceKind::prod, counted, 0), Twine(what) + "(" + name + ")"));
  }
  return {place, around[0], around[1], around[2]};
}

static void importCumulation(NodeImporter &n, ReduceKind kind) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  RankedTensorType axisType = n.getTensorType(1);
  if (!isa<IntegerType>(axisType.getElementType()))
    throwInvalid("expects one integer as input 1, got " + describe(axisType));
  n.checkIsSingle(1, "integer");
  if (dims.empty())
    throwInvalid("expects a tensor of 1 or more dimensions, got " + describe(input.getType()));
  Dims around;
  std::optional<Dims> contents = n.getContents(1);
  if (std::optional<int64_t> listed = contents ? contents->front().asConstant() : std::nullopt) {
    int64_t axis = n.normalizeAxis(*listed, dims.size(), "axis");
    ArrayRef<DimAttr> all = dims;
    around = {productOf(n.context, all.take_front(axis)), dims[axis], productOf(n.context, all.drop_front(axis + 1))};
  } else {
    AroundAxis bound = bindAroundAxis(n, 1, dims);
    around = {bound.before, bound.along, bound.behind};
  }
  Cumulation how{kind, n.getFlag("exclusive", false), n.getFlag("reverse", false)};
  Value lines = n.reshape(input, around);
  Value result = kind == ReduceKind::sum ? n.emit<CumulativeSumOp>(lines, how.exclusive, how.reverse)
                                         : emitCumulation(n, lines, how);
  n.setOutput(0, n.reshape(result, dims));
}
static void importCumProd(NodeImporter &n) { importCumulation(n, ReduceKind::prod); }
static void importCumSum(NodeImporter &n) { importCumulation(n, ReduceKind::sum); }

static constexpr OpTableEntry cumulativeTable[] = {
    {"CumProd", 26, newestOpset, importCumProd},
    {"CumSum", 11, newestOpset, importCumSum},
};
const llvm::ArrayRef<OpTableEntry> cumulativeOps = cumulativeTable;

} // namespace vx::onnx

// Reductions over dimensions, and ops that divide by them.
#include "OpFunctions.h"
#include "RunTimeLists.h"

using namespace mlir;

namespace vx::onnx {

namespace {
struct Reduction {
  /// The reduced value: the input, or the input in another shape if the axes are known at run time only.
  Value input;
  SmallVector<int64_t> axes; // empty: the input passes through the elementwise part
  Dims result;
  /// The reduced shape with size 1 where a dimension was, for broadcasting back.
  Dims kept;
};
} // namespace

/// Axes that only the call knows. Each dimension of the input becomes two, one of its size and one of size 1: the first
/// where it stays, the second where it is reduced, so that the axes of the reduction are known.
static Reduction getRunTimeReduction(NodeImporter &n) {
  Dims dims = n.getDims(0);
  int64_t rank = dims.size();
  bool keep = n.getFlag("keepdims", true);
  Value list = n.getRunTimeList(1);
  DimAttr count = vx::getDim(typeOf(list), 0);
  std::optional<int64_t> known = count.asConstant();
  if (!known && !keep)
    throwUnsupported(Advice::FixSizes, "expects input 1 ('" + n.proto.input(1) +
                                           "') to be a list of known length where dimensions are left out, got " +
                                           describe(list.getType()));
  std::string name = n.proto.input(1);
  Value isReduced = markAxes(n, checkAxes(n, list, rank, name), rank);
  if (!known && !n.getFlag("noop_with_empty_axes", false)) {
    Value number = n.emitDim(count, n.builder.getI64Type());
    Value isEmpty = n.emit<CompareOp>(ComparePredicate::eq, number, n.splatLike(0, number));
    isReduced = n.emit<OrOp>(isReduced, n.broadcastInDim(isEmpty, n.dim(rank), {}));
  }
  Reduction reduction;
  Dims shape;
  Value sizes = n.emitList(dims), ones = n.splatLike(1, sizes);
  Dims left = n.bindElements(n.emit<SelectOp>(isReduced, ones, sizes), name + ".left");
  Dims reduced = n.bindElements(n.emit<SelectOp>(isReduced, sizes, ones), name + ".reduced");
  for (int64_t d = 0; d < rank; ++d) {
    shape.append({left[d], reduced[d]});
    reduction.axes.push_back(2 * d + 1);
    reduction.kept.append({left[d], n.dim(1)});
  }
  reduction.input = n.reshape(n.getTensor(0), shape);
  reduction.result =
      keep ? left : n.bindElements(leaveOutMarked(n, sizes, isReduced, rank - *known), n.proto.output(0) + ".shape");
  return reduction;
}

/// Axes are an attribute before version `inputSince`, and an input from there on.
static Reduction getReduction(NodeImporter &n, int64_t inputSince) {
  Dims dims = n.getDims(0);
  int64_t rank = dims.size();
  Reduction reduction;
  std::optional<SmallVector<int64_t>> listed;
  if (n.version < inputSince) {
    listed = n.getInts("axes");
  } else if (n.hasInput(1)) {
    listed = n.getConstantIntegers(1);
    if (!listed)
      return getRunTimeReduction(n);
  }
  if (listed && !listed->empty())
    reduction.axes = n.normalizeAxes(*listed, rank, "axes");
  else if (n.version < inputSince || !n.getFlag("noop_with_empty_axes", false))
    llvm::append_range(reduction.axes, llvm::seq<int64_t>(0, rank));
  bool keep = n.getFlag("keepdims", true);
  for (auto [index, dim] : llvm::enumerate(dims)) {
    bool isReduced = llvm::is_contained(reduction.axes, index);
    reduction.kept.push_back(isReduced ? n.dim(1) : dim);
    if (!isReduced || keep)
      reduction.result.push_back(reduction.kept.back());
  }
  return reduction;
}

static Value getInput(NodeImporter &n, const Reduction &reduction) {
  return reduction.input ? reduction.input : n.getTensor(0);
}

static void finishReduction(NodeImporter &n, Value value, const Reduction &reduction) {
  n.setOutput(0, n.reshape(value, reduction.result));
}

/// A reduction of a short integer list that is known, as in the product of a shape.
static bool followReduction(NodeImporter &n, const Reduction &reduction, DimAttr start,
                            llvm::function_ref<DimAttr(DimAttr, DimAttr)> combine) {
  std::optional<Dims> contents = n.getContents(0);
  RankedTensorType type = n.getTensorType(0);
  if (!contents || type.getRank() != 1 || reduction.input || reduction.axes.empty() || (!start && contents->empty()))
    return false;
  DimAttr result = start ? start : contents->front();
  for (DimAttr dim : ArrayRef<DimAttr>(*contents).drop_front(start ? 0 : 1))
    result = combine(result, dim);
  if (!fitsType(result, type.getElementType()))
    return false;
  n.setContents(0, {result}, makeTensorType(reduction.result, type.getElementType()));
  return true;
}

static void importReduceSum(NodeImporter &n) {
  Reduction reduction = getReduction(n, 13);
  if (!followReduction(n, reduction, n.dim(0), addDims))
    finishReduction(n, n.reduce(ReduceKind::sum, getInput(n, reduction), reduction.axes), reduction);
}
static void importReduceProd(NodeImporter &n) {
  Reduction reduction = getReduction(n, 18);
  if (!followReduction(n, reduction, n.dim(1), mulDims))
    finishReduction(n, n.reduce(ReduceKind::prod, getInput(n, reduction), reduction.axes), reduction);
}

static void importExtremum(NodeImporter &n, ReduceKind kind, ReduceKind boolKind,
                           llvm::function_ref<DimAttr(DimAttr, DimAttr)> combine) {
  Reduction reduction = getReduction(n, 18);
  if (followReduction(n, reduction, DimAttr(), combine))
    return;
  Value input = getInput(n, reduction);
  finishReduction(n, n.reduce(elementOf(input).isInteger(1) ? boolKind : kind, input, reduction.axes), reduction);
}
static void importReduceMax(NodeImporter &n) { importExtremum(n, ReduceKind::max, ReduceKind::or_, maxDims); }
static void importReduceMin(NodeImporter &n) { importExtremum(n, ReduceKind::min, ReduceKind::and_, minDims); }

static void importReduceMean(NodeImporter &n) {
  Reduction reduction = getReduction(n, 18);
  Value input = getInput(n, reduction);
  finishReduction(n, n.cast(n.mean(n.widen(input), reduction.axes), elementOf(input)), reduction);
}

static void importReduceL1(NodeImporter &n) {
  Reduction reduction = getReduction(n, 18);
  finishReduction(n, n.reduce(ReduceKind::sum, n.emit<AbsOp>(getInput(n, reduction)), reduction.axes), reduction);
}

static Value sumOfSquares(NodeImporter &n, Value value, const Reduction &reduction) {
  return n.reduce(ReduceKind::sum, n.emit<MulOp>(value, value), reduction.axes);
}
static void importReduceL2(NodeImporter &n) {
  Reduction reduction = getReduction(n, 18);
  Value input = getInput(n, reduction);
  Type type = elementOf(input);
  // The root of an integer is rounded down to one.
  Value value = isa<FloatType>(type) ? n.widen(input) : n.cast(input, n.builder.getF64Type());
  finishReduction(n, n.cast(n.emit<SqrtOp>(sumOfSquares(n, value, reduction)), type), reduction);
}
static void importReduceSumSquare(NodeImporter &n) {
  Reduction reduction = getReduction(n, 18);
  Value input = getInput(n, reduction);
  finishReduction(n, n.cast(sumOfSquares(n, n.widen(input), reduction), elementOf(input)), reduction);
}

static void importReduceLogSum(NodeImporter &n) {
  Reduction reduction = getReduction(n, 18);
  Value input = getInput(n, reduction);
  Value sum = n.reduce(ReduceKind::sum, n.widen(input), reduction.axes);
  finishReduction(n, n.cast(n.emit<LogOp>(sum), elementOf(input)), reduction);
}

static void importReduceLogSumExp(NodeImporter &n) {
  Reduction reduction = getReduction(n, 18);
  Value original = getInput(n, reduction), input = n.widen(original);
  if (reduction.axes.empty())
    return n.setOutput(0, original);
  // ln(sum of e^(x - m)) + m with m the greatest element, or 0 where that is infinite.
  Value greatest = n.emit<ReduceOp>(ReduceKind::max, input, reduction.axes);
  Value base = n.emit<SelectOp>(n.emit<IsInfOp>(greatest), n.splatLike(0, greatest), greatest);
  Value spread = n.broadcast(n.reshape(base, reduction.kept), vx::getDims(typeOf(input)));
  Value sum = n.emit<ReduceOp>(ReduceKind::sum, n.emit<ExpOp>(n.emit<SubOp>(input, spread)), reduction.axes);
  Value result = n.emit<AddOp>(n.emit<LogOp>(sum), base);
  finishReduction(n, n.cast(result, elementOf(original)), reduction);
}

static void importArg(NodeImporter &n, ReduceKind kind) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  int64_t axis = n.getAxis("axis", 0, dims.size());
  Value result = n.emit<ArgReduceOp>(kind, input, axis, n.getFlag("select_last_index", false));
  dims[axis] = n.dim(1);
  n.setOutput(0, n.getFlag("keepdims", true) ? n.reshape(result, dims) : result);
}
static void importArgMax(NodeImporter &n) { importArg(n, ReduceKind::max); }
static void importArgMin(NodeImporter &n) { importArg(n, ReduceKind::min); }

static void importHardmax(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input)), shape = dims;
  int64_t axis = n.getAxis("axis", n.version >= 13 ? -1 : 1, dims.size());
  if (n.version < 13) {
    // All dimensions from `axis` on are one.
    ArrayRef<DimAttr> all = dims;
    shape = {productOf(n.context, all.take_front(axis)), productOf(n.context, all.drop_front(axis))};
    axis = 1;
    input = n.reshape(input, shape);
  }
  Value greatest = n.broadcastAlong(n.emit<ArgReduceOp>(ReduceKind::max, input, axis, false), shape, axis);
  Value places = n.emitAs<IotaOp>(makeTensorType(shape, n.builder.getI64Type()), axis);
  Value isGreatest = n.emit<CompareOp>(ComparePredicate::eq, places, greatest);
  n.setOutput(0, n.reshape(n.cast(isGreatest, elementOf(input)), dims));
}

/// The sum of the powers |x|^p.
static Value sumOfPowers(NodeImporter &n, Value value, int64_t p, ArrayRef<int64_t> axes) {
  Value size = n.emit<AbsOp>(value);
  if (p != 1)
    size = p == 2 ? n.emit<MulOp>(value, value) : n.emit<PowOp>(size, n.splatLike(double(p), size));
  return n.reduce(ReduceKind::sum, size, axes);
}
Value emitRootOfPowers(NodeImporter &n, Value sum, int64_t p) {
  if (p == 1)
    return sum;
  return p == 2 ? n.emit<SqrtOp>(sum) : n.emit<PowOp>(sum, n.splatLike(1 / double(p), sum));
}
int64_t getNormPower(NodeImporter &n) {
  int64_t p = n.getInt("p", 2);
  if (p < 1)
    throwInvalid("expects 'p' of at least 1, got " + Twine(p));
  return p;
}

static void importLpNormalization(NodeImporter &n) {
  Value original = n.getTensor(0), input = n.widen(original);
  Dims dims = vx::getDims(typeOf(input));
  int64_t axis = n.getAxis("axis", -1, dims.size()), p = getNormPower(n);
  Value norm = n.broadcastAlong(emitRootOfPowers(n, sumOfPowers(n, input, p, axis), p), dims, axis);
  // Where all are 0, the quotient is 0 too.
  Value none = n.splatLike(0, norm), isNone = n.emit<CompareOp>(ComparePredicate::eq, norm, none);
  Value divisor = n.emit<SelectOp>(isNone, n.splatLike(1, norm), norm);
  n.setOutput(0, n.cast(n.emit<SelectOp>(isNone, none, n.emit<DivOp>(input, divisor)), elementOf(original)));
}

static void importMeanVarianceNormalization(NodeImporter &n) {
  Value original = n.getTensor(0), input = n.widen(original);
  Dims dims = vx::getDims(typeOf(input));
  SmallVector<int64_t> axes =
      n.normalizeAxes(n.getInts("axes").value_or(SmallVector<int64_t>{0, 2, 3}), dims.size(), "axes");
  Value centered = n.emit<SubOp>(input, n.broadcastAlong(n.mean(input, axes), dims, axes));
  Value deviation = n.emit<SqrtOp>(n.mean(n.emit<MulOp>(centered, centered), axes));
  deviation = n.emit<AddOp>(deviation, n.splatLike(1e-9, deviation));
  n.setOutput(0, n.cast(n.emit<DivOp>(centered, n.broadcastAlong(deviation, dims, axes)), elementOf(original)));
}

static SmallVector<int64_t> getSpatialAxes(NodeImporter &n) {
  int64_t rank = n.getTensorType(0).getRank();
  if (rank < 3)
    throwInvalid("expects an input of 3 or more dimensions, got " + describe(n.getTensorType(0)));
  return llvm::to_vector(llvm::seq<int64_t>(2, rank));
}
static Dims getPooledShape(NodeImporter &n) {
  Dims dims = n.getDims(0);
  std::fill(dims.begin() + 2, dims.end(), n.dim(1));
  return dims;
}

static void importGlobalAveragePool(NodeImporter &n) {
  SmallVector<int64_t> axes = getSpatialAxes(n);
  Value input = n.getTensor(0);
  n.setOutput(0, n.reshape(n.cast(n.mean(n.widen(input), axes), elementOf(input)), getPooledShape(n)));
}
static void importGlobalMaxPool(NodeImporter &n) {
  SmallVector<int64_t> axes = getSpatialAxes(n);
  n.setOutput(0, n.reshape(n.emit<ReduceOp>(ReduceKind::max, n.getTensor(0), axes), getPooledShape(n)));
}

static void importGlobalLpPool(NodeImporter &n) {
  SmallVector<int64_t> axes = getSpatialAxes(n);
  Value input = n.getTensor(0);
  int64_t p = getNormPower(n);
  Value norm = emitRootOfPowers(n, sumOfPowers(n, n.widen(input), p, axes), p);
  n.setOutput(0, n.reshape(n.cast(norm, elementOf(input)), getPooledShape(n)));
}

static constexpr OpTableEntry reductionsTable[] = {
    {"ArgMax", 1, newestOpset, importArgMax},
    {"ArgMin", 1, newestOpset, importArgMin},
    {"GlobalAveragePool", 1, newestOpset, importGlobalAveragePool},
    {"GlobalLpPool", 2, newestOpset, importGlobalLpPool},
    {"GlobalMaxPool", 1, newestOpset, importGlobalMaxPool},
    {"Hardmax", 1, newestOpset, importHardmax},
    {"LpNormalization", 1, newestOpset, importLpNormalization},
    {"MeanVarianceNormalization", 9, newestOpset, importMeanVarianceNormalization},
    {"ReduceL1", 1, newestOpset, importReduceL1},
    {"ReduceL2", 1, newestOpset, importReduceL2},
    {"ReduceLogSum", 1, newestOpset, importReduceLogSum},
    {"ReduceLogSumExp", 1, newestOpset, importReduceLogSumExp},
    {"ReduceMax", 1, newestOpset, importReduceMax},
    {"ReduceMean", 1, newestOpset, importReduceMean},
    {"ReduceMin", 1, newestOpset, importReduceMin},
    {"ReduceProd", 1, newestOpset, importReduceProd},
    {"ReduceSum", 1, newestOpset, importReduceSum},
    {"ReduceSumSquare", 1, newestOpset, importReduceSumSquare},
};
const llvm::ArrayRef<OpTableEntry> reductionsOps = reductionsTable;

} // namespace vx::onnx

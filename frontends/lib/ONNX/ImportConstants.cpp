// Constants, and tensors that are made from shapes.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

/// Sets output 0 to a constant with the elements of a tensor or attribute of the model.
static void setRecorded(NodeImporter &n, const void *place, ElementsAttr elements) {
  if (n.model.source && n.wantsOutput(0))
    n.model.source->record(place, n.proto.output(0), elements);
  n.setConstant(0, elements);
}

static void importConstant(NodeImporter &n) {
  SmallVector<StringRef> values;
  for (const AttributeProto &attribute : n.proto.attribute())
    if (StringRef(attribute.name()).starts_with("value") || attribute.name() == "sparse_value")
      values.push_back(attribute.name());
  if (values.size() > 1)
    throwInvalid("expects a constant with one value, got '" + values[0] + "' and '" + values[1] + "'");
  MLIRContext *context = n.context;
  if (const AttributeProto *value = n.findAttribute("value", AttributeProto::TENSOR))
    return setRecorded(n, &value->t(),
                       n.model.tensors.read(value->t(), n.wantsOutput(0) ? n.proto.output(0) : n.label));
  auto vectorType = [&](int64_t count, Type elementType) { return RankedTensorType::get({count}, elementType); };
  auto scalarType = [&](Type elementType) { return RankedTensorType::get({}, elementType); };
  Type f32 = Float32Type::get(context), i64 = IntegerType::get(context, 64);
  if (n.hasAttribute("value_float"))
    return n.setConstant(0, DenseElementsAttr::get(scalarType(f32), n.getFloat("value_float")));
  if (n.hasAttribute("value_int"))
    return n.setConstant(0, DenseElementsAttr::get(scalarType(i64), n.getInt("value_int")));
  if (const AttributeProto *list = n.findAttribute("value_floats", AttributeProto::FLOATS))
    return setRecorded(n, list,
                       DenseElementsAttr::get(vectorType(list->floats_size(), f32),
                                              ArrayRef<float>(list->floats().data(), list->floats_size())));
  if (std::optional<SmallVector<int64_t>> list = n.getInts("value_ints"))
    return n.setConstant(0, DenseElementsAttr::get(vectorType(list->size(), i64), ArrayRef<int64_t>(*list)));
  if (n.hasAttribute("value_string"))
    return n.setOutput(0, emitStrings(n, {StringRef(n.getString("value_string", ""))}, {}));
  if (n.hasAttribute("value_strings")) {
    SmallVector<StringRef> texts = n.getStrings("value_strings");
    return n.setOutput(0, emitStrings(n, texts, {int64_t(texts.size())}));
  }
  if (n.hasAttribute("sparse_value"))
    throwUnsupported(Advice::StoreDense, "sparse constants are not imported");
  throwInvalid("expects a constant with a value, got none");
}

static void importConstantOfShape(NodeImporter &n) {
  Dims dims = n.getIntegers(0);
  ElementsAttr value = DenseElementsAttr::get(RankedTensorType::get({1}, Float32Type::get(n.context)), 0.0f);
  if (const AttributeProto *attribute = n.findAttribute("value", AttributeProto::TENSOR))
    value = n.model.tensors.read(attribute->t(), n.label);
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || dense.getNumElements() != 1 || isString(dense.getElementType()))
    throwInvalid("expects 'value' to have one number or bool, got " + describe(value.getType()));
  Type elementType = dense.getElementType();
  RankedTensorType type = makeTensorType(dims, elementType);
  auto scalar = dense.reshape(RankedTensorType::get({}, elementType));
  if (isa<IntegerType>(elementType) && type.hasStaticShape() && type.getRank() <= 1 &&
      type.getNumElements() <= int64_t(maxContents)) {
    APInt bits = *scalar.value_begin<APInt>();
    bool isUnsigned = elementType.isUnsignedInteger() || elementType.isInteger(1);
    if (!isUnsigned || bits.getActiveBits() <= 63) {
      DimAttr number = n.dim(isUnsigned ? int64_t(bits.getZExtValue()) : bits.getSExtValue());
      return n.setContents(0, Dims(type.getNumElements(), number), type);
    }
  }
  n.setOutput(0, n.broadcastInDim(n.emitConstant(scalar), dims, {}));
}

static void importShape(NodeImporter &n) {
  Dims dims = n.getDims(0);
  int64_t rank = dims.size();
  auto clamp = [&](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank); };
  int64_t start = clamp(n.getInt("start", 0)), end = clamp(n.getInt("end", rank));
  Dims contents;
  for (int64_t i = start; i < end; ++i)
    contents.push_back(dims[i]);
  int64_t count = contents.size();
  n.setContents(0, contents, RankedTensorType::get({count}, n.builder.getI64Type()));
}

static void importSize(NodeImporter &n) {
  n.setContents(0, {productOf(n.context, n.getDims(0))}, RankedTensorType::get({}, n.builder.getI64Type()));
}

/// The number of values of a range of constant floats.
static int64_t countFloats(NodeImporter &n, double start, double limit, double delta) {
  if (delta == 0)
    throwInvalid("expects 'delta' that is not 0");
  double count = std::ceil((limit - start) / delta);
  if (!(count < double(maxElements)))
    throwInvalid("expects a range of at most " + Twine(maxElements) + " values, got more");
  return count > 0 ? int64_t(count) : 0;
}

/// The same of floats that the call gives, computed by the program and read back. A range without an end has a number
/// below 0, which fails the call.
static DimAttr bindFloatCount(NodeImporter &n) {
  auto scalar = [&](unsigned index) { return n.widen(n.reshape(n.getTensor(index), {})); };
  Value distance = n.emit<SubOp>(scalar(1), scalar(0));
  Value count = n.cast(n.emit<CeilOp>(n.emit<DivOp>(distance, scalar(2))), n.builder.getI64Type());
  Value zero = n.splatLike(0, scalar(2));
  Value hasEnd = n.emit<AndOp>(n.emit<CompareOp>(ComparePredicate::ne, scalar(2), zero),
                               n.emit<CompareOp>(ComparePredicate::le, count, n.splatLike(double(maxElements), count)));
  count = n.emit<SelectOp>(hasEnd, n.emit<MaxOp>(count, n.splatLike(0, count)), n.splatLike(-1, count));
  return n.bindSymbol(count, "(" + n.proto.input(1) + " - " + n.proto.input(0) + ") / " + n.proto.input(2));
}

/// Returns the number of values of a Range of f32 integers that are computed from sizes, as an expression. The call
/// checks that f32 represents them. Null for other floats.
static DimAttr countWholeFloats(NodeImporter &n) {
  std::optional<SmallVector<double>> by = n.getConstantNumbers(2);
  if (!n.getElementType(0).isF32() || !by || by->size() != 1 || (*by)[0] == 0)
    return {};
  std::optional<Dims> numbers = getWholeFloats(n);
  if (!numbers)
    return {};
  DimAttr start = (*numbers)[0], limit = (*numbers)[1];
  int64_t step = *(*numbers)[2].asConstant();
  DimAttr distance = step > 0 ? subDims(limit, start) : subDims(start, limit);
  return maxDims(ceilDivDims(distance, n.dim(std::abs(step))), n.dim(0));
}

static void importRange(NodeImporter &n) {
  Type elementType = n.getTensorType(0).getElementType();
  for (unsigned i = 0; i < 3; ++i)
    if (n.getTensorType(i).getRank() > 1 || n.getTensorType(i).getElementType() != elementType)
      throwInvalid("expects scalars of one element type, got " + describe(n.getTensorType(i)) + " as input " +
                   Twine(i));
  DimAttr count;
  std::optional<Dims> start = n.getContents(0), limit = n.getContents(1), delta = n.getContents(2);
  bool isKnown = start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1;
  std::optional<int64_t> step = isKnown ? (*delta)[0].asConstant() : std::nullopt;
  if (step && *step != 0) {
    DimAttr distance = *step > 0 ? subDims((*limit)[0], (*start)[0]) : subDims((*start)[0], (*limit)[0]);
    if (*step == INT64_MIN)
      throwUnsupported(Advice::ChangeSetting, "expects a 'delta' above " + Twine(INT64_MIN));
    count = maxDims(ceilDivDims(distance, n.dim(std::abs(*step))), n.dim(0));
    if (std::optional<int64_t> size = count.asConstant(); size && *size <= int64_t(maxContents)) {
      Dims contents;
      for (int64_t i = 0; i < *size; ++i)
        contents.push_back(addDims((*start)[0], n.dim(i * *step)));
      if (llvm::all_of(contents, [&](DimAttr dim) { return fitsType(dim, elementType); }))
        return n.setContents(0, contents, RankedTensorType::get({*size}, elementType));
    }
  } else if (step) {
    throwInvalid("expects 'delta' that is not 0");
  } else if (isa<FloatType>(elementType)) {
    auto first = n.getConstantNumbers(0), last = n.getConstantNumbers(1), by = n.getConstantNumbers(2);
    bool areKnown = first && last && by && first->size() == 1 && last->size() == 1 && by->size() == 1;
    count = areKnown ? n.dim(countFloats(n, (*first)[0], (*last)[0], (*by)[0])) : countWholeFloats(n);
    if (!count)
      count = bindFloatCount(n);
  } else {
    // max(0, ceil((limit - start) / delta)). The program computes the distance and the step, which are read back; a
    // distance that i64 does not hold wraps to below 0.
    Type i64 = n.builder.getI64Type();
    auto scalar = [&](unsigned index) { return n.cast(n.reshape(n.getTensor(index), {}), i64); };
    Value from = scalar(0), to = scalar(1), by = scalar(2), zero = n.emitScalar(0, i64);
    DimAttr stride = n.bindSymbol(n.emit<AbsOp>(by), "abs(" + n.proto.input(2) + ")", /*min=*/1);
    Value isUp = n.emit<CompareOp>(ComparePredicate::gt, by, zero);
    Value low = n.emit<SelectOp>(isUp, from, to), high = n.emit<SelectOp>(isUp, to, from);
    Value isAny = n.emit<CompareOp>(ComparePredicate::lt, low, high);
    Value distance = n.emit<SelectOp>(isAny, n.emit<SubOp>(high, low), zero);
    count = ceilDivDims(n.bindSymbol(distance, n.proto.input(1) + " - " + n.proto.input(0)), stride);
  }
  RankedTensorType type = makeTensorType({count}, elementType);
  Value result = n.emitAs<IotaOp>(type, 0);
  auto constantIs = [&](unsigned index, double number) {
    auto values = n.getConstantNumbers(index);
    return values && values->size() == 1 && (*values)[0] == number;
  };
  auto spread = [&](unsigned index) { return n.broadcastInDim(n.reshape(n.getTensor(index), {}), {count}, {}); };
  if (!constantIs(2, 1))
    result = n.emit<MulOp>(result, spread(2));
  if (!constantIs(0, 0))
    result = n.emit<AddOp>(result, spread(0));
  n.setOutput(0, result);
}

static constexpr OpTableEntry constantsTable[] = {
    {"Constant", 1, newestOpset, importConstant}, {"ConstantOfShape", 9, newestOpset, importConstantOfShape},
    {"Range", 11, newestOpset, importRange},      {"Shape", 1, newestOpset, importShape},
    {"Size", 1, newestOpset, importSize},
};
const llvm::ArrayRef<OpTableEntry> constantsOps = constantsTable;

} // namespace vx::onnx

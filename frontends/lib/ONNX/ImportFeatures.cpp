// Features of ai.onnx.ml: places of vectors, thresholds, and labels by which others are found.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

static void importArrayFeatureExtractor(NodeImporter &n) {
  Value input = n.getTensor(0), indices = n.getTensor(1);
  if (!elementOf(indices).isInteger(64))
    throwInvalid("expects indices of i64, got " + describe(indices.getType()));
  Dims dims = vx::getDims(typeOf(input));
  if (dims.empty())
    throwInvalid("expects a tensor of 1 or more dimensions, got " + describe(input.getType()));
  if (dims.size() == 1) // a vector is a row
    dims.insert(dims.begin(), n.dim(1));
  DimAttr count = productOf(n.context, vx::getDims(typeOf(indices)));
  indices = n.emit<CheckIndicesOp>(n.reshape(indices, count), n.toArray(dims.back()), /*from_start=*/true);
  n.setOutput(0, n.emit<GatherOp>(n.reshape(input, dims), indices, dims.size() - 1, IntegerAttr()));
}

static void importBinarizer(NodeImporter &n) {
  Value input = n.getTensor(0);
  Type elementType = elementOf(input);
  double threshold = n.getFloat("threshold", 0.0f);
  if (auto integerType = dyn_cast<IntegerType>(elementType)) {
    // A whole number is above a threshold where it is above the greatest one that is not.
    double low = -std::ldexp(1.0, integerType.getWidth() - 1), floor = std::floor(threshold);
    if (!(floor < -low))
      return n.setOutput(0, n.splatLike(0, input)); // nothing is above it, nor above NaN
    if (floor < low)
      return n.setOutput(0, n.splatLike(1, input));
    threshold = floor;
  }
  Value isAbove = n.emit<CompareOp>(ComparePredicate::gt, input, n.splatLike(threshold, input));
  n.setOutput(0, n.cast(isAbove, elementType));
}

namespace {

/// One of the lists keys_* and values_*: its elements and the suffix of the attribute that has them.
struct LabelList {
  StringRef suffix;
  DenseElementsAttr elements;
};

} // namespace

static DenseElementsAttr makeFloatList(NodeImporter &n, ArrayRef<float> values) {
  return DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, n.builder.getF32Type()), values);
}
static DenseElementsAttr makeIntegerList(NodeImporter &n, ArrayRef<int64_t> values) {
  return DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, n.builder.getI64Type()), values);
}

static LabelList readLabels(NodeImporter &n, StringRef kind) {
  SmallVector<LabelList> found;
  auto name = [&](StringRef suffix) { return (kind + "_" + suffix).str(); };
  if (SmallVector<StringRef> texts = n.getStrings(name("strings")); n.hasAttribute(name("strings")))
    found.push_back({"strings", makeStrings(n, texts, {int64_t(texts.size())})});
  if (n.hasAttribute(name("floats")))
    found.push_back({"floats", makeFloatList(n, n.getFloats(name("floats")))});
  if (std::optional<SmallVector<int64_t>> values = n.getInts(name("int64s")))
    found.push_back({"int64s", makeIntegerList(n, *values)});
  if (std::optional<DenseElementsAttr> values = n.getTensorAttribute(name("tensor")))
    found.push_back({"tensor", *values});
  if (found.size() != 1)
    throwInvalid("expects one of the attributes '" + kind + "_*', got " + Twine(found.size()));
  if (found[0].elements.getType().getRank() != 1)
    throwInvalid("expects a list as '" + kind + "_tensor', got " + describe(found[0].elements.getType()));
  return found[0];
}

/// What stands for an element that is no key, as a list of one.
static Value readDefault(NodeImporter &n, const LabelList &values) {
  Type elementType = values.elements.getElementType();
  if (values.suffix == "floats")
    return n.emitConstant(makeFloatList(n, {n.getFloat("default_float", -0.0f)}));
  if (values.suffix == "int64s")
    return n.emitConstant(makeIntegerList(n, {n.getInt("default_int64", -1)}));
  if (values.suffix == "strings")
    return emitStrings(n, {StringRef(n.getString("default_string", "_Unused"))}, {1});
  std::optional<DenseElementsAttr> given = n.getTensorAttribute("default_tensor");
  if (!given && isString(elementType))
    return emitStrings(n, {"_Unused"}, {1});
  if (!given)
    return n.reshape(n.emitScalar(isa<FloatType>(elementType) ? -0.0 : -1.0, elementType), n.dim(1));
  if (given->getElementType() != elementType || given->getNumElements() != 1)
    throwInvalid("expects one " + describe(elementType) + " as 'default_tensor', got " + describe(given->getType()));
  return n.reshape(n.emitConstant(*given), n.dim(1));
}

/// For each element the value of the key that it is, or the one of `otherwise`.
static void encodeLabels(NodeImporter &n, Value input, DenseElementsAttr keys, DenseElementsAttr values,
                         Value otherwise) {
  int64_t count = keys.getNumElements();
  // Of keys that are equal the last one counts; the place before all is that of what is no key.
  Dims dims = vx::getDims(typeOf(input)), pairs = dims;
  pairs.push_back(n.dim(count));
  auto inner = static_cast<int64_t>(dims.size());
  Value elements = n.broadcastAlong(input, pairs, inner);
  Value key = n.broadcastInDim(n.emitConstant(keys), pairs, inner);
  Value isEqual = n.emit<CompareOp>(ComparePredicate::eq, elements, key);
  if (isa<FloatType>(elementOf(input))) // NaN is a key
    isEqual = n.emit<OrOp>(isEqual, n.emit<AndOp>(n.emit<IsNanOp>(elements), n.emit<IsNanOp>(key)));
  Type i32 = n.builder.getI32Type();
  Value place =
      n.emit<AddOp>(n.emitAs<IotaOp>(makeTensorType(pairs, i32), inner), n.splat(1, makeTensorType(pairs, i32)));
  place = n.reduce(ReduceKind::max, n.emit<SelectOp>(isEqual, place, n.splatLike(0, place)), inner);
  if (count == 0) // the greatest of nothing is no place
    place = n.splatLike(0, place);
  Value table = n.emit<ConcatOp>(ValueRange{otherwise, n.emitConstant(values)}, 0);
  n.setOutput(0, n.emit<GatherOp>(table, place, 0, IntegerAttr(), /*in_range=*/true));
}

static void importLabelEncoder(NodeImporter &n) {
  Value input = n.getTensor(0);
  LabelList keys = readLabels(n, "keys"), values = readLabels(n, "values");
  if (keys.elements.getElementType() != elementOf(input))
    throwInvalid("expects keys of the input's type, got " + describe(keys.elements.getType()) + " and " +
                 describe(input.getType()));
  if (int64_t count = keys.elements.getNumElements(); count != values.elements.getNumElements())
    throwInvalid("expects a value for each of " + Twine(count) + " keys, got " +
                 Twine(values.elements.getNumElements()));
  encodeLabels(n, input, keys.elements, values.elements, readDefault(n, values));
}

/// Version 1 has one list of strings, whose places are the numbers.
static void importClassEncoder(NodeImporter &n) {
  Value input = n.getTensor(0);
  if (!n.hasAttribute("classes_strings"))
    throwInvalid("expects attribute 'classes_strings', got none");
  SmallVector<StringRef> texts = n.getStrings("classes_strings");
  LabelList classes = {"strings", makeStrings(n, texts, {int64_t(texts.size())})};
  LabelList numbers = {"int64s", makeIntegerList(n, llvm::to_vector(llvm::seq<int64_t>(0, int64_t(texts.size()))))};
  if (!isString(elementOf(input)) && !elementOf(input).isInteger(64))
    throwInvalid("expects strings or i64 as input 0, got " + describe(input.getType()));
  const LabelList &keys = isString(elementOf(input)) ? classes : numbers;
  const LabelList &values = isString(elementOf(input)) ? numbers : classes;
  encodeLabels(n, input, keys.elements, values.elements, readDefault(n, values));
}

static constexpr OpTableEntry featuresTable[] = {
    {"ArrayFeatureExtractor", 1, newestMlOpset, importArrayFeatureExtractor},
    {"Binarizer", 1, newestMlOpset, importBinarizer},
    {"LabelEncoder", 1, 1, importClassEncoder},
    {"LabelEncoder", 2, newestMlOpset, importLabelEncoder},
};
const llvm::ArrayRef<OpTableEntry> featuresOps = featuresTable;

} // namespace vx::onnx

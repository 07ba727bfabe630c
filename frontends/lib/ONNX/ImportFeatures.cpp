// Feature ops of ai.onnx.ml: selection, thresholds, scaling, missing values, and maps of labels.
#include "OpFunctions.h"
#include "Scores.h"

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

/// Reads the default value for elements that are no key, as a list of one.
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
  // Of equal keys the last one counts. Index 0 is for elements that are no key.
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

/// Version 1 has one list of strings. Their indices are the numbers.
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

/// Strings for numbers, or numbers for strings, by two lists of the same length.
static void importCategoryMapper(NodeImporter &n) {
  Value input = n.getTensor(0);
  SmallVector<StringRef> texts = n.getStrings("cats_strings");
  SmallVector<int64_t> numbers = n.getInts("cats_int64s").value_or(SmallVector<int64_t>());
  if (texts.size() != numbers.size())
    throwInvalid("expects as many 'cats_strings' as 'cats_int64s', got " + Twine(texts.size()) + " and " +
                 Twine(numbers.size()));
  if (!isString(elementOf(input)) && !elementOf(input).isInteger(64))
    throwInvalid("expects strings or i64 as input 0, got " + describe(input.getType()));
  LabelList strings = {"strings", makeStrings(n, texts, {int64_t(texts.size())})};
  LabelList integers = {"int64s", makeIntegerList(n, numbers)};
  bool isText = isString(elementOf(input));
  const LabelList &values = isText ? integers : strings;
  encodeLabels(n, input, (isText ? strings : integers).elements, values.elements, readDefault(n, values));
}

/// One number for each feature of `input`'s last dimension, or one for all, repeated to its shape.
static Value spreadOverFeatures(NodeImporter &n, StringRef name, DenseElementsAttr values, Value input) {
  Dims dims = vx::getDims(typeOf(input));
  int64_t count = values.getNumElements();
  if (count != 1 && (dims.empty() || !mayBeEqual(dims.back(), n.dim(count))))
    throwInvalid("expects one of '" + name + "' for each feature, or one for all, got " + Twine(count) + " for " +
                 describe(input.getType()));
  Value list = n.emitConstant(values);
  if (count == 1)
    return n.broadcastInDim(n.reshape(list, {}), dims, {});
  n.require(ConstraintKind::equal, dims.back(), n.dim(count));
  return n.broadcastInDim(list, dims, {int64_t(dims.size()) - 1});
}

static void importScaler(NodeImporter &n) {
  Value input = n.getTensor(0);
  Type f32 = n.builder.getF32Type();
  Value value = elementOf(input).isF64() ? input : n.cast(input, f32);
  for (StringRef name : {"offset", "scale"}) {
    SmallVector<float> values = n.getFloats(name);
    if (values.empty())
      continue;
    Value spread = n.cast(spreadOverFeatures(n, name, makeFloatList(n, values), value), elementOf(value));
    value = name == "offset" ? n.emit<SubOp>(value, spread) : n.emit<MulOp>(value, spread);
  }
  n.setOutput(0, n.cast(value, f32));
}

static void importNormalizer(NodeImporter &n) {
  std::string norm = n.getString("norm", "MAX");
  Value input = getFloatRows(n), divisor;
  if (norm == "MAX")
    divisor = n.reduce(ReduceKind::max, input, 1);
  else if (norm == "L1")
    divisor = n.reduce(ReduceKind::sum, n.emit<AbsOp>(input), 1);
  else if (norm == "L2")
    divisor = n.emit<SqrtOp>(n.reduce(ReduceKind::sum, n.emit<MulOp>(input, input), 1));
  else
    throwInvalid("expects 'norm' to be MAX, L1 or L2, got '" + norm + "'");
  Value isZero = n.emit<CompareOp>(ComparePredicate::eq, divisor, n.splatLike(0, divisor));
  divisor = n.emit<SelectOp>(isZero, n.splatLike(1, divisor), divisor);
  Value result = n.emit<DivOp>(input, n.broadcastAlong(divisor, vx::getDims(typeOf(input)), 1));
  n.setOutput(0, n.cast(n.reshape(result, n.getDims(0)), n.builder.getF32Type()));
}

static void importImputer(NodeImporter &n) {
  Value input = n.getTensor(0);
  Type type = elementOf(input);
  bool isFloat = isa<FloatType>(type);
  StringRef name = isFloat ? "imputed_value_floats" : "imputed_value_int64s";
  DenseElementsAttr values = isFloat ? makeFloatList(n, n.getFloats(name))
                                     : makeIntegerList(n, n.getInts(name).value_or(SmallVector<int64_t>()));
  if (values.getNumElements() == 0)
    throwInvalid("expects '" + name + "' for an input of " + describe(type) + ", got none");
  Value replaced = isFloat ? n.emitConstant(makeFloatList(n, {n.getFloat("replaced_value_float", 0.0f)}))
                           : n.emitConstant(makeIntegerList(n, {n.getInt("replaced_value_int64", 0)}));
  Dims dims = vx::getDims(typeOf(input));
  // Compared in the type of the number, which holds each element of an integer input.
  Value compared = isFloat ? input : n.cast(input, n.builder.getI64Type());
  Value number = n.broadcastInDim(n.reshape(n.cast(replaced, elementOf(compared)), {}), dims, {});
  Value isReplaced = n.emit<CompareOp>(ComparePredicate::eq, compared, number);
  if (isFloat) // NaN may be the missing value
    isReplaced = n.emit<OrOp>(isReplaced, n.emit<AndOp>(n.emit<IsNanOp>(compared), n.emit<IsNanOp>(number)));
  Value other = n.cast(spreadOverFeatures(n, name, values, input), type);
  n.setOutput(0, n.emit<SelectOp>(isReplaced, other, input));
}

static void importOneHotEncoder(NodeImporter &n) {
  Value input = n.getTensor(0);
  SmallVector<StringRef> texts = n.getStrings("cats_strings");
  SmallVector<int64_t> numbers = n.getInts("cats_int64s").value_or(SmallVector<int64_t>());
  bool isText = isString(elementOf(input));
  if (texts.empty() == numbers.empty() || isText == texts.empty())
    throwInvalid("expects categories in '" + Twine(isText ? "cats_strings" : "cats_int64s") + "' alone for input " +
                 describe(input.getType()) + ", got " + Twine(texts.size()) + " strings and " + Twine(numbers.size()) +
                 " integers");
  DenseElementsAttr categories = isText ? makeStrings(n, texts, {int64_t(texts.size())}) : makeIntegerList(n, numbers);
  Dims dims = vx::getDims(typeOf(input)), pairs = dims;
  int64_t inner = dims.size();
  pairs.push_back(n.dim(categories.getNumElements()));
  Value element = isText ? input : n.cast(input, n.builder.getI64Type());
  Value isOwn = n.emit<CompareOp>(ComparePredicate::eq, n.broadcastAlong(element, pairs, inner),
                                  n.broadcastInDim(n.emitConstant(categories), pairs, inner));
  Value result = n.cast(isOwn, n.builder.getF32Type());
  if (!n.getFlag("zeros", true)) {
    // Each element is to be one of them: the place of one that is none is out of range.
    Value place = n.cast(n.emit<NotOp>(n.reduce(ReduceKind::or_, isOwn, inner)), n.builder.getI64Type());
    DimAttr count = productOf(n.context, dims);
    Value checked = n.emit<CheckIndicesOp>(n.reshape(place, count), n.toArray(n.dim(1)), /*from_start=*/true);
    Value zero = n.broadcastAlong(n.cast(n.reshape(checked, dims), n.builder.getF32Type()), pairs, inner);
    result = n.emit<AddOp>(result, zero);
  }
  n.setOutput(0, result);
}

/// Rows side by side, each input cut or filled with zeros to its number of features.
static void importFeatureVectorizer(NodeImporter &n) {
  SmallVector<int64_t> sizes = n.getInts("inputdimensions").value_or(SmallVector<int64_t>());
  if (sizes.size() != n.getNumInputs() || sizes.empty())
    throwInvalid("expects one of 'inputdimensions' for each of " + Twine(n.getNumInputs()) + " inputs, got " +
                 Twine(sizes.size()));
  SmallVector<Value> parts;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (size < 0 || size > maxElements)
      throwInvalid("expects 'inputdimensions' from 0 to " + Twine(maxElements) + ", got " + Twine(size));
    Value input = n.cast(n.getTensor(index), n.builder.getF32Type());
    Dims dims = vx::getDims(typeOf(input));
    if (dims.empty())
      throwInvalid("expects rows of features, or one, as input " + Twine(index) + ", got " + describe(input.getType()));
    Dims row = dims.size() == 1 ? Dims{n.dim(1), dims[0]}
                                : Dims{dims[0], productOf(n.context, ArrayRef<DimAttr>(dims).drop_front())};
    if (!parts.empty()) {
      DimAttr first = vx::getDim(typeOf(parts[0]), 0);
      if (!mayBeEqual(first, row[0]))
        throwInvalid("expects inputs of as many rows, got " + first.str() + " and " + row[0].str());
      n.require(ConstraintKind::equal, row[0], first);
    }
    parts.push_back(n.pad(n.reshape(input, row), {n.dim(0), n.dim(0)}, {n.dim(0), subDims(n.dim(size), row[1])}));
  }
  n.setOutput(0, n.emit<ConcatOp>(parts, 1));
}

/// The runtime has no maps. The values of the maps stay rows of a tensor, as exporters write them by option.
static void importZipMap(NodeImporter &n) {
  DenseElementsAttr labels = readClassLabels(n, "classlabels_int64s");
  Entry entry = n.getEntry(0);
  Dims dims = vx::getDims(n.getTensorType(0));
  if (dims.empty() || dims.size() > 2 || !mayBeEqual(dims.back(), n.dim(labels.getNumElements())))
    throwInvalid("expects a number for each of " + Twine(labels.getNumElements()) + " labels in each row, got " +
                 describe(entry.type));
  n.require(ConstraintKind::equal, dims.back(), n.dim(labels.getNumElements()));
  std::string order;
  constexpr int64_t mostListed = 8;
  for (int64_t index = 0; index < std::min(labels.getNumElements(), mostListed); ++index) {
    order += index > 0 ? ", " : "";
    if (isString(labels.getElementType()))
      order += "'" + labels.getValues<StringRef>()[index].str() + "'";
    else
      order += std::to_string(labels.getValues<int64_t>()[index]);
  }
  if (labels.getNumElements() > mostListed)
    order += ", ...";
  n.model.addNote(ImportNote::Kind::Note, "",
                  "node '" + n.label + "' (ZipMap): there are no maps, so '" + n.proto.output(0) +
                      "' is a tensor with a column for each label, in the order " + order +
                      ", as models have it that are exported with zipmap=False");
  entry.standsForMaps = true;
  n.setEntry(0, std::move(entry));
}

static constexpr OpTableEntry featuresTable[] = {
    {"ArrayFeatureExtractor", 1, newestMlOpset, importArrayFeatureExtractor},
    {"Binarizer", 1, newestMlOpset, importBinarizer},
    {"CategoryMapper", 1, newestMlOpset, importCategoryMapper},
    {"FeatureVectorizer", 1, newestMlOpset, importFeatureVectorizer},
    {"Imputer", 1, newestMlOpset, importImputer},
    {"LabelEncoder", 1, 1, importClassEncoder},
    {"LabelEncoder", 2, newestMlOpset, importLabelEncoder},
    {"Normalizer", 1, newestMlOpset, importNormalizer},
    {"OneHotEncoder", 1, newestMlOpset, importOneHotEncoder},
    {"Scaler", 1, newestMlOpset, importScaler},
    {"ZipMap", 1, newestMlOpset, importZipMap},
};
const llvm::ArrayRef<OpTableEntry> featuresOps = featuresTable;

} // namespace vx::onnx

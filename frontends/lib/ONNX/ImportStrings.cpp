// Functions of strings, which the host computes. Moves, selections and comparisons of strings are those of numbers.
#include "OpFunctions.h"

#include "vx/base/string_functions.h"
#include "vx/base/utf8.h"

using namespace mlir;

namespace vx::onnx {

DenseElementsAttr makeStrings(NodeImporter &n, ArrayRef<StringRef> texts, ArrayRef<int64_t> shape) {
  for (StringRef text : texts)
    if (!isUtf8(text))
      throwInvalid("expects strings of UTF-8, got '" + text + "'");
  auto type = RankedTensorType::get(shape, StringType::get(n.context));
  return DenseStringElementsAttr::get(type, texts);
}

Value emitStrings(NodeImporter &n, ArrayRef<StringRef> texts, ArrayRef<int64_t> shape) {
  return n.emitConstant(makeStrings(n, texts, shape));
}

bool isString(Type elementType) { return isa<StringType>(elementType); }

static Value getStrings(NodeImporter &n, unsigned index) {
  Value value = n.getTensor(index);
  if (!isString(elementOf(value)))
    throwInvalid("expects strings as input " + Twine(index) + ", got " + describe(value.getType()));
  return value;
}

ResultRange emitHost(NodeImporter &n, HostFunctionKind kind, ValueRange inputs, TypeRange results, StringRef text,
                     int64_t limit) {
  if (!isUtf8(text) || text.contains('\0'))
    throwInvalid("expects text of UTF-8 without a zero byte, got '" + text + "'");
  OperationState state(n.location, HostFunctionOp::getOperationName());
  HostFunctionOp::build(n.builder, state, results, kind, inputs, text, limit);
  return n.finish(state)->getResults();
}

/// For each element one of another type.
static Value mapElements(NodeImporter &n, HostFunctionKind kind, ValueRange inputs, Type elementType,
                         StringRef text = "") {
  Type type = makeTensorType(vx::getDims(typeOf(inputs[0])), elementType);
  return emitHost(n, kind, inputs, type, text)[0];
}

Value castStrings(NodeImporter &n, Value value, Type elementType) {
  Type from = elementOf(value);
  if (from == elementType)
    return value;
  auto isPlain = [](Type type) {
    return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
           (type.isInteger() && type.getIntOrFloatBitWidth() >= 8);
  };
  if (isString(elementType)) {
    if (!isPlain(from) && !from.isInteger(1))
      throwUnsupported(Advice::CastElements,
                       "expects integers of a byte or more, floats of two or bools to be spelled, got " +
                           describe(value.getType()));
    return mapElements(n, HostFunctionKind::string_format, value, elementType);
  }
  // Any value except 0 is true.
  if (elementType.isInteger(1)) {
    Value number = mapElements(n, HostFunctionKind::string_parse, value, n.builder.getF64Type());
    return n.cast(number, elementType);
  }
  if (!isPlain(elementType))
    throwUnsupported(Advice::CastElements,
                     "expects strings to spell integers of a byte or more, floats of two or bools, got " +
                         describe(elementType));
  return mapElements(n, HostFunctionKind::string_parse, value, elementType);
}

static void importStringConcat(NodeImporter &n) {
  Value values[] = {getStrings(n, 0), getStrings(n, 1)};
  n.broadcastTogether(values);
  n.setOutput(0, mapElements(n, HostFunctionKind::string_concat, values, elementOf(values[0])));
}

static void importStringSplit(NodeImporter &n) {
  Value input = getStrings(n, 0);
  int64_t limit = -1;
  if (n.hasAttribute("maxsplit")) {
    limit = n.getInt("maxsplit");
    if (limit < 0)
      throwInvalid("expects 'maxsplit' of at least 0, got " + Twine(limit));
  }
  Dims dims = vx::getDims(typeOf(input)), parts = dims;
  parts.push_back(n.model.declareSize(n.wantsOutput(0) ? StringRef(n.proto.output(0)) : n.label, dims.size()));
  Type types[] = {makeTensorType(parts, elementOf(input)), makeTensorType(dims, n.builder.getI64Type())};
  ResultRange results = emitHost(n, HostFunctionKind::string_split, input, types, n.getString("delimiter", ""), limit);
  n.setOutput(0, results[0]);
  n.setOutput(1, results[1]);
}

static void importRegexFullMatch(NodeImporter &n) {
  if (!n.hasAttribute("pattern"))
    throwInvalid("expects attribute 'pattern', got none");
  n.setOutput(0, mapElements(n, HostFunctionKind::string_match, getStrings(n, 0), n.builder.getI1Type(),
                             n.getString("pattern", "")));
}

/// A list without those of its elements that are in `words`; an empty string in the place of none.
static Value removeWords(NodeImporter &n, Value list, ArrayRef<StringRef> words, bool isCaseSensitive) {
  DimAttr count = vx::getDim(typeOf(list), 0), size = n.dim(words.size());
  Value folded = list;
  SmallVector<std::string> lower;
  SmallVector<StringRef> wanted(words);
  if (!isCaseSensitive) {
    folded = mapElements(n, HostFunctionKind::string_lower, list, elementOf(list));
    for (StringRef word : words)
      lower.push_back(toLowerCase(word));
    wanted.assign(lower.begin(), lower.end());
  }
  Value stops = emitStrings(n, wanted, {int64_t(words.size())});
  Value isEqual = n.emit<CompareOp>(ComparePredicate::eq, n.broadcastInDim(folded, {count, size}, 0),
                                    n.broadcastInDim(stops, {count, size}, 1));
  Value places = emitPlacesOfTrue(n, n.emit<NotOp>(n.reduce(ReduceKind::or_, isEqual, 1)));
  DimAttr kept = vx::getDim(typeOf(places), 0);
  Value rest = n.emit<GatherOp>(list, places, 0, IntegerAttr());
  DimAttr none[] = {n.dim(0)}, missing[] = {subDims(maxDims(kept, n.dim(1)), kept)};
  return n.emit<PadOp>(rest, emitStrings(n, {""}, {}), n.toArray(none), n.toArray(missing));
}

static void importStringNormalizer(NodeImporter &n) {
  Value input = getStrings(n, 0);
  Dims dims = vx::getDims(typeOf(input));
  if (dims.empty() || dims.size() > 2)
    throwInvalid("expects a tensor of 1 or 2 dimensions, got " + describe(input.getType()));
  if (dims.size() == 2)
    n.require(ConstraintKind::equal, dims[0], n.dim(1));
  Value list = n.reshape(input, dims.back());
  if (SmallVector<StringRef> words = n.getStrings("stopwords"); !words.empty())
    list = removeWords(n, list, words, n.getFlag("is_case_sensitive", false));
  std::string change = n.getString("case_change_action", "NONE");
  if (change == "LOWER")
    list = mapElements(n, HostFunctionKind::string_lower, list, elementOf(list));
  else if (change == "UPPER")
    list = mapElements(n, HostFunctionKind::string_upper, list, elementOf(list));
  else if (change != "NONE")
    throwInvalid("expects 'case_change_action' to be LOWER, UPPER or NONE, got '" + Twine(change) + "'");
  DimAttr size = vx::getDim(typeOf(list), 0);
  n.setOutput(0, dims.size() == 2 ? n.reshape(list, {n.dim(1), size}) : list);
}

static constexpr OpTableEntry stringsTable[] = {
    {"RegexFullMatch", 20, newestOpset, importRegexFullMatch},
    {"StringConcat", 20, newestOpset, importStringConcat},
    {"StringNormalizer", 10, newestOpset, importStringNormalizer},
    {"StringSplit", 20, newestOpset, importStringSplit},
};
const llvm::ArrayRef<OpTableEntry> stringsOps = stringsTable;

} // namespace vx::onnx

#include "NodeImporter.h"

#include "NodeChecks.h"
#include "vx/Dialect/VX/IR/UserText.h"

using namespace mlir;

namespace vx::onnx {

std::string describe(Type type) { return "'" + describeType(type) + "'"; }

RankedTensorType typeOf(Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return type;
  throwInvalid("expects a tensor, got " + describe(value.getType()));
}

//===-- Inputs --------------------------------------------------------------------------------===//

bool NodeImporter::hasInput(unsigned index) const { return index < getNumInputs() && !proto.input(index).empty(); }

Entry &NodeImporter::getEntry(unsigned index) {
  if (!hasInput(index))
    throwInvalid("expects at least " + Twine(index + 1) + " inputs, but input " + Twine(index) + " is missing");
  return model.lookup(proto.input(index));
}

Value NodeImporter::getBroadcastInput(unsigned index) {
  Entry &entry = getEntry(index);
  return entry.leastRank ? entry.value : getTensor(index);
}

Type NodeImporter::getElementType(unsigned index) {
  Entry &entry = getEntry(index);
  return entry.leastRank ? cast<RankedTensorType>(entry.type).getElementType() : getTensorType(index).getElementType();
}

Value NodeImporter::getInput(unsigned index) { return model.materialize(getEntry(index)); }

RankedTensorType NodeImporter::getTensorType(unsigned index) {
  Entry &entry = getEntry(index);
  auto type = dyn_cast<RankedTensorType>(entry.type);
  if (!type)
    throwInvalid("expects a tensor as input " + Twine(index) + ", got " + describe(entry.type));
  checkRank(entry);
  return type;
}

void NodeImporter::requireShape(unsigned index, ArrayRef<DimAttr> dims) {
  RankedTensorType type = getTensorType(index);
  Dims got = vx::getDims(type);
  if (got.size() != dims.size() ||
      !llvm::all_of(llvm::zip(got, dims), [](auto pair) { return mayBeEqual(std::get<0>(pair), std::get<1>(pair)); }))
    throwInvalid("expects input " + Twine(index) + " of the shape " +
                 describe(makeTensorType(dims, type.getElementType())) + ", got " + describe(type));
  for (auto [have, wanted] : llvm::zip(got, dims))
    require(ConstraintKind::equal, have, wanted);
}

Value NodeImporter::getTensor(unsigned index) {
  (void)getTensorType(index);
  return getInput(index);
}

/// The elements of an integer or bool constant as expressions, if there are few.
static std::optional<Dims> readContents(ElementsAttr elements) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(elements);
  if (!dense || !isa<IntegerType>(dense.getElementType()) || dense.getNumElements() > int64_t(maxContents))
    return std::nullopt;
  bool isUnsigned = dense.getElementType().isUnsignedInteger() || dense.getElementType().isInteger(1);
  Dims contents;
  for (APInt value : dense.getValues<APInt>()) {
    if (isUnsigned && value.getActiveBits() > 63)
      return std::nullopt;
    contents.push_back(
        DimAttr::constant(elements.getContext(), isUnsigned ? int64_t(value.getZExtValue()) : value.getSExtValue()));
  }
  return contents;
}

std::optional<Dims> NodeImporter::getContents(Entry &entry) {
  if (!entry.contents && entry.constant)
    entry.contents = readContents(entry.constant);
  return entry.contents;
}

Dims NodeImporter::getIntegers(unsigned index, std::optional<int64_t> count) {
  RankedTensorType type = getTensorType(index);
  if (type.getRank() > 1 || !isa<IntegerType>(type.getElementType()))
    throwInvalid("expects a list of integers as input " + Twine(index) + ", got " + describe(type));
  if (std::optional<Dims> contents = getContents(index))
    return *contents;
  Dims symbols = bindElements(getRunTimeIntegers(index, count), proto.input(index));
  Entry &entry = getEntry(index);
  if (model.builder.getInsertionBlock() == entry.block) {
    entry.contents = symbols;
    entry.contentsAreRead = true;
  }
  return symbols;
}

void NodeImporter::checkIsSingle(unsigned index, StringRef what) {
  RankedTensorType type = getTensorType(index);
  if (type.getRank() > 1 || (type.getRank() == 1 && !mayBeEqual(vx::getDim(type, 0), dim(1))))
    throwInvalid("expects one " + what + " as input " + Twine(index) + ", got " + describe(type));
}

DimAttr NodeImporter::getInteger(unsigned index) {
  RankedTensorType type = getTensorType(index);
  if (!isa<IntegerType>(type.getElementType()))
    throwInvalid("expects one integer as input " + Twine(index) + ", got " + describe(type));
  checkIsSingle(index, "integer");
  return getIntegers(index, 1).front();
}

Value NodeImporter::getRunTimeIntegers(unsigned index, std::optional<int64_t> count) {
  RankedTensorType type = getTensorType(index);
  if (type.hasStaticShape())
    count = type.getNumElements();
  if (!count)
    throwUnsupported(Advice::FixSizes, "expects input " + Twine(index) + " ('" + proto.input(index) +
                                           "') to be a list of known length, got " + describe(type));
  if (*count > maxRank)
    throwUnsupported(Advice::FixSizes, "expects at most " + Twine(maxRank) +
                                           " values that are known at run time only in input " + Twine(index) +
                                           ", got " + Twine(*count));
  return cast(reshape(getTensor(index), dim(*count)), model.builder.getI64Type());
}

Value NodeImporter::getRunTimeList(unsigned index) {
  RankedTensorType type = getTensorType(index);
  if (type.getRank() > 1 || !isa<IntegerType>(type.getElementType()))
    throwInvalid("expects a list of integers as input " + Twine(index) + ", got " + describe(type));
  return cast(type.getRank() == 0 ? reshape(getTensor(index), dim(1)) : getTensor(index), model.builder.getI64Type());
}

Dims NodeImporter::bindElements(Value list, const Twine &name, int64_t min) {
  Dims symbols;
  for (int64_t i = 0; i < typeOf(list).getNumElements(); ++i)
    symbols.push_back(bindSymbol(reshape(slice(list, dim(i), dim(1), 1), {}), name + "[" + Twine(i) + "]", min));
  return symbols;
}

Value NodeImporter::emitList(ArrayRef<DimAttr> values) {
  Entry entry{RankedTensorType::get({int64_t(values.size())}, model.builder.getI64Type()), location};
  entry.contents = Dims(values);
  return model.materialize(entry);
}

/// Contents that are numbers for all values of symbols.
template <typename T>
static std::optional<SmallVector<T>> numbersOf(std::optional<Dims> contents) {
  if (!contents)
    return std::nullopt;
  SmallVector<T> values;
  for (DimAttr dim : *contents) {
    if (!dim.asConstant())
      return std::nullopt;
    values.push_back(static_cast<T>(*dim.asConstant()));
  }
  return values;
}

std::optional<SmallVector<int64_t>> NodeImporter::getConstantIntegers(unsigned index) {
  RankedTensorType type = getTensorType(index);
  if (!isa<IntegerType>(type.getElementType()) || type.getRank() > 1)
    throwInvalid("expects a list of integers as input " + Twine(index) + ", got " + describe(type));
  if (type.hasStaticShape() && type.getNumElements() == 0)
    return SmallVector<int64_t>();
  return numbersOf<int64_t>(getContents(index));
}

std::optional<SmallVector<double>> NodeImporter::getConstantNumbers(unsigned index) {
  Entry &entry = getEntry(index);
  auto dense = dyn_cast_or_null<DenseElementsAttr>(entry.constant);
  SmallVector<double> values;
  if (dense && isa<FloatType>(dense.getElementType()) && dense.getNumElements() <= int64_t(maxContents)) {
    for (APFloat value : dense.getValues<APFloat>()) {
      bool losesInfo;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(value.convertToDouble());
    }
    return values;
  }
  return numbersOf<double>(getContents(index));
}

//===-- Attributes ----------------------------------------------------------------------------===//

const AttributeProto *NodeImporter::findAttribute(StringRef name, AttributeProto::AttributeType type) const {
  for (const AttributeProto &attribute : proto.attribute()) {
    if (attribute.name() != name)
      continue;
    const AttributeProto *value = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      const auto *bound = model.scope->functionAttributes;
      value = bound ? bound->lookup(attribute.ref_attr_name()) : nullptr;
      if (!value)
        return nullptr; // the call leaves it out: the default counts
    }
    AttributeProto::AttributeType got = getType(*value);
    // An empty list has no element to guess from.
    bool isEmptyList =
        got == AttributeProto::UNDEFINED &&
        (type == AttributeProto::INTS || type == AttributeProto::FLOATS || type == AttributeProto::STRINGS);
    if (type != AttributeProto::UNDEFINED && got != type && !isEmptyList)
      throwInvalid("expects attribute '" + name + "' to be " + spell(type) + ", got " + spell(got));
    return value;
  }
  return nullptr;
}

bool NodeImporter::hasAttribute(StringRef name) const {
  return findAttribute(name, AttributeProto::UNDEFINED) != nullptr;
}

int64_t NodeImporter::getInt(StringRef name, std::optional<int64_t> otherwise) const {
  if (const AttributeProto *attribute = findAttribute(name, AttributeProto::INT))
    return attribute->i();
  if (!otherwise)
    throwInvalid("expects attribute '" + name + "', got none");
  return *otherwise;
}

float NodeImporter::getFloat(StringRef name, std::optional<float> otherwise) const {
  if (const AttributeProto *attribute = findAttribute(name, AttributeProto::FLOAT))
    return attribute->f();
  if (!otherwise)
    throwInvalid("expects attribute '" + name + "', got none");
  return *otherwise;
}

std::string NodeImporter::getString(StringRef name, StringRef otherwise) const {
  const AttributeProto *attribute = findAttribute(name, AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise.str();
}

std::optional<SmallVector<int64_t>> NodeImporter::getInts(StringRef name) const {
  const AttributeProto *attribute = findAttribute(name, AttributeProto::INTS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

SmallVector<float> NodeImporter::getFloats(StringRef name) const {
  const AttributeProto *attribute = findAttribute(name, AttributeProto::FLOATS);
  if (!attribute)
    return {};
  return SmallVector<float>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<DenseElementsAttr> NodeImporter::getTensorAttribute(StringRef name) const {
  const AttributeProto *attribute = findAttribute(name, AttributeProto::TENSOR);
  if (!attribute)
    return std::nullopt;
  return model.tensors.readInline(attribute->t(), name);
}

SmallVector<StringRef> NodeImporter::getStrings(StringRef name) const {
  const AttributeProto *attribute = findAttribute(name, AttributeProto::STRINGS);
  if (!attribute)
    return {};
  return SmallVector<StringRef>(attribute->strings().begin(), attribute->strings().end());
}

const GraphProto &NodeImporter::getGraph(StringRef name) const {
  const AttributeProto *attribute = findAttribute(name, AttributeProto::GRAPH);
  if (!attribute || !attribute->has_g())
    throwInvalid("expects attribute '" + name + "', got none");
  return attribute->g();
}

int64_t NodeImporter::normalizeAxis(int64_t axis, int64_t rank, StringRef what) const {
  if (axis < -rank || axis >= rank)
    throwInvalid("expects '" + what + "' from " + Twine(-rank) + " to " + Twine(rank - 1) + ", got " + Twine(axis));
  return axis < 0 ? axis + rank : axis;
}

int64_t NodeImporter::getAxis(StringRef name, std::optional<int64_t> otherwise, int64_t rank) const {
  return normalizeAxis(getInt(name, otherwise), rank, name);
}

SmallVector<int64_t> NodeImporter::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank, StringRef what) const {
  SmallVector<int64_t> sorted;
  for (int64_t axis : axes)
    sorted.push_back(normalizeAxis(axis, rank, what));
  llvm::sort(sorted);
  if (auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throwInvalid("expects each of '" + what + "' once, got " + Twine(*twice) + " twice");
  return sorted;
}

//===-- Outputs -------------------------------------------------------------------------------===//

bool NodeImporter::wantsOutput(unsigned index) const {
  return static_cast<int>(index) < proto.output_size() && !proto.output(index).empty();
}

void NodeImporter::setEntry(unsigned index, Entry entry) {
  if (wantsOutput(index))
    model.define(proto.output(index), std::move(entry));
}

void NodeImporter::setOutput(unsigned index, Value value) {
  Entry entry{value.getType(), location};
  entry.value = value;
  setEntry(index, std::move(entry));
}

void NodeImporter::setBroadcastOutput(Value value) {
  Entry entry{value.getType(), location};
  entry.value = value;
  int64_t least = 0;
  for (unsigned index = 0; index < getNumInputs(); ++index) {
    Entry &input = getEntry(index);
    least = std::max(least, input.leastRank.value_or(cast<RankedTensorType>(input.type).getRank()));
    if (input.leastRank)
      entry.decidedBy = input.decidedBy;
  }
  if (least < typeOf(value).getRank())
    entry.leastRank = least;
  setEntry(0, std::move(entry));
}

void NodeImporter::setContents(unsigned index, Dims contents, RankedTensorType type) {
  checkTensorSizes(vx::getDims(type));
  Entry entry{type, location};
  entry.contents = std::move(contents);
  setEntry(index, std::move(entry));
}

void NodeImporter::setConstant(unsigned index, ElementsAttr constant) {
  Entry entry{constant.getType(), location};
  entry.constant = constant;
  if (constant.getNumElements() > 1) // one number is a literal: equal ones are one
    entry.constantName = proto.output(static_cast<int>(index));
  setEntry(index, std::move(entry));
}

void NodeImporter::refuseOutputs(unsigned index, StringRef what) const {
  for (unsigned i = index; static_cast<int>(i) < proto.output_size(); ++i) {
    if (!wantsOutput(i))
      continue;
    Entry entry{Type(), location};
    entry.unavailable = ("output '" + Twine(proto.output(i)) + "' of node '" + label + "' (" + proto.op_type() +
                         ") is read, but " + what)
                            .str();
    model.define(proto.output(i), std::move(entry));
  }
}

//===-- Ops -----------------------------------------------------------------------------------===//

DimAttr NodeImporter::bindSymbol(Value scalar, const Twine &name, int64_t min) {
  DimAttr symbol = model.declareSymbol(name, /*isDataDependent=*/true, min);
  Value value = reshape(cast(scalar, builder.getI64Type()), {});
  OperationState state(location, BindSymbolOp::getOperationName());
  BindSymbolOp::build(builder, state, TypeRange(), value, symbol.getSymbol().getValue());
  finish(state);
  return symbol;
}

void NodeImporter::refuse(Refusal kind, const Twine &message) {
  if (kind == Refusal::Unsupported)
    throwUnsupported(Advice::ChangeSetting, message);
  throwInvalid(message);
}

void NodeImporter::refuseDiagnosed() { throwInvalid(model.takeDiagnostics()); }

bool NodeImporter::checkSizes(ArrayRef<DimAttr> dims) {
  checkTensorSizes(dims);
  return true;
}

} // namespace vx::onnx

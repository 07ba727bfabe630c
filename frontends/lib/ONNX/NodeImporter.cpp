#include "NodeImporter.h"

#include "vx/Dialect/VX/IR/UserText.h"
#include "llvm/Support/MathExtras.h"

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

Value NodeImporter::getInput(unsigned index) { return model.materialize(getEntry(index)); }

RankedTensorType NodeImporter::getTensorType(unsigned index) {
  Entry &entry = getEntry(index);
  auto type = dyn_cast<RankedTensorType>(entry.type);
  if (!type)
    throwInvalid("expects a tensor as input " + Twine(index) + ", got " + describe(entry.type));
  return type;
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

std::optional<Dims> NodeImporter::getContents(unsigned index) {
  Entry &entry = getEntry(index);
  if (!entry.contents && entry.constant)
    entry.contents = readContents(entry.constant);
  return entry.contents;
}

Dims NodeImporter::getIntegers(unsigned index) {
  RankedTensorType type = getTensorType(index);
  if (type.getRank() > 1 || !isa<IntegerType>(type.getElementType()))
    throwInvalid("expects a list of integers as input " + Twine(index) + ", got " + describe(type));
  if (std::optional<Dims> contents = getContents(index))
    return *contents;
  Dims symbols = bindElements(getRunTimeIntegers(index), proto.input(index));
  Entry &entry = getEntry(index);
  if (model.builder.getInsertionBlock() == entry.block) {
    entry.contents = symbols;
    entry.contentsAreRead = true;
  }
  return symbols;
}

Value NodeImporter::getRunTimeIntegers(unsigned index) {
  RankedTensorType type = getTensorType(index);
  if (!type.hasStaticShape())
    throwUnsupported("expects input " + Twine(index) + " ('" + proto.input(index) +
                     "') to be a list of known length, got " + describe(type));
  int64_t count = type.getNumElements();
  if (count > maxRank)
    throwUnsupported("expects at most " + Twine(maxRank) + " values that are known at run time only in input " +
                     Twine(index) + ", got " + Twine(count));
  return cast(reshape(getTensor(index), dim(count)), model.builder.getI64Type());
}

Dims NodeImporter::bindElements(Value list, const Twine &name) {
  Dims symbols;
  for (int64_t i = 0; i < typeOf(list).getNumElements(); ++i)
    symbols.push_back(bindSymbol(reshape(slice(list, dim(i), dim(1), 1), {}), name + "[" + Twine(i) + "]"));
  return symbols;
}

Value NodeImporter::emitList(ArrayRef<DimAttr> values) {
  Entry entry{RankedTensorType::get({int64_t(values.size())}, model.builder.getI64Type()), location};
  entry.contents = Dims(values);
  return model.materialize(entry);
}

SmallVector<int64_t> NodeImporter::getConstantIntegers(unsigned index) {
  std::optional<Dims> contents = getContents(index);
  SmallVector<int64_t> values;
  if (contents)
    for (DimAttr dim : *contents)
      if (std::optional<int64_t> value = dim.asConstant())
        values.push_back(*value);
  if (!contents || values.size() != contents->size())
    throwUnsupported("expects input " + Twine(index) + " ('" + proto.input(index) + "') to be constant integers");
  return values;
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
  std::optional<Dims> contents = getContents(index);
  if (!contents)
    return std::nullopt;
  for (DimAttr dim : *contents) {
    if (!dim.asConstant())
      return std::nullopt;
    values.push_back(double(*dim.asConstant()));
  }
  return values;
}

//===-- Attributes ----------------------------------------------------------------------------===//

static AttributeProto::AttributeType guessType(const AttributeProto &attribute) {
  if (attribute.has_type() && attribute.type() != AttributeProto::UNDEFINED)
    return attribute.type();
  if (attribute.has_f())
    return AttributeProto::FLOAT;
  if (attribute.has_i())
    return AttributeProto::INT;
  if (attribute.has_s())
    return AttributeProto::STRING;
  if (attribute.has_t())
    return AttributeProto::TENSOR;
  if (attribute.has_g())
    return AttributeProto::GRAPH;
  if (attribute.floats_size() > 0)
    return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0)
    return AttributeProto::INTS;
  if (attribute.strings_size() > 0)
    return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

static StringRef spell(AttributeProto::AttributeType type) {
  static constexpr StringLiteral names[] = {"nothing", "a float",         "an int",         "a string", "a tensor",
                                            "a graph", "floats",          "ints",           "strings",  "tensors",
                                            "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
  return names[type];
}

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
    AttributeProto::AttributeType got = guessType(*value);
    // An empty list has no element to guess from.
    bool isEmptyList =
        got == AttributeProto::UNDEFINED && (type == AttributeProto::INTS || type == AttributeProto::FLOATS);
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

void NodeImporter::setContents(unsigned index, Dims contents, RankedTensorType type) {
  checkTensorType(type);
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

/// The op's own rules. Whether its operands are made before it is asked when the module is whole: a region that is
/// still being made stands in no function, and nothing outside of it would be found.
static LogicalResult verifyAlone(Operation *op) {
  OperationName name = op->getName();
  return success(succeeded(name.verifyInvariants(op)) && succeeded(name.verifyRegionInvariants(op)));
}

void NodeImporter::finishWithoutResult(OperationState &state) {
  Operation *op = model.builder.create(state);
  if (failed(verifyAlone(op)))
    throwInvalid(model.takeDiagnostics());
}

Value NodeImporter::finish(OperationState &state) {
  for (Type type : state.types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      checkTensorType(tensor);
  Operation *op = model.builder.create(state);
  if (failed(verifyAlone(op)))
    throwInvalid(model.takeDiagnostics());
  return op->getResult(0);
}

ArrayAttr NodeImporter::toArray(ArrayRef<DimAttr> dims) {
  return model.builder.getArrayAttr(SmallVector<Attribute>(dims.begin(), dims.end()));
}

Value NodeImporter::emitConstant(ElementsAttr elements) { return emitAs<ConstantOp>(elements.getType(), elements); }

Value NodeImporter::emitScalar(double value, Type elementType) {
  auto type = RankedTensorType::get({}, elementType);
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    APFloat number(value);
    bool losesInfo;
    number.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return emitConstant(DenseElementsAttr::get(type, number));
  }
  auto integerType = cast<IntegerType>(elementType); // getElementType gives no third kind
  unsigned width = integerType.getWidth();
  bool isUnsigned = integerType.isUnsigned() || width == 1;
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1), high = std::ldexp(1.0, isUnsigned ? width : width - 1);
  if (!(value >= low && value < high) || value != std::trunc(value))
    throwUnsupported("expects a number that " + describe(elementType) + " can hold, got " + std::to_string(value));
  APInt number = isUnsigned ? APInt(width, uint64_t(value)) : APInt(width, int64_t(value), /*isSigned=*/true);
  return emitConstant(DenseElementsAttr::get(type, number));
}

Value NodeImporter::emitDim(DimAttr value, Type elementType) {
  auto i64 = model.builder.getI64Type();
  if (std::optional<int64_t> constant = value.asConstant()) {
    if (elementType == i64)
      return emitConstant(DenseElementsAttr::get(RankedTensorType::get({}, i64), *constant));
    return emitScalar(double(*constant), elementType);
  }
  return cast(emitAs<DimValueOp>(RankedTensorType::get({}, i64), value), elementType);
}

Value NodeImporter::reshape(Value value, ArrayRef<DimAttr> dims) {
  RankedTensorType type = makeTensorType(dims, elementOf(value));
  return type == value.getType() ? value : emitAs<ReshapeOp>(type, value);
}

Value NodeImporter::cast(Value value, Type elementType) {
  RankedTensorType type = typeOf(value);
  if (type.getElementType() == elementType)
    return value;
  return emitAs<CastOp>(makeTensorType(vx::getDims(type), elementType), value);
}

Value NodeImporter::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  return emit<TransposeOp>(value, permutation);
}

Value NodeImporter::broadcastInDim(Value value, ArrayRef<DimAttr> dims, ArrayRef<int64_t> dimensions) {
  RankedTensorType type = makeTensorType(dims, elementOf(value));
  return type == value.getType() ? value : emitAs<BroadcastOp>(type, value, dimensions);
}

Value NodeImporter::broadcast(Value value, ArrayRef<DimAttr> dims) {
  int64_t rank = typeOf(value).getRank(), offset = static_cast<int64_t>(dims.size()) - rank;
  if (offset < 0)
    throwInvalid("expects a shape that broadcasts to " + Twine(dims.size()) + " dimensions, got " +
                 describe(value.getType()));
  auto dimensions = llvm::to_vector(llvm::seq<int64_t>(offset, offset + rank));
  return broadcastInDim(value, dims, dimensions);
}

Value NodeImporter::splat(double value, RankedTensorType type) {
  return broadcastInDim(emitScalar(value, type.getElementType()), vx::getDims(type), {});
}

Value NodeImporter::splatLike(double value, Value like) { return splat(value, typeOf(like)); }

Dims NodeImporter::broadcastShapes(ArrayRef<DimAttr> lhs, ArrayRef<DimAttr> rhs) const {
  Dims result;
  size_t rank = std::max(lhs.size(), rhs.size());
  for (size_t i = 0; i < rank; ++i) {
    DimAttr l = i + lhs.size() >= rank ? lhs[i + lhs.size() - rank] : DimAttr();
    DimAttr r = i + rhs.size() >= rank ? rhs[i + rhs.size() - rank] : DimAttr();
    if (!l || !r || l == r) {
      result.push_back(l ? l : r);
      continue;
    }
    std::optional<int64_t> leftSize = l.asConstant(), rightSize = r.asConstant();
    if (leftSize == 1 || rightSize == 1)
      result.push_back(leftSize == 1 ? r : l);
    else if (!mayBeEqual(l, r))
      throwInvalid("expects shapes that broadcast together, but the sizes " + l.str() + " and " + r.str() + " differ");
    // Known at run time only. The ops that repeat to this shape want it to be one of both.
    else
      result.push_back(broadcastDims(l, r));
  }
  return result;
}

void NodeImporter::broadcastTogether(MutableArrayRef<Value> values) {
  Dims dims;
  for (Value value : values)
    dims = broadcastShapes(dims, vx::getDims(typeOf(value)));
  for (Value &value : values)
    value = broadcast(value, dims);
}

void NodeImporter::require(ConstraintKind kind, DimAttr lhs, DimAttr rhs) {
  Constraint constraint{kind, lhs, rhs};
  std::optional<bool> isTrue = decide(constraint, SymbolRanges());
  if (isTrue == false)
    throwInvalid("wants " + describeWant(constraint) + ", got " + lhs.str() + " and " + rhs.str());
  if (isTrue == true)
    return;
  OperationState state(location, ConstraintOp::getOperationName());
  ConstraintOp::build(model.builder, state, kind, lhs, rhs, describeWant(constraint));
  finishWithoutResult(state);
}

DimAttr NodeImporter::bindSymbol(Value scalar, const Twine &name, int64_t min) {
  DimAttr symbol = model.declareSymbol(name, /*isDataDependent=*/true, min);
  Value value = reshape(cast(scalar, model.builder.getI64Type()), {});
  OperationState state(location, BindSymbolOp::getOperationName());
  BindSymbolOp::build(model.builder, state, TypeRange(), value, symbol.getSymbol().getValue());
  finishWithoutResult(state);
  return symbol;
}

Value NodeImporter::slice(Value value, ArrayRef<DimAttr> starts, ArrayRef<DimAttr> sizes, ArrayRef<int64_t> strides) {
  RankedTensorType type = makeTensorType(sizes, elementOf(value));
  bool isWhole = type == value.getType() && llvm::all_of(strides, [](int64_t s) { return s == 1; }) &&
                 llvm::all_of(starts, [](DimAttr start) { return start.asConstant() == 0; });
  return isWhole ? value : emitAs<SliceOp>(type, value, toArray(starts), strides);
}

} // namespace vx::onnx

// Sequences of tensors.
#include "OpFunctions.h"

using namespace mlir;

namespace vx::onnx {

TensorType joinElementTypes(TensorType lhs, TensorType rhs) {
  auto left = dyn_cast<RankedTensorType>(lhs), right = dyn_cast<RankedTensorType>(rhs);
  if (!left || !right || left.getRank() != right.getRank())
    return UnrankedTensorType::get(lhs.getElementType());
  SmallVector<int64_t> shape;
  for (auto [l, r] : llvm::zip(left.getShape(), right.getShape()))
    shape.push_back(l == r ? l : ShapedType::kDynamic);
  // Symbols of one tensor do not describe the others.
  return RankedTensorType::get(shape, lhs.getElementType());
}

static SequenceType getSequenceType(NodeImporter &n, unsigned index) {
  auto type = dyn_cast<SequenceType>(n.getEntry(index).type);
  if (!type)
    throwInvalid("expects a sequence as input " + Twine(index) + ", got " + describe(n.getEntry(index).type));
  return type;
}

static Value getPosition(NodeImporter &n, unsigned index) {
  return n.cast(n.reshape(n.getTensor(index), {}), n.builder.getI64Type());
}

static void importSequenceConstruct(NodeImporter &n) {
  SmallVector<Value> values;
  TensorType elementType;
  for (unsigned i = 0; i < n.getNumInputs(); ++i) {
    values.push_back(n.getTensor(i));
    TensorType type = typeOf(values[i]);
    if (elementType && elementType.getElementType() != type.getElementType())
      throwInvalid("expects tensors of one element type, got " + describe(elementType) + " and " + describe(type));
    elementType = joinElementTypes(elementType ? elementType : type, type);
  }
  if (values.empty())
    throwInvalid("expects at least 1 input, got 0");
  n.setOutput(0, n.emitAs<SequenceConstructOp>(SequenceType::get(n.context, elementType), ValueRange(values)));
}

static void importSequenceEmpty(NodeImporter &n) {
  Type elementType = getElementType(n.context, n.getInt("dtype", TensorProto::FLOAT), "the sequence");
  auto type = SequenceType::get(n.context, UnrankedTensorType::get(elementType));
  Entry entry{type, n.location};
  entry.value = n.emitAs<SequenceConstructOp>(type, ValueRange());
  entry.isEmptySequence = true;
  n.setEntry(0, std::move(entry));
}

static void importSequenceInsert(NodeImporter &n) {
  SequenceType type = getSequenceType(n, 0);
  Value value = n.getTensor(1), sequence = n.getInput(0);
  if (type.getElementType().getElementType() != elementOf(value))
    throwInvalid("expects tensors of the sequence's element type: " + describe(type.getElementType()) + ", got " +
                 describe(value.getType()));
  TensorType elementType = typeOf(value);
  if (n.getEntry(0).isEmptySequence) {
    // The sequence is empty: the first tensor decides its element type.
    elementType = joinElementTypes(elementType, elementType);
    type = SequenceType::get(n.context, elementType);
    sequence = n.emitAs<SequenceConstructOp>(type, ValueRange());
  } else {
    type = SequenceType::get(n.context, joinElementTypes(type.getElementType(), elementType));
  }
  Value position = n.hasInput(2) ? getPosition(n, 2) : Value();
  n.setOutput(0, n.emitAs<SequenceInsertOp>(type, sequence, value, position));
}

/// The type of the tensors of a sequence, or of that of an optional.
static RankedTensorType getOneRank(Type type) {
  auto optional = dyn_cast<OptionalType>(type);
  auto element =
      dyn_cast<RankedTensorType>(optional ? optional.getValueType() : cast<SequenceType>(type).getElementType());
  if (!element)
    throwUnsupported(Advice::FixSizes, "expects a sequence whose tensors have one known rank, got " + describe(type));
  return element;
}

Value emitSequenceAt(NodeImporter &n, Value sequence, Value position, StringRef name) {
  RankedTensorType element = getOneRank(sequence.getType());
  Dims dims;
  for (int64_t i = 0; i < element.getRank(); ++i)
    dims.push_back(element.isDynamicDim(i) ? n.model.declareSize(name, i) : n.dim(element.getDimSize(i)));
  return n.emitAs<SequenceAtOp>(makeTensorType(dims, element.getElementType()), sequence, position);
}

static void importSequenceAt(NodeImporter &n) {
  (void)getSequenceType(n, 0);
  Value position = getPosition(n, 1);
  n.setOutput(0, emitSequenceAt(n, n.getInput(0), position, n.proto.output(0)));
}

static void importSequenceErase(NodeImporter &n) {
  SequenceType type = getSequenceType(n, 0);
  Value position = n.hasInput(1) ? getPosition(n, 1) : Value();
  n.setOutput(0, n.emitAs<SequenceEraseOp>(type, n.getInput(0), position));
}

static void importSequenceLength(NodeImporter &n) {
  (void)getSequenceType(n, 0);
  n.setOutput(0, n.emitAs<SequenceLengthOp>(RankedTensorType::get({}, n.builder.getI64Type()), n.getInput(0)));
}

namespace {
/// A tensor that is split along a dimension.
struct Split {
  Value input;
  int64_t axis;
  /// Parts keep the dimension; else each is of one place in it.
  bool keepsAxis;

  Dims getDims() const { return vx::getDims(typeOf(input)); }
};
} // namespace

static Value takePart(NodeImporter &n, const Split &split, DimAttr start, DimAttr size) {
  Dims dims = split.getDims(), starts(dims.size(), n.dim(0));
  starts[split.axis] = start;
  dims[split.axis] = size;
  Value part = n.slice(split.input, starts, dims, SmallVector<int64_t>(dims.size(), 1));
  if (!split.keepsAxis)
    dims.erase(dims.begin() + split.axis);
  return n.reshape(part, dims);
}

static Value splitIntoParts(NodeImporter &n, const Split &split, ArrayRef<DimAttr> sizes) {
  SmallVector<Value> parts;
  TensorType elementType;
  DimAttr start = n.dim(0);
  for (DimAttr size : sizes) {
    parts.push_back(takePart(n, split, start, size));
    start = addDims(start, size);
    TensorType type = typeOf(parts.back());
    elementType = joinElementTypes(elementType ? elementType : type, type);
  }
  return n.emitAs<SequenceConstructOp>(SequenceType::get(n.context, elementType), ValueRange(parts));
}

/// The type of the parts of sizes that only the call knows.
static SequenceType getPartsType(NodeImporter &n, const Split &split) {
  SmallVector<int64_t> shape;
  for (auto [d, dim] : llvm::enumerate(split.getDims()))
    if (static_cast<int64_t>(d) != split.axis)
      shape.push_back(dim.asConstant().value_or(ShapedType::kDynamic));
    else if (split.keepsAxis)
      shape.push_back(ShapedType::kDynamic);
  return SequenceType::get(n.context, RankedTensorType::get(shape, elementOf(split.input)));
}

/// Parts of the sizes in a list of a length that only the call knows.
static Value splitByList(NodeImporter &n, const Split &split, Value list) {
  const SequenceType type = getPartsType(n, split);
  const std::string name = n.proto.input(1);
  const DimAttr count = vx::getDim(typeOf(list), 0), size = split.getDims()[split.axis];
  n.require(ConstraintKind::at_least, count, n.dim(1));
  Value empty = n.emitAs<SequenceConstructOp>(type, ValueRange());
  SmallVector<Value> made =
      emitCountedLoop(n, count, {empty, n.emitList({n.dim(0)})}, [&](DimAttr place, ValueRange values) {
        DimAttr start = n.bindSymbol(values[1], name + ".sum");
        DimAttr part = n.bindSymbol(n.slice(list, place, n.dim(1), 1), name + ".part");
        n.require(ConstraintKind::at_least, size, addDims(start, part));
        Value longer = n.emitAs<SequenceInsertOp>(type, values[0], takePart(n, split, start, part), Value());
        return SmallVector<Value>{longer, n.emitList({addDims(start, part)})};
      });
  n.require(ConstraintKind::equal, n.bindSymbol(made[1], name + ".sum"), size);
  return made[0];
}

/// Parts of one size, but for a smaller one at the end; how many, only the call knows.
static Value splitInLoop(NodeImporter &n, const Split &split, DimAttr chunk) {
  const SequenceType type = getPartsType(n, split);
  DimAttr size = split.getDims()[split.axis];
  Value count = n.emitDim(ceilDivDims(size, chunk), n.builder.getI64Type());
  Value empty = n.emitAs<SequenceConstructOp>(type, ValueRange());
  DimAttr iteration = n.model.declareSymbol(n.proto.output(0) + ".part", /*isDataDependent=*/true);
  OperationState state(n.location, LoopOp::getOperationName());
  LoopOp::build(n.builder, state, TypeRange(type), count, Value(), empty, iteration.getSymbol().getValue());
  {
    OpBuilder::InsertionGuard guard(n.builder);
    Block *body = n.builder.createBlock(state.regions[0].get());
    Value sequence = body->addArgument(type, n.location);
    DimAttr start = mulDims(iteration, chunk);
    Value part = takePart(n, split, start, split.keepsAxis ? minDims(chunk, subDims(size, start)) : n.dim(1));
    Value longer = n.emitAs<SequenceInsertOp>(type, sequence, part, Value());
    OperationState yield(n.location, YieldOp::getOperationName());
    YieldOp::build(n.builder, yield, {n.emitScalar(1, n.builder.getI1Type()), longer});
    n.finish(yield);
  }
  return n.finish(state)->getResult(0);
}

static void importSplitToSequence(NodeImporter &n) {
  Split split{n.getTensor(0), 0, n.hasInput(1) || n.getFlag("keepdims", true)};
  Dims dims = split.getDims();
  split.axis = n.getAxis("axis", 0, dims.size());
  DimAttr size = dims[split.axis], chunk = n.dim(1);
  if (n.hasInput(1)) {
    if (n.getTensorType(1).getRank() == 1 && !n.getTensorType(1).hasStaticShape() && !n.getContents(1))
      return n.setOutput(0, splitByList(n, split, n.getRunTimeList(1)));
    Dims sizes = n.getIntegers(1);
    for (DimAttr part : sizes)
      if (part.asConstant() && *part.asConstant() < (n.getTensorType(1).getRank() == 0 ? 1 : 0))
        throwInvalid("expects positive numbers as 'split', got " + part.str());
    if (n.getTensorType(1).getRank() == 1) {
      DimAttr sum = n.dim(0);
      for (DimAttr part : sizes)
        sum = addDims(sum, part);
      if (sizes.empty() || !mayBeEqual(sum, size))
        throwInvalid("expects parts that make up dimension " + Twine(split.axis) + ": " + size.str() + ", got " +
                     sum.str());
      n.require(ConstraintKind::equal, sum, size);
      return n.setOutput(0, splitIntoParts(n, split, sizes));
    }
    chunk = sizes.front();
    n.require(ConstraintKind::at_least, chunk, n.dim(1));
  }
  std::optional<int64_t> whole = size.asConstant(), step = chunk.asConstant();
  if (!whole || !step || *whole == 0 || *whole > int64_t(maxContents))
    return n.setOutput(0, splitInLoop(n, split, chunk));
  Dims sizes;
  for (int64_t left = *whole; left > 0; left -= *step)
    sizes.push_back(n.dim(std::min(left, *step)));
  n.setOutput(0, splitIntoParts(n, split, sizes));
}

/// The tensors of a sequence, how many only the call knows, behind one another along `axis`; with `isNew` each is of
/// one place in it. They are written where they belong, one after the other.
static Value joinInLoop(NodeImporter &n, Value sequence, int64_t axis, bool isNew) {
  Type i64 = n.builder.getI64Type();
  std::string name = n.proto.input(0);
  auto take = [&](DimAttr place) {
    Value part = emitSequenceAt(n, sequence, n.emitDim(place, i64), name);
    Dims dims = vx::getDims(typeOf(part));
    if (isNew)
      dims.insert(dims.begin() + axis, n.dim(1));
    return n.reshape(part, dims);
  };
  Value count = n.emitAs<SequenceLengthOp>(RankedTensorType::get({}, i64), sequence);
  DimAttr length = n.bindSymbol(count, name + ".length");
  Dims first = vx::getDims(typeOf(take(n.dim(0)))), dims = first;
  auto getSize = [&](Value part) { return vx::getDim(typeOf(part), axis); };
  bool isEven = first[axis].asConstant().has_value(); // by the sequence's type
  if (isEven) {
    dims[axis] = mulDims(length, first[axis]);
  } else {
    Value sum = emitCountedLoop(n, length, {n.emitScalar(0, i64)}, [&](DimAttr place, ValueRange values) {
      return SmallVector<Value>{n.emit<AddOp>(values[0], n.emitDim(getSize(take(place)), i64))};
    })[0];
    dims[axis] = n.bindSymbol(sum, n.proto.output(0) + ".shape[" + Twine(axis) + "]");
  }
  Value joined =
      n.splat(0, makeTensorType(dims, cast<SequenceType>(sequence.getType()).getElementType().getElementType()));
  return emitCountedLoop(n, length, {joined, n.emitList({n.dim(0)})}, [&](DimAttr place, ValueRange values) {
    Value part = take(place);
    for (auto [d, size] : llvm::enumerate(vx::getDims(typeOf(part))))
      if (static_cast<int64_t>(d) != axis)
        n.require(ConstraintKind::equal, size, first[d]);
    Value start = isEven ? n.emitList({mulDims(place, first[axis])}) : values[1];
    Value next = isEven ? values[1] : n.emit<AddOp>(start, n.emitList({getSize(part)}));
    return SmallVector<Value>{n.emit<UpdateSliceOp>(values[0], start, part, ArrayRef<int64_t>(axis)), next};
  })[0];
}

static void importConcatFromSequence(NodeImporter &n) {
  SequenceType type = getSequenceType(n, 0);
  auto element = dyn_cast<RankedTensorType>(type.getElementType());
  if (!element || isString(element.getElementType()))
    throwUnsupported(Advice::FixSizes,
                     "expects a sequence whose tensors have one known rank and no strings, got " + describe(type));
  bool isNew = n.getFlag("new_axis", false);
  int64_t axis = n.getAxis("axis", std::nullopt, element.getRank() + isNew);
  Value sequence = n.getInput(0);
  auto construct = sequence.getDefiningOp<SequenceConstructOp>();
  if (!construct || construct.getInputs().empty())
    return n.setOutput(0, joinInLoop(n, sequence, axis, isNew));
  SmallVector<Value> parts;
  for (Value part : construct.getInputs()) {
    Dims dims = vx::getDims(typeOf(part));
    if (isNew)
      dims.insert(dims.begin() + axis, n.dim(1));
    parts.push_back(n.reshape(part, dims));
  }
  n.setOutput(0, parts.size() == 1 ? parts[0] : n.emit<ConcatOp>(ValueRange(parts), axis));
}

static constexpr OpTableEntry sequencesTable[] = {
    {"ConcatFromSequence", 11, newestOpset, importConcatFromSequence},
    {"SequenceAt", 11, newestOpset, importSequenceAt},
    {"SequenceConstruct", 11, newestOpset, importSequenceConstruct},
    {"SequenceEmpty", 11, newestOpset, importSequenceEmpty},
    {"SequenceErase", 11, newestOpset, importSequenceErase},
    {"SequenceInsert", 11, newestOpset, importSequenceInsert},
    {"SequenceLength", 11, newestOpset, importSequenceLength},
    {"SplitToSequence", 11, newestOpset, importSplitToSequence},
};
const llvm::ArrayRef<OpTableEntry> sequencesOps = sequencesTable;

} // namespace vx::onnx

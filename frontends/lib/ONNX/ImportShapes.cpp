// Ops that give elements another shape or order.
#include "OpFunctions.h"
#include "RunTimeLists.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace vx::onnx {

/// Gives the output as `value` in shape `dims`; a short integer list that is known stays known.
static void reshapeOutput(NodeImporter &n, ArrayRef<DimAttr> dims) {
  std::optional<Dims> contents = n.getContents(0);
  RankedTensorType type = makeTensorType(dims, n.getTensorType(0).getElementType());
  if (contents && type.hasStaticShape() && type.getNumElements() == static_cast<int64_t>(contents->size()))
    return n.setContents(0, *contents, type);
  n.setOutput(0, n.reshape(n.getTensor(0), dims));
  if (type.getRank() <= 1)
    followReshape(n);
}

/// The sizes that a list asks for which only the data knows, computed by the program and read back. One that cannot be
/// is below 0, which fails the call.
static Dims bindShape(NodeImporter &n, ArrayRef<DimAttr> input, bool allowZero) {
  constexpr int64_t isLeft = -1, isNone = -2; // special values in place of a size
  Type i64 = n.builder.getI64Type();
  Value list = n.getRunTimeIntegers(1);
  auto equals = [&](Value value, int64_t number) {
    return n.emit<CompareOp>(ComparePredicate::eq, value, n.splatLike(number, value));
  };
  if (!allowZero) {
    Dims same(input.take_front(typeOf(list).getNumElements()));
    same.resize(typeOf(list).getNumElements(), n.dim(isNone));
    list = n.emit<SelectOp>(equals(list, 0), n.emitList(same), list);
  }
  // One -1 may be the remaining size of the input.
  Value left = equals(list, isLeft), one = n.emitScalar(1, i64), none = n.emitScalar(isLeft, i64);
  SmallVector<int64_t> axes = {0};
  Value others = n.emit<ReduceOp>(ReduceKind::prod, n.emit<SelectOp>(left, n.splatLike(1, list), list), axes);
  Value lefts = n.emit<ReduceOp>(ReduceKind::sum, n.cast(left, i64), axes);
  Value elements = n.emitDim(productOf(n.context, input), i64);
  Value quotient = n.emit<DivOp>(elements, n.emit<MaxOp>(others, one));
  Value isPossible = n.emit<AndOp>(n.emit<CompareOp>(ComparePredicate::ge, others, one),
                                   n.emit<CompareOp>(ComparePredicate::le, lefts, one));
  // If there is a remainder, the sizes do not fit the input, and the reshape fails.
  Value size = n.emit<SelectOp>(isPossible, quotient, none);
  list = n.emit<SelectOp>(left, n.broadcast(size, vx::getDims(typeOf(list))), list);
  return n.bindElements(list, n.proto.input(1));
}

static void importReshape(NodeImporter &n) {
  Dims input = n.getDims(0), wanted;
  bool allowZero = n.version >= 14 && n.getFlag("allowzero", false);
  if (n.version >= 5) {
    RankedTensorType list = n.getTensorType(1);
    if (list.getRank() != 1 || !list.getElementType().isInteger())
      throwInvalid("expects a list of integers as input 1, got " + describe(list));
    // An element that another node read back may be a 0 or -1 for this one.
    std::optional<Dims> contents = n.getContents(1);
    if (!contents || n.getEntry(1).contentsAreRead)
      return n.setOutput(0, n.reshape(n.getTensor(0), bindShape(n, input, allowZero)));
    wanted = *contents;
  } else {
    std::optional<SmallVector<int64_t>> shape = n.getInts("shape");
    if (!shape)
      throwInvalid("expects attribute 'shape', got none");
    for (int64_t size : *shape)
      wanted.push_back(n.dim(size));
  }
  Dims dims;
  std::optional<size_t> inferred;
  for (auto [index, dim] : llvm::enumerate(wanted)) {
    std::optional<int64_t> size = dim.asConstant();
    if (size && *size < -1)
      throwInvalid("expects sizes from -1 on in 'shape', got " + Twine(*size));
    if (size == -1) {
      if (inferred)
        throwInvalid("expects at most one -1 in 'shape', got another at place " + Twine(index));
      inferred = index;
      dims.push_back(n.dim(1));
    } else if (size == 0 && !allowZero) {
      if (index >= input.size())
        throwInvalid("expects 0 in 'shape' only where the input has a dimension: it has " + Twine(input.size()) +
                     ", got 0 at place " + Twine(index));
      dims.push_back(input[index]);
    } else {
      dims.push_back(dim);
    }
  }
  // Sizes on both sides cancel, which keeps the products simple; one that may be 0 makes both sides empty.
  Dims inputRest = input, dimsRest;
  for (DimAttr dim : dims) {
    auto same = dim.asConstant() == 0 ? inputRest.end() : llvm::find(inputRest, dim);
    if (same == inputRest.end())
      dimsRest.push_back(dim);
    else
      inputRest.erase(same);
  }
  DimAttr haveRest = productOf(n.context, inputRest), otherRest = productOf(n.context, dimsRest);
  auto have = [&] { return productOf(n.context, input); };
  auto others = [&] { return productOf(n.context, dims); };
  if (inferred) {
    std::optional<int64_t> haveSize = haveRest.asConstant(), otherSize = otherRest.asConstant();
    if (otherSize == 0)
      throwInvalid("expects sizes above 0 beside -1 in 'shape', got a 0");
    if (haveSize && otherSize && *haveSize % *otherSize != 0)
      throwInvalid("expects a shape that holds the input's " + have().str() + " elements, got sizes of product " +
                   others().str() + " beside -1");
    dims[*inferred] = floorDivDims(haveRest, otherRest);
  } else if (!mayBeEqual(haveRest, otherRest) && !mayBeEqual(have(), others())) {
    throwInvalid("expects a shape that holds the input's " + have().str() + " elements, got one of " + others().str());
  }
  reshapeOutput(n, dims);
}

static void importFlatten(NodeImporter &n) {
  Dims input = n.getDims(0);
  int64_t rank = input.size(), axis = n.getInt("axis", 1);
  if (axis < -rank || axis > rank)
    throwInvalid("expects 'axis' from " + Twine(-rank) + " to " + Twine(rank) + ", got " + Twine(axis));
  axis = axis < 0 ? axis + rank : axis;
  ArrayRef<DimAttr> all = input;
  Dims dims = {productOf(n.context, all.take_front(axis)), productOf(n.context, all.drop_front(axis))};
  reshapeOutput(n, dims);
}

/// Axes are an attribute before version 13, and an input from there on.
static bool hasRunTimeAxes(NodeImporter &n) { return n.version >= 13 && n.hasInput(1) && !n.getConstantIntegers(1); }
static std::optional<SmallVector<int64_t>> getAxesBefore13(NodeImporter &n) {
  if (n.version < 13)
    return n.getInts("axes");
  if (n.hasInput(1))
    return n.getConstantIntegers(1);
  return std::nullopt;
}

/// Squeeze by axes that only the call knows. There are as many as dimensions are left out.
static void squeezeAtRunTime(NodeImporter &n) {
  Dims input = n.getDims(0);
  int64_t rank = input.size();
  std::string name = n.proto.input(1);
  Value list = n.getRunTimeIntegers(1);
  Value isSqueezed = markAxes(n, checkAxes(n, list, rank, name), rank), sizes = n.emitList(input);
  for (DimAttr size : n.bindElements(n.emit<SelectOp>(isSqueezed, sizes, n.splatLike(1, sizes)), name + ".squeezed"))
    n.require(ConstraintKind::equal, size, n.dim(1));
  Dims result = n.bindElements(leaveOutMarked(n, sizes, isSqueezed, rank - typeOf(list).getNumElements()),
                               n.proto.output(0) + ".shape");
  n.setOutput(0, n.reshape(n.getTensor(0), result));
}

static void importSqueeze(NodeImporter &n) {
  if (hasRunTimeAxes(n))
    return squeezeAtRunTime(n);
  Dims input = n.getDims(0), dims;
  std::optional<SmallVector<int64_t>> listed = getAxesBefore13(n);
  SmallVector<int64_t> axes;
  if (listed)
    axes = n.normalizeAxes(*listed, input.size(), "axes");
  for (auto [index, dim] : llvm::enumerate(input)) {
    std::optional<int64_t> size = dim.asConstant();
    bool drop = listed ? llvm::is_contained(axes, index) : size == 1;
    if (!listed && !size) // how many dimensions are left must be known: the call fails where this one is 1
      n.require(ConstraintKind::differ, dim, n.dim(1));
    if (drop && size && *size != 1)
      throwInvalid("expects size 1 in each dimension of 'axes', got " + Twine(*size) + " in dimension " + Twine(index));
    if (!drop)
      dims.push_back(dim);
  }
  reshapeOutput(n, dims);
}

static int64_t getUnsqueezedRank(NodeImporter &n, size_t axes) {
  size_t rank = n.getDims(0).size() + axes;
  if (rank > maxRank)
    throwUnsupported(Advice::SplitModel, "expects at most " + Twine(maxRank) + " dimensions, got " + Twine(rank));
  return rank;
}

static void importUnsqueeze(NodeImporter &n) {
  Dims input = n.getDims(0), dims;
  if (hasRunTimeAxes(n)) {
    Value list = n.getRunTimeIntegers(1);
    int64_t rank = getUnsqueezedRank(n, typeOf(list).getNumElements());
    Value isNew = markAxes(n, checkAxes(n, list, rank, n.proto.input(1)), rank);
    dims = n.bindElements(fillUnmarked(n, n.emitList(input), isNew, 1), n.proto.output(0) + ".shape");
    return n.setOutput(0, n.reshape(n.getTensor(0), dims));
  }
  std::optional<SmallVector<int64_t>> listed = getAxesBefore13(n);
  if (!listed)
    throwInvalid("expects 'axes', got none");
  int64_t rank = getUnsqueezedRank(n, listed->size());
  SmallVector<int64_t> axes = n.normalizeAxes(*listed, rank, "axes");
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(llvm::is_contained(axes, i) ? n.dim(1) : input[next++]);
  reshapeOutput(n, dims);
}

Dims takeContents(ArrayRef<DimAttr> contents, ArrayRef<int64_t> shape, int64_t start, ArrayRef<int64_t> strides) {
  Dims taken;
  int64_t count = computeProduct(shape);
  SmallVector<int64_t> own = computeStrides(shape);
  for (int64_t i = 0; i < count; ++i)
    taken.push_back(contents[start + linearize(delinearize(i, own), strides)]);
  return taken;
}

static void importTranspose(NodeImporter &n) {
  RankedTensorType type = n.getTensorType(0);
  int64_t rank = type.getRank();
  SmallVector<int64_t> permutation(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  if (std::optional<SmallVector<int64_t>> listed = n.getInts("perm")) {
    permutation.clear();
    for (int64_t axis : *listed)
      permutation.push_back(n.normalizeAxis(axis, rank, "perm"));
    if (static_cast<int64_t>(n.normalizeAxes(*listed, rank, "perm").size()) != rank)
      throwInvalid("expects 'perm' with " + Twine(rank) + " entries, got " + Twine(listed->size()));
  }
  std::optional<Dims> contents = n.getContents(0);
  if (!contents || !type.hasStaticShape())
    return n.setOutput(0, n.transpose(n.getTensor(0), permutation));
  SmallVector<int64_t> shape, strides = computeStrides(type.getShape()), permuted;
  for (int64_t axis : permutation) {
    shape.push_back(type.getDimSize(axis));
    permuted.push_back(strides[axis]);
  }
  n.setContents(0, takeContents(*contents, shape, /*start=*/0, permuted), type.clone(shape));
}

static void importExpand(NodeImporter &n) {
  Dims shape = n.getIntegers(1), input = n.getDims(0);
  for (DimAttr dim : shape)
    if (dim.asConstant() && *dim.asConstant() < 0)
      throwInvalid("expects sizes of at least 0 in 'shape', got " + Twine(*dim.asConstant()));
  Dims result = n.broadcastShapes(input, shape);
  // Where the input is not repeated, no op compares it with the shape.
  for (auto [size, wanted] : llvm::zip(llvm::reverse(input), llvm::reverse(shape)))
    n.require(ConstraintKind::broadcast, size, wanted);
  n.setOutput(0, n.broadcast(n.getTensor(0), result));
}

static void importTile(NodeImporter &n) {
  Dims input = n.getDims(0), repeats = n.getIntegers(1, input.size());
  if (repeats.size() != input.size())
    throwInvalid("expects one entry of 'repeats' for each of the " + Twine(input.size()) + " dimensions, got " +
                 Twine(repeats.size()));
  // Each repeated dimension gets one of size `repeats` before it. Then both are merged.
  Dims spread, joined;
  SmallVector<int64_t> dimensions;
  for (auto [size, count] : llvm::zip(input, repeats)) {
    if (count.asConstant() != 1)
      spread.push_back(count);
    dimensions.push_back(spread.size());
    spread.push_back(size);
    joined.push_back(mulDims(size, count));
  }
  n.setOutput(0, n.reshape(n.broadcastInDim(n.getTensor(0), spread, dimensions), joined));
}

static void importConcat(NodeImporter &n) {
  int64_t rank = n.getTensorType(0).getRank();
  int64_t axis = n.getAxis("axis", n.version < 4 ? std::optional<int64_t>(1) : std::nullopt, rank);
  Dims contents;
  bool isKnown = rank == 1;
  for (unsigned i = 0; i < n.getNumInputs(); ++i) {
    RankedTensorType type = n.getTensorType(i);
    if (type.getRank() != rank || type.getElementType() != n.getTensorType(0).getElementType())
      throwInvalid("expects inputs of one rank and element type, got " + describe(n.getTensorType(0)) + " and " +
                   describe(type));
    std::optional<Dims> part = isKnown ? n.getContents(i) : std::nullopt;
    isKnown = part && contents.size() + part->size() <= maxContents;
    if (isKnown)
      contents.append(part->begin(), part->end());
  }
  if (isKnown)
    return n.setContents(0, contents,
                         RankedTensorType::get({int64_t(contents.size())}, n.getTensorType(0).getElementType()));
  SmallVector<Value> values;
  for (unsigned i = 0; i < n.getNumInputs(); ++i)
    values.push_back(n.getTensor(i));
  n.setOutput(0, values.size() == 1 ? values[0] : n.emit<ConcatOp>(ValueRange(values), axis));
}

static void importSplit(NodeImporter &n) {
  Value input = n.getTensor(0);
  Dims dims = vx::getDims(typeOf(input));
  int64_t axis = n.getAxis("axis", 0, dims.size()), count = n.proto.output_size();
  DimAttr size = dims[axis];
  Dims sizes;
  if (n.version >= 13 && n.hasInput(1)) {
    sizes = n.getIntegers(1, count);
  } else if (std::optional<SmallVector<int64_t>> listed = n.version < 13 ? n.getInts("split") : std::nullopt) {
    for (int64_t part : *listed)
      sizes.push_back(n.dim(part));
  } else {
    int64_t parts = n.version >= 18 ? n.getInt("num_outputs", count) : count;
    if (parts != count || count < 1)
      throwInvalid("expects 'num_outputs' to count the outputs: " + Twine(count) + ", got " + Twine(parts));
    // All parts have the same size but the last, which may be smaller.
    DimAttr part = ceilDivDims(size, n.dim(count)), rest = size;
    for (int64_t i = 0; i < count; ++i) {
      DimAttr taken = i + 1 == count ? rest : part;
      if (taken.asConstant() && *taken.asConstant() < 0)
        throwInvalid("expects dimension " + Twine(axis) + " to split into " + Twine(count) + " parts, got size " +
                     size.str());
      sizes.push_back(taken);
      rest = subDims(rest, part);
    }
  }
  if (static_cast<int64_t>(sizes.size()) != count)
    throwInvalid("expects one size for each of the " + Twine(count) + " outputs, got " + Twine(sizes.size()));
  DimAttr sum = n.dim(0);
  for (DimAttr part : sizes)
    sum = addDims(sum, part);
  if (!mayBeEqual(sum, size))
    throwInvalid("expects parts that make up dimension " + Twine(axis) + ": " + size.str() + ", got " + sum.str());
  n.require(ConstraintKind::equal, sum, size);
  Dims starts(dims.size(), n.dim(0));
  SmallVector<int64_t> strides(dims.size(), 1);
  for (int64_t i = 0; i < count; ++i) {
    dims[axis] = sizes[i];
    if (n.wantsOutput(i))
      n.setOutput(i, n.slice(input, starts, dims, strides));
    starts[axis] = addDims(starts[axis], sizes[i]);
  }
}

/// The size of the blocks that are moved between channels and space.
static int64_t getBlockSize(NodeImporter &n) {
  int64_t block = n.getInt("blocksize");
  if (block < 1 || block > INT32_MAX)
    throwInvalid("expects 'blocksize' from 1 to " + Twine(INT32_MAX) + ", got " + Twine(block));
  if (n.getTensorType(0).getRank() != 4)
    throwInvalid("expects an input of 4 dimensions, got " + describe(n.getTensorType(0)));
  return block;
}

/// The size as a multiple of `factor`, which the call is to keep to.
static DimAttr divideExactly(NodeImporter &n, DimAttr size, int64_t factor) {
  DimAttr quotient = floorDivDims(size, n.dim(factor)), product = mulDims(quotient, n.dim(factor));
  if (!mayBeEqual(product, size))
    throwInvalid("expects a size that 'blocksize' divides, got " + size.str() + " for parts of " + Twine(factor));
  n.require(ConstraintKind::equal, product, size);
  return quotient;
}

/// Whether channels are ordered by depth, column and row (DCR), and not by column, row and depth (CRD).
static bool isDepthFirst(NodeImporter &n) {
  std::string mode = n.getString("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    throwInvalid("expects 'mode' to be DCR or CRD, got '" + mode + "'");
  return mode == "DCR";
}

static void importDepthToSpace(NodeImporter &n) {
  int64_t size = getBlockSize(n);
  Dims dims = n.getDims(0);
  DimAttr block = n.dim(size), channels = divideExactly(n, dims[1], size * size);
  const bool isDepth = isDepthFirst(n);
  Dims split = isDepth ? Dims{dims[0], block, block, channels, dims[2], dims[3]}
                       : Dims{dims[0], channels, block, block, dims[2], dims[3]};
  SmallVector<int64_t> order =
      isDepth ? SmallVector<int64_t>{0, 3, 4, 1, 5, 2} : SmallVector<int64_t>{0, 1, 4, 2, 5, 3};
  Value moved = n.transpose(n.reshape(n.getTensor(0), split), order);
  n.setOutput(0, n.reshape(moved, {dims[0], channels, mulDims(dims[2], block), mulDims(dims[3], block)}));
}

static void importSpaceToDepth(NodeImporter &n) {
  int64_t size = getBlockSize(n);
  Dims dims = n.getDims(0);
  DimAttr block = n.dim(size), rows = divideExactly(n, dims[2], size), columns = divideExactly(n, dims[3], size);
  Value split = n.reshape(n.getTensor(0), {dims[0], dims[1], rows, block, columns, block});
  // Before version 28 the node has no 'mode', and the order is by depth.
  SmallVector<int64_t> order =
      isDepthFirst(n) ? SmallVector<int64_t>{0, 3, 5, 1, 2, 4} : SmallVector<int64_t>{0, 1, 3, 5, 2, 4};
  Value moved = n.transpose(split, order);
  n.setOutput(0, n.reshape(moved, {dims[0], mulDims(dims[1], n.dim(size * size)), rows, columns}));
}

static constexpr OpTableEntry shapesTable[] = {
    {"Concat", 1, newestOpset, importConcat},       {"DepthToSpace", 1, newestOpset, importDepthToSpace},
    {"Expand", 8, newestOpset, importExpand},       {"Flatten", 1, newestOpset, importFlatten},
    {"Reshape", 1, newestOpset, importReshape},     {"SpaceToDepth", 1, newestOpset, importSpaceToDepth},
    {"Split", 2, newestOpset, importSplit},         {"Squeeze", 1, newestOpset, importSqueeze},
    {"Tile", 6, newestOpset, importTile},           {"Transpose", 1, newestOpset, importTranspose},
    {"Unsqueeze", 1, newestOpset, importUnsqueeze},
};
const llvm::ArrayRef<OpTableEntry> shapesOps = shapesTable;

} // namespace vx::onnx

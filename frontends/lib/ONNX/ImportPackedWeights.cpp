// Weights of ONNX Runtime that are quantised in blocks, several to a byte: products with them, and rows of them.
#include "IntegerParts.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace vx::onnx {

//===-- Bytes ---------------------------------------------------------------------------------===//

/// The integers of `bits` bits that bytes hold along their last dimension, the first in the low bits, as bytes.
static Value unpackBytes(NodeImporter &n, Value bytes, int64_t bits) {
  if (bits == 8)
    return bytes;
  const int64_t count = 8 / bits;
  Dims dims = vx::getDims(typeOf(bytes)), single = dims;
  single.push_back(n.dim(1));
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; ++i) {
    Value shifted = i == 0 ? bytes : n.emit<DivOp>(bytes, n.splatLike(double(1 << (i * bits)), bytes));
    if (i < count - 1)
      shifted = n.emit<AndOp>(shifted, n.splatLike(double((1 << bits) - 1), bytes));
    parts.push_back(n.reshape(shifted, single));
  }
  dims.back() = mulDims(dims.back(), n.dim(count));
  return n.reshape(n.emit<ConcatOp>(ValueRange(parts), int64_t(dims.size())), dims);
}

/// The bytes of a constant as integers of `bits` bits, which have the same bytes; null where there are none.
static Value emitPackedConstant(NodeImporter &n, unsigned index, ArrayRef<int64_t> shape, int64_t bits) {
  Entry &entry = n.getEntry(index);
  auto type = RankedTensorType::get(shape, IntegerType::get(n.context, bits, IntegerType::Unsigned));
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(entry.constant)) {
    SmallVector<APInt> values;
    for (APInt byte : dense.getValues<APInt>())
      for (unsigned i = 0; i < 8; i += bits)
        values.push_back(byte.extractBits(bits, i));
    return n.emitConstant(DenseElementsAttr::get(type, values));
  }
  auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(entry.constant);
  const AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return {};
  return n.emitConstant(DenseResourceElementsAttr::get(
      type, entry.constantName, HeapAsmResourceBlob::allocateAndCopyWithAlign(blob->getData(), 1)));
}

static int64_t getBits(NodeImporter &n) {
  int64_t bits = n.getInt("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8)
    throwUnsupported(Advice::ReplaceOp, "expects 'bits' to be 2, 4 or 8, got " + Twine(bits));
  return bits;
}

static int64_t getBlockSize(NodeImporter &n, std::optional<int64_t> otherwise) {
  int64_t size = n.getInt("block_size", otherwise);
  if (size < 16 || size > maxElements / 8 || (size & (size - 1)) != 0)
    throwInvalid("expects 'block_size' to be a power of 2 and at least 16, got " + Twine(size));
  return size;
}

//===-- MatMulNBits ---------------------------------------------------------------------------===//

namespace {

class PackedMatMul {
public:
  explicit PackedMatMul(NodeImporter &n) : n(n) {}

  void import() {
    readShapes();
    Value a = n.getTensor(input), weights = emitWeights();
    Dims dims = vx::getDims(typeOf(a));
    if (dims.empty())
      throwInvalid("expects an input of 1 or more dimensions, got " + describe(a.getType()));
    if (!mayBeEqual(dims.back(), n.dim(inner)))
      throwInvalid("expects rows of 'K' = " + Twine(inner) + " elements, got " + describe(a.getType()));
    n.require(ConstraintKind::equal, dims.back(), n.dim(inner));
    Value result = n.emit<ContractOp>(a, n.cast(weights, elementOf(a)), ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                                      ArrayRef<int64_t>(dims.size() - 1), ArrayRef<int64_t>(1));
    if (n.hasInput(bias)) {
      n.requireShape(bias, {n.dim(outer)});
      result = n.emit<AddOp>(result, n.broadcast(n.getTensor(bias), vx::getDims(typeOf(result))));
    }
    n.setOutput(0, result);
  }

private:
  enum Input : unsigned { input, packed, scales, zeroPoints, groups, bias };

  void readShapes() {
    bits = getBits(n);
    blockSize = getBlockSize(n, std::nullopt);
    inner = n.getInt("K");
    outer = n.getInt("N");
    // With a block more in each row, the elements are no more than a tensor may have.
    for (auto [name, size, most] : {std::tuple("K", inner, maxElements / 8),
                                    {"N", outer, maxElements / (std::max<int64_t>(inner, 1) + blockSize)}})
      if (size < 1 || size > most)
        throwInvalid(Twine("expects '") + name + "' from 1 to " + Twine(most) + ", got " + Twine(size));
    if (int64_t layout = n.getInt("weight_prepacked", 0))
      throwUnsupported(Advice::ReplaceOp,
                       "expects 'weight_prepacked' to be 0, as others are layouts of one GPU, got " + Twine(layout));
    blocks = llvm::divideCeil(inner, blockSize);
    n.requireShape(packed, {n.dim(outer), n.dim(blocks), n.dim(blockSize * bits / 8)});
  }

  /// An input of [N, columns], which may be flat.
  Value takeTable(Input index, int64_t columns) {
    RankedTensorType type = n.getTensorType(index);
    if (type.getRank() == 1)
      n.requireShape(index, {n.dim(outer * columns)});
    else
      n.requireShape(index, {n.dim(outer), n.dim(columns)});
    return n.reshape(n.getTensor(index), {n.dim(outer), n.dim(columns)});
  }

  /// The zero point of each block in f32; null where all have the default one.
  Value takeZeroPoints() {
    if (!n.hasInput(zeroPoints))
      return {};
    Type f32 = n.builder.getF32Type();
    if (isa<FloatType>(n.getElementType(zeroPoints)))
      return n.cast(takeTable(zeroPoints, blocks), f32);
    Value all = unpackBytes(n, takeTable(zeroPoints, llvm::divideCeil(blocks * bits, 8)), bits);
    Value used = n.slice(all, {n.dim(0), n.dim(0)}, {n.dim(outer), n.dim(blocks)}, {1, 1});
    return n.cast(used, f32);
  }

  /// [N, K] of f32.
  Value emitWeights() {
    const int64_t whole = blocks * blockSize;
    Dims dims = {n.dim(outer), n.dim(whole)};
    Value integers;
    if (bits < 8)
      integers = emitPackedConstant(n, packed, {outer, whole}, bits);
    if (!integers)
      integers = n.reshape(unpackBytes(n, n.getTensor(packed), bits), dims);
    Type f32 = n.builder.getF32Type();
    Value number = n.cast(integers, f32), zero = takeZeroPoints();
    auto cutOff = [&](Value value) { return n.slice(value, {n.dim(0), n.dim(0)}, {dims[0], n.dim(inner)}, {1, 1}); };
    // With groups each column names its block.
    const bool hasGroups = n.hasInput(groups);
    if (hasGroups) {
      n.requireShape(groups, {n.dim(inner)});
      number = cutOff(number);
    }
    auto spread = [&](Value parameter) {
      if (hasGroups)
        return n.emit<GatherOp>(parameter, n.getTensor(groups), 1, IntegerAttr());
      return spreadBlocks(n, parameter, dims, 1, blockSize);
    };
    number = n.emit<SubOp>(number, zero ? spread(zero) : n.splatLike(double(1 << (bits - 1)), number));
    Value weights = n.emit<MulOp>(number, spread(n.cast(takeTable(scales, blocks), f32)));
    return hasGroups ? weights : cutOff(weights);
  }

  NodeImporter &n;
  int64_t bits = 4, blockSize = 0, blocks = 0, inner = 0, outer = 0;
};

} // namespace

static void importMatMulNBits(NodeImporter &n) { PackedMatMul(n).import(); }

//===-- GatherBlockQuantized ------------------------------------------------------------------===//

static void importGatherBlockQuantized(NodeImporter &n) {
  enum Input : unsigned { data, indices, scales, zeroPoints };
  Value table = n.getTensor(data), places = n.getTensor(indices), scale = n.getTensor(scales);
  Type element = elementOf(table);
  Dims dims = vx::getDims(typeOf(table)), ofScales = vx::getDims(typeOf(scale));
  const int64_t rank = dims.size(), more = typeOf(places).getRank() - 1;
  if (!isa<IntegerType>(element))
    throwUnsupported(Advice::ReplaceOp, "expects integers of 4 or 8 bits as input 0, got " + describe(table.getType()));
  const bool isPacked = element.isInteger(8);
  const int64_t bits = isPacked ? getBits(n) : 4, blockSize = getBlockSize(n, 128);
  int64_t axis = n.getAxis("gather_axis", 0, rank), blockAxis = n.getAxis("quantize_axis", 1, rank);
  if (isPacked && axis != 0)
    throwInvalid("expects 'gather_axis' to be 0 with bytes, got " + Twine(axis));
  if (isPacked && bits < 8)
    dims.back() = mulDims(dims.back(), n.dim(8 / bits));
  if (axis == blockAxis && isPacked)
    throwInvalid("expects 'gather_axis' and 'quantize_axis' to differ with bytes, got " + Twine(axis) + " for both");
  if (ofScales.size() != dims.size())
    throwInvalid("expects scales of " + Twine(rank) + " dimensions, got " + describe(scale.getType()));
  Dims expected = dims;
  expected[blockAxis] = ceilDivDims(dims[blockAxis], n.dim(blockSize));
  n.requireShape(scales, expected);
  Type f32 = n.builder.getF32Type();
  Value zero = n.hasInput(zeroPoints) ? n.getTensor(zeroPoints) : Value();
  if (zero && elementOf(zero) != element)
    throwInvalid("expects zero points of the elements' type: " + describe(element) + ", got " +
                 describe(zero.getType()));
  if (zero) {
    if (isPacked && bits < 8)
      expected.back() = ceilDivDims(expected.back(), n.dim(8 / bits));
    n.requireShape(zeroPoints, expected);
  }
  // A place counts from the end where it is negative. One outside reads zeros, the scale's among them.
  Value isBack = n.emit<CompareOp>(ComparePredicate::lt, places, n.splatLike(0, places));
  Value size = n.broadcastInDim(n.emitDim(dims[axis], elementOf(places)), vx::getDims(typeOf(places)), {});
  places = n.emit<SelectOp>(isBack, n.emit<AddOp>(places, size), places);
  auto gather = [&](Value from, Value at) {
    return n.emit<GatherOp>(from, at, axis, IntegerAttr(), /*in_range=*/true);
  };
  // Along the dimension of the blocks itself a place names its block, too.
  Value blocks = places;
  if (axis == blockAxis) {
    // Rounded down: -1 is no place of block 0.
    Value isInside = n.emit<CompareOp>(ComparePredicate::ge, places, n.splatLike(0, places));
    isInside = n.emit<AndOp>(isInside, n.emit<CompareOp>(ComparePredicate::lt, places, size));
    blocks = n.emit<SelectOp>(isInside, n.emit<DivOp>(places, n.splatLike(double(blockSize), places)),
                              n.splatLike(-1, places));
  }
  table = gather(table, places);
  scale = n.cast(gather(scale, blocks), f32);
  Value number = n.cast(isPacked ? unpackBytes(n, table, bits) : table, f32);
  Dims result = vx::getDims(typeOf(number));
  auto spread = [&](Value parameter) {
    return axis == blockAxis ? parameter
                             : spreadBlocks(n, parameter, result, blockAxis + (blockAxis > axis ? more : 0), blockSize);
  };
  if (zero) {
    zero = gather(zero, blocks);
    if (isPacked && bits < 8) {
      Dims used = vx::getDims(typeOf(scale)), starts(used.size(), n.dim(0));
      zero = n.slice(unpackBytes(n, zero, bits), starts, used, SmallVector<int64_t>(used.size(), 1));
    }
    number = n.emit<SubOp>(number, spread(n.cast(zero, f32)));
  } else if (isPacked) {
    number = n.emit<SubOp>(number, n.splatLike(double(1 << (bits - 1)), number));
  }
  n.setOutput(0, n.cast(n.emit<MulOp>(number, spread(scale)), n.getElementType(scales)));
}

static constexpr OpTableEntry packedWeightsTable[] = {
    {"GatherBlockQuantized", 1, newestMicrosoftOpset, importGatherBlockQuantized},
    {"MatMulNBits", 1, newestMicrosoftOpset, importMatMulNBits},
};
const llvm::ArrayRef<OpTableEntry> packedWeightsOps = packedWeightsTable;

} // namespace vx::onnx

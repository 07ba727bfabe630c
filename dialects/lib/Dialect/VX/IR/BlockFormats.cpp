#include "vx/Dialect/VX/IR/BlockFormats.h"

#include "vx/Dialect/VX/IR/GraphBuilder.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace vx {

//===-- Table -------------------------------------------------------------------------------------===//

namespace {

/// What the four bits of iq4_nl and of mxfp4 stand for.
constexpr int8_t kNonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t kTwiceFp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Two numbers to a byte, those of the low bits first.
BlockBits halves(int64_t offset, int64_t bytes, int64_t run) { return {offset, bytes, run, 4, 0, 2}; }

/// 12 bytes with 6 bits for each of 8 scales and 8 minimums. The first 4 of each are the low bits of bytes of their
/// own. Of the last 4 the low bits are halves of the last 4 bytes, and the high bits the high ones of those bytes.
BlockNumbers sixBits(int64_t own, int64_t shared, unsigned shift) {
  return {{{{own, 4, 4, 6}}, {{shared, 4, 4, 4, shift}, {own, 4, 4, 2, 6}}}};
}

std::vector<BlockLayout> makeLayouts() {
  const BlockNumbers sixScales = sixBits(4, 12, 0), sixMinimums = sixBits(8, 12, 4);
  using enum BlockScale;
  return {
      {BlockFormat::q4_0, 32, 18, {{{halves(2, 16, 16)}}, 8}, 4, false, Half, 0},
      {BlockFormat::q4_1, 32, 20, {{{halves(4, 16, 16)}}}, 4, true, Half, 0, {}, 2},
      {BlockFormat::q5_0, 32, 22, {{{halves(6, 16, 16), {2, 4, 1, 1, 0, 8}}}, 16}, 8, false, Half, 0},
      {BlockFormat::q5_1, 32, 24, {{{halves(8, 16, 16), {4, 4, 1, 1, 0, 8}}}}, 8, true, Half, 0, {}, 2},
      {BlockFormat::q8_0, 32, 34, {{{{2, 32, 32, 8}}}, 0, true}, 8, false, Half, 0},
      {BlockFormat::q2_k,
       256,
       84,
       {{{{16, 64, 32, 2, 0, 4}}}},
       4,
       true,
       Half,
       80,
       {{{{0, 16, 16, 4}}}},
       82,
       {{{{0, 16, 16, 4, 4}}}}},
      {BlockFormat::q3_k,
       256,
       110,
       {{{{32, 64, 32, 2, 0, 4}, {0, 32, 32, 1, 0, 8}}}, 4},
       4,
       false,
       Half,
       108,
       {{{{96, 8, 8, 4, 0, 2}, {104, 4, 4, 2, 0, 4}}}, 32}},
      {BlockFormat::q4_k, 256, 144, {{{halves(16, 128, 32)}}}, 4, true, Half, 0, sixScales, 2, sixMinimums},
      {BlockFormat::q5_k,
       256,
       176,
       {{{halves(48, 128, 32), {16, 32, 32, 1, 0, 8}}}},
       8,
       true,
       Half,
       0,
       sixScales,
       2,
       sixMinimums},
      {BlockFormat::q6_k,
       256,
       210,
       {{{halves(0, 128, 64), {128, 64, 32, 2, 0, 4}}}, 32},
       8,
       false,
       Half,
       208,
       {{{{192, 16, 16, 8}}}, 0, true}},
      {BlockFormat::iq4_nl, 32, 18, {{{halves(2, 16, 16)}}, 0, false, kNonlinear}, 8, false, Half, 0},
      {BlockFormat::mxfp4, 32, 17, {{{halves(1, 16, 16)}}, 0, false, kTwiceFp4}, 8, false, Exponent, 0},
  };
}

} // namespace

int64_t BlockNumbers::count() const {
  int64_t count = 0;
  for (const auto &fields : parts)
    count += fields.front().count();
  return count;
}

const BlockLayout &getBlockLayout(BlockFormat format) {
  static const std::vector<BlockLayout> layouts = makeLayouts();
  return layouts[static_cast<size_t>(format)];
}

//===-- One block ---------------------------------------------------------------------------------===//

static int64_t readBits(const BlockBits &field, ArrayRef<uint8_t> block, int64_t number) {
  const int64_t group = number / (field.perByte * field.run), inByte = number / field.run % field.perByte,
                place = number % field.run;
  const unsigned byte = block[field.offset + group * field.run + place];
  return byte >> (field.shift + inByte * field.bits) & ((1U << field.bits) - 1);
}

static int64_t readNumber(const BlockNumbers &numbers, ArrayRef<uint8_t> block, int64_t number) {
  for (const auto &fields : numbers.parts) {
    if (number >= fields.front().count()) {
      number -= fields.front().count();
      continue;
    }
    int64_t value = 0;
    unsigned shift = 0;
    for (const BlockBits &field : fields) {
      value |= readBits(field, block, number) << shift;
      shift += field.bits;
    }
    if (!numbers.meaning.empty())
      return numbers.meaning[value];
    return (numbers.isSigned ? static_cast<int8_t>(value) : value) - numbers.bias;
  }
  llvm_unreachable("a number of the block");
}

static float readHalf(ArrayRef<uint8_t> block, int64_t offset) {
  APFloat half(APFloat::IEEEhalf(), APInt(16, llvm::support::endian::read16le(&block[offset])));
  return half.convertToFloat();
}

void decodeBlock(const BlockLayout &layout, ArrayRef<uint8_t> block, MutableArrayRef<float> result) {
  float scale;
  if (layout.scaleKind == BlockScale::Half) {
    scale = readHalf(block, layout.scale);
  } else {
    const uint32_t exponent = block[layout.scale];
    scale = llvm::bit_cast<float>(exponent < 2 ? uint32_t(0x200000) << exponent : (exponent - 1) << 23);
  }
  const float minimum = layout.minimum ? readHalf(block, *layout.minimum) : 0;
  const int64_t parts = std::max<int64_t>(layout.scales.count(), 1), ofPart = layout.elements / parts;
  for (int64_t i = 0; i < layout.elements; ++i) {
    float own = scale, least = minimum;
    if (parts > 1)
      own *= static_cast<float>(readNumber(layout.scales, block, i / ofPart));
    if (layout.minimums.count())
      least *= static_cast<float>(readNumber(layout.minimums, block, i / ofPart));
    const float product = own * static_cast<float>(readNumber(layout.integers, block, i));
    result[i] = !layout.minimum ? product : layout.minimums.count() ? product - least : product + least;
  }
}

//===-- Graphs ------------------------------------------------------------------------------------===//

namespace {

/// The numbers of blocks as values of a graph. Results have the dimensions of the blocks, then one for their numbers.
class BlockGraph {
public:
  BlockGraph(GraphBuilder &g, Value bytes, const BlockLayout &layout) : g(g), layout(layout) {
    lead = getDims(g.typeOf(bytes));
    blocks = g.dim(g.typeOf(bytes).getShape().back() / layout.bytes);
    lead.back() = blocks;
    this->bytes = g.reshape(bytes, with({layout.bytes}));
  }

  /// [..., blocks * elements]
  Value decode() {
    Value scale = emitScale(), minimum = layout.minimum ? emitHalf(*layout.minimum) : Value();
    if (int64_t parts = layout.scales.count()) {
      scale = emitProduct(scale, emitNumbers(layout.scales, g.builder.getI8Type()), parts);
      if (layout.minimums.count())
        minimum = emitProduct(minimum, emitNumbers(layout.minimums, g.builder.getI8Type()), parts);
    }
    Type integer =
        IntegerType::get(g.context, layout.width, layout.isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
    Value number = g.cast(join(emitNumbers(layout.integers, integer)), g.builder.getF32Type());
    number = g.emit<MulOp>(number, spread(scale));
    if (minimum && layout.minimums.count())
      number = g.emit<SubOp>(number, spread(minimum));
    else if (minimum)
      number = g.emit<AddOp>(number, spread(minimum));
    return number;
  }

private:
  SmallVector<DimAttr> with(ArrayRef<int64_t> more) {
    SmallVector<DimAttr> dims = lead;
    for (int64_t size : more)
      dims.push_back(g.dim(size));
    return dims;
  }

  Value take(int64_t offset, int64_t count) {
    SmallVector<DimAttr> starts(lead.size(), g.dim(0));
    starts.push_back(g.dim(offset));
    return g.slice(bytes, starts, with({count}), SmallVector<int64_t>(starts.size(), 1));
  }

  /// Two bytes as an f16.
  Value emitHalf(int64_t offset) {
    Type integer = IntegerType::get(g.context, 16, IntegerType::Unsigned);
    Value low = g.cast(take(offset, 1), integer), high = g.cast(take(offset + 1, 1), integer);
    Value bits = g.emit<AddOp>(low, g.emit<MulOp>(high, g.splatLike(256, high)));
    Value half = g.emitAs<BitcastOp>(getTensorType(with({1}), g.builder.getF16Type()), bits);
    return g.cast(half, g.builder.getF32Type());
  }

  Value emitScale() {
    if (layout.scaleKind == BlockScale::Half)
      return emitHalf(layout.scale);
    Value exponent = g.cast(take(layout.scale, 1), g.builder.getI32Type());
    Value isSmall = g.emit<CompareOp>(ComparePredicate::lt, exponent, g.splatLike(2, exponent));
    Value small = g.emit<MulOp>(g.emit<AddOp>(exponent, g.splatLike(1, exponent)), g.splatLike(0x200000, exponent));
    Value other = g.emit<MulOp>(g.emit<SubOp>(exponent, g.splatLike(1, exponent)), g.splatLike(1 << 23, exponent));
    Value bits = g.emit<SelectOp>(isSmall, small, other);
    return g.emitAs<BitcastOp>(getTensorType(with({1}), g.builder.getF32Type()), bits);
  }

  Value emitBits(const BlockBits &field) {
    const int64_t runs = field.bytes / field.run;
    const double top = 1U << (8 - field.bits);
    Value value = take(field.offset, field.bytes);
    if (field.perByte > 1) {
      // Shifts to the left by as much as is above, which differs along a dimension, and then to the right.
      SmallVector<DimAttr> dims = with({runs, field.perByte, field.run});
      value = g.broadcast(g.reshape(value, with({runs, 1, field.run})), dims);
      SmallVector<APInt> factors;
      for (int64_t i = 0; i < field.perByte; ++i)
        factors.emplace_back(8, 1U << (8 - field.bits - field.shift - i * field.bits));
      auto type = RankedTensorType::get({field.perByte}, g.typeOf(value).getElementType());
      Value factor = g.emitConstant(DenseElementsAttr::get(type, factors));
      value = g.emit<MulOp>(value, g.broadcastInDim(factor, dims, static_cast<int64_t>(dims.size()) - 2));
      value = g.emit<DivOp>(value, g.splatLike(top, value));
    } else {
      if (field.shift > 0)
        value = g.emit<DivOp>(value, g.splatLike(1U << field.shift, value));
      if (field.shift + field.bits < 8)
        value = g.emit<AndOp>(value, g.splatLike((1U << field.bits) - 1, value));
    }
    return g.reshape(value, with({field.count()}));
  }

  Value emitNumbers(const BlockNumbers &numbers, Type type) {
    SmallVector<Value> parts;
    for (const auto &fields : numbers.parts) {
      Value part;
      unsigned shift = 0;
      for (const BlockBits &field : fields) {
        Value bits = emitBits(field);
        part = part ? g.emit<AddOp>(part, g.emit<MulOp>(bits, g.splatLike(1U << shift, bits))) : bits;
        shift += field.bits;
      }
      parts.push_back(part);
    }
    if (llvm::is_contained(parts, Value()))
      return {};
    Value value = parts.size() == 1 ? parts.front() : g.emit<ConcatOp>(ValueRange(parts), int64_t(lead.size()));
    if (!value)
      return {};
    Type byte = g.builder.getI8Type();
    if (!numbers.meaning.empty()) {
      auto tableType = RankedTensorType::get({static_cast<int64_t>(numbers.meaning.size())}, byte);
      Value table = g.emitConstant(DenseElementsAttr::get(tableType, numbers.meaning));
      value = g.emit<GatherOp>(table, g.cast(value, g.builder.getI32Type()), 0, IntegerAttr(), /*in_range=*/true);
    } else if (numbers.isSigned || numbers.bias) {
      value = g.emitAs<BitcastOp>(getTensorType(getDims(g.typeOf(value)), byte), value);
    }
    if (value && numbers.bias)
      value = g.emit<SubOp>(value, g.splatLike(double(numbers.bias), value));
    return value ? g.cast(value, type) : Value();
  }

  /// A number of each block, times one of each of its parts.
  Value emitProduct(Value ofBlock, Value ofParts, int64_t parts) {
    if (!ofBlock || !ofParts)
      return {};
    return g.emit<MulOp>(g.broadcast(ofBlock, with({parts})), g.cast(ofParts, g.builder.getF32Type()));
  }

  /// [..., blocks, n] -> [..., blocks * n]
  Value join(Value value) {
    if (!value)
      return {};
    SmallVector<DimAttr> dims = getDims(g.typeOf(value));
    const DimAttr last = dims.pop_back_val();
    dims.back() = dims.back() * last;
    return g.reshape(value, dims);
  }

  /// Repeats the numbers of parts of blocks to their elements.
  Value spread(Value value) {
    if (!value)
      return {};
    const int64_t ofPart = layout.elements / g.typeOf(value).getShape().back();
    Value joined = join(value);
    SmallVector<DimAttr> dims = getDims(g.typeOf(joined));
    SmallVector<int64_t> places = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(dims.size())));
    dims.push_back(g.dim(ofPart));
    return join(g.broadcastInDim(joined, dims, places));
  }

  GraphBuilder &g;
  const BlockLayout &layout;
  SmallVector<DimAttr> lead;
  DimAttr blocks;
  Value bytes;
};

} // namespace

LogicalResult DecodeBlocksOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  const BlockLayout &layout = getBlockLayout(adaptor.getFormat());
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  SmallVector<DimAttr> dims = getDims(input);
  if (dims.empty() || input.isDynamicDim(input.getRank() - 1) || input.getShape().back() % layout.bytes != 0) // C1
    return emitOptionalError(location, "'vx.decode_blocks' op expects a last dimension of blocks of ", layout.bytes,
                             " bytes, got ", input);
  dims.back() = DimAttr::constant(context, input.getShape().back() / layout.bytes * layout.elements);
  types.push_back(getTensorType(dims, Float32Type::get(context)));
  return success();
}

SmallVector<Value> DecodeBlocksOp::decompose(GraphBuilder &g) {
  return {BlockGraph(g, getInput(), getBlockLayout(getFormat())).decode()};
}

} // namespace vx

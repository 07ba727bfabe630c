// Attention, and the turning of its queries and keys by their places.
#include "OpFunctions.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace vx::onnx {

/// `size` parted into `count` equal heads.
static DimAttr getHeadSize(NodeImporter &n, DimAttr size, int64_t count, StringRef attribute) {
  if (count < 1)
    throwInvalid("expects '" + attribute + "' to be at least 1, got " + Twine(count));
  std::optional<int64_t> known = size.asConstant();
  if (known && *known % count != 0)
    throwInvalid("expects sizes that '" + attribute + "' = " + Twine(count) + " divides, got " + Twine(*known));
  n.require(ConstraintKind::multiple, size, n.dim(count));
  return DimAttr::floorDiv(size, n.dim(count));
}

//===-- Attention -----------------------------------------------------------------------------===//

namespace {
/// A query, key or value of rank 4, and which of its dimensions are batch, heads, length and depth.
struct Heads {
  Value value;
  SmallVector<int64_t> dims = {0, 1, 2, 3};

  DimAttr size(int64_t role) const { return getDim(typeOf(value), dims[role]); }
  /// As [batch, heads, length, depth].
  void order(NodeImporter &n) {
    value = n.transpose(value, dims);
    dims = {0, 1, 2, 3};
  }
};

/// What is added to the scores, and where they count; both of rank 4 or null.
struct Masks {
  Value bias, takesPart;
};

struct AttentionInput {
  enum : unsigned { query, key, value, mask, pastKey, pastValue, paddedLengths };
};
struct AttentionOutput {
  enum : unsigned { result, presentKey, presentValue, products };
};
} // namespace

static Heads readHeads(NodeImporter &n, unsigned input, StringRef attribute) {
  Value tensor = n.getTensor(input);
  Dims dims = vx::getDims(typeOf(tensor));
  bool hasCount = n.hasAttribute(attribute);
  int64_t count = n.getInt(attribute, 0);
  if (dims.size() == 4) {
    if (hasCount && !mayBeEqual(dims[1], n.dim(count)))
      throwInvalid("expects '" + attribute + "' to be the heads of input " + Twine(input) + ": want " + dims[1].str() +
                   ", got " + Twine(count));
    if (hasCount)
      n.require(ConstraintKind::equal, dims[1], n.dim(count));
    return {tensor};
  }
  if (!hasCount)
    throwInvalid("expects '" + attribute + "' with inputs of 3 dimensions, got none");
  DimAttr depth = getHeadSize(n, dims[2], count, attribute);
  return {n.reshape(tensor, {dims[0], dims[1], n.dim(count), depth}), {0, 2, 1, 3}};
}

static void checkAttentionTypes(NodeImporter &n) {
  RankedTensorType type = n.getTensorType(AttentionInput::query);
  if ((type.getRank() != 3 && type.getRank() != 4) || !isa<FloatType>(type.getElementType()))
    throwInvalid("expects floats of 3 or 4 dimensions as input 0, got " + describe(type));
  for (unsigned input : {AttentionInput::key, AttentionInput::value})
    if (n.getTensorType(input).getRank() != type.getRank())
      throwInvalid("expects inputs 0 and " + Twine(input) + " of one rank, got " + describe(type) + " and " +
                   describe(n.getTensorType(input)));
  auto checkElements = [&](unsigned lhs, unsigned rhs) {
    if (n.getTensorType(lhs).getElementType() != n.getTensorType(rhs).getElementType())
      throwInvalid("expects inputs " + Twine(lhs) + " and " + Twine(rhs) + " of one element type, got " +
                   describe(n.getTensorType(lhs)) + " and " + describe(n.getTensorType(rhs)));
  };
  checkElements(AttentionInput::query, AttentionInput::key);
  if (!isa<FloatType>(n.getTensorType(AttentionInput::value).getElementType()))
    throwInvalid("expects floats as input 2, got " + describe(n.getTensorType(AttentionInput::value)));
  if (n.hasInput(AttentionInput::pastKey) != n.hasInput(AttentionInput::pastValue))
    throwInvalid("expects 'past_key' and 'past_value' together, got only input " +
                 Twine(n.hasInput(AttentionInput::pastKey) ? AttentionInput::pastKey : AttentionInput::pastValue));
  if (!n.hasInput(AttentionInput::pastKey))
    return;
  if (n.hasInput(AttentionInput::paddedLengths))
    throwInvalid("expects 'nonpad_kv_seqlen' without 'past_key' and 'past_value', got all of them");
  checkElements(AttentionInput::key, AttentionInput::pastKey);
  checkElements(AttentionInput::value, AttentionInput::pastValue);
  for (unsigned input : {AttentionInput::pastKey, AttentionInput::pastValue})
    if (n.getTensorType(input).getRank() != 4)
      throwInvalid("expects 4 dimensions as input " + Twine(input) + ", got " + describe(n.getTensorType(input)));
}

/// The width of the softmax, which no computation is narrower than.
static FloatType getSoftmaxType(NodeImporter &n, FloatType least) {
  if (!n.hasAttribute("softmax_precision"))
    return least;
  int64_t precision = n.getInt("softmax_precision");
  switch (precision) {
  case TensorProto::DOUBLE:
    return n.builder.getF64Type();
  case TensorProto::FLOAT:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return least;
  default:
    throwInvalid("expects 'softmax_precision' to be a type of floats (1, 10, 11 or 16), got " + Twine(precision));
  }
}

/// `sizes` are those of the scores: batch, heads, length, key length.
static Masks readMasks(NodeImporter &n, ArrayRef<DimAttr> sizes, FloatType computed) {
  Masks masks;
  if (n.hasInput(AttentionInput::mask)) {
    Value mask = n.getTensor(AttentionInput::mask);
    RankedTensorType type = typeOf(mask);
    bool isBool = type.getElementType().isInteger(1);
    if (type.getRank() > 4 ||
        (!isBool && type.getElementType() != n.getTensorType(AttentionInput::query).getElementType()))
      throwInvalid("expects 'attn_mask' of at most 4 dimensions and of bools or the elements of " +
                   describe(n.getTensorType(AttentionInput::query)) + ", got " + describe(type));
    if (!isBool)
      mask = n.cast(mask, computed);
    Dims dims = vx::getDims(type);
    // From version 24 on keys behind the mask's end take no part.
    if (n.version >= 24 && !dims.empty() && dims.back() != sizes.back()) {
      n.require(ConstraintKind::at_least, sizes.back(), dims.back());
      Dims low(dims.size(), n.dim(0)), high = low;
      high.back() = sizes.back() - dims.back();
      Value out = n.emitScalar(isBool ? 0.0 : -std::numeric_limits<double>::infinity(), elementOf(mask));
      mask = n.emit<PadOp>(mask, out, n.toArray(low), n.toArray(high));
      dims.back() = sizes.back();
    }
    dims.insert(dims.begin(), 4 - dims.size(), n.dim(1));
    Dims repeated = dims;
    for (auto [dim, size] : llvm::zip(repeated, sizes))
      if (dim.asConstant() != 1)
        dim = size;
    mask = n.broadcast(n.reshape(mask, dims), repeated);
    (isBool ? masks.takesPart : masks.bias) = mask;
  }
  if (n.hasInput(AttentionInput::paddedLengths)) {
    RankedTensorType type = n.getTensorType(AttentionInput::paddedLengths);
    if (type.getRank() != 1 || !type.getElementType().isSignlessInteger(64) ||
        !mayBeEqual(vx::getDims(type)[0], sizes[0]))
      throwInvalid("expects 'nonpad_kv_seqlen' with one i64 for each of " + sizes[0].str() + " in the batch, got " +
                   describe(type));
    n.require(ConstraintKind::equal, vx::getDims(type)[0], sizes[0]);
    Dims dims = {sizes[0], n.dim(1), n.dim(1), sizes[3]};
    Value places = n.emitAs<IotaOp>(makeTensorType(dims, n.builder.getI64Type()), 3);
    Value lengths = n.broadcastInDim(n.getTensor(AttentionInput::paddedLengths), dims, 0);
    Value isReal = n.emit<CompareOp>(ComparePredicate::lt, places, lengths);
    if (masks.takesPart) {
      Value both[] = {masks.takesPart, isReal};
      n.broadcastTogether(both);
      isReal = n.emit<AndOp>(both[0], both[1]);
    }
    masks.takesPart = isReal;
  }
  return masks;
}

/// 1 / sqrt of a depth that only the call knows, in `type`.
static Value emitDefaultScale(NodeImporter &n, DimAttr depth, FloatType type) {
  Value root = n.emit<SqrtOp>(n.emitDim(depth, type));
  return n.emit<DivOp>(n.splatLike(1, root), root);
}

static Value scaleBy(NodeImporter &n, Value value, Value scale) {
  return n.emit<MulOp>(value, n.broadcastInDim(scale, vx::getDims(typeOf(value)), {}));
}

/// lhs x rhs for each head, where a head of `rhs` serves one or more of `lhs`: [batch, heads, rows, columns].
static Value contractHeads(NodeImporter &n, Value lhs, Value rhs, int64_t rhsSummed) {
  Dims left = vx::getDims(typeOf(lhs)), right = vx::getDims(typeOf(rhs)), result = left;
  result[3] = right[rhsSummed == 3 ? 2 : 3];
  bool isGrouped = left[1] != right[1];
  if (isGrouped) {
    n.require(ConstraintKind::multiple, left[1], right[1]);
    Dims grouped = left;
    grouped[1] = right[1];
    grouped.insert(grouped.begin() + 2, DimAttr::floorDiv(left[1], right[1]));
    lhs = n.reshape(lhs, grouped);
  }
  int64_t batch[] = {0, 1}, lhsSummed = isGrouped ? 4 : 3;
  return n.reshape(
      n.emit<ContractOp>(lhs, rhs, ArrayRef(batch), ArrayRef(batch), ArrayRef(lhsSummed), ArrayRef(rhsSummed)), result);
}

/// Attention step by step, where the steps between are wanted too or the softmax is wider than the rest. All are
/// [batch, heads, length, depth].
static Value computeSteps(NodeImporter &n, Value q, Value k, Value v, const Masks &masks,
                          llvm::function_ref<Value(Value)> scale, float softcap, bool isCausal, DimAttr past,
                          FloatType softmaxType) {
  auto resultType = cast<FloatType>(n.getTensorType(AttentionInput::query).getElementType());
  int64_t mode = n.getInt("qk_matmul_output_mode", 0);
  auto offer = [&](int64_t step, Value scores) {
    if (mode == step && n.wantsOutput(AttentionOutput::products))
      n.setOutput(AttentionOutput::products, n.cast(scores, resultType));
  };
  Value scores = scale(contractHeads(n, q, k, 3));
  Dims sizes = vx::getDims(typeOf(scores));
  offer(0, scores);
  if (softcap != 0) {
    Value cap = n.splatLike(softcap, scores);
    scores = n.emit<MulOp>(n.emit<TanhOp>(n.emit<DivOp>(scores, cap)), cap);
  }
  offer(1, scores);
  if (masks.bias)
    scores = n.emit<AddOp>(scores, n.broadcast(masks.bias, sizes));
  auto hide = [&](Value takesPart) {
    scores = n.emit<SelectOp>(n.broadcast(takesPart, sizes), scores,
                              n.splatLike(-std::numeric_limits<double>::infinity(), scores));
  };
  if (masks.takesPart)
    hide(masks.takesPart);
  if (isCausal) {
    RankedTensorType type = makeTensorType({sizes[2], sizes[3]}, n.builder.getI64Type());
    Value place = n.emitAs<IotaOp>(type, 0), first = n.emitDim(past, n.builder.getI64Type());
    place = n.emit<AddOp>(place, n.broadcastInDim(first, vx::getDims(type), {}));
    hide(n.emit<CompareOp>(ComparePredicate::le, n.emitAs<IotaOp>(type, 1), place));
  }
  offer(2, scores);
  Value weights = n.emit<SoftmaxOp>(n.cast(scores, softmaxType), 3, /*log=*/false);
  offer(3, weights);
  return contractHeads(n, n.cast(weights, elementOf(v)), v, 2);
}

static void importAttention(NodeImporter &n) {
  checkAttentionTypes(n);
  Heads q = readHeads(n, AttentionInput::query, "q_num_heads"), k = readHeads(n, AttentionInput::key, "kv_num_heads"),
        v = readHeads(n, AttentionInput::value, "kv_num_heads");
  float softcap = n.getFloat("softcap", 0.0f);
  if (!(softcap >= 0) || !std::isfinite(softcap))
    throwInvalid("expects 'softcap' to be at least 0 and finite, got " + std::to_string(softcap));
  int64_t mode = n.getInt("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    throwInvalid("expects 'qk_matmul_output_mode' from 0 to 3, got " + Twine(mode));
  if (n.hasAttribute("scale") && !std::isfinite(n.getFloat("scale")))
    throwInvalid("expects 'scale' to be finite, got " + std::to_string(n.getFloat("scale")));
  bool isCausal = n.getFlag("is_causal", false);

  // The cache is a tensor of [batch, heads, length, depth]; what is new comes behind what it holds.
  DimAttr past = n.dim(0);
  auto extend = [&](Heads &heads, unsigned pastInput, unsigned output) {
    if (!n.hasInput(pastInput) && !n.wantsOutput(output))
      return;
    heads.order(n);
    if (n.hasInput(pastInput))
      heads.value = n.emit<ConcatOp>(ValueRange{n.getTensor(pastInput), heads.value}, 2);
    n.setOutput(output, heads.value);
  };
  if (n.hasInput(AttentionInput::pastKey))
    past = n.getDims(AttentionInput::pastKey)[2];
  extend(k, AttentionInput::pastKey, AttentionOutput::presentKey);
  extend(v, AttentionInput::pastValue, AttentionOutput::presentValue);

  auto resultType = cast<FloatType>(n.getTensorType(AttentionInput::query).getElementType());
  auto valueType = cast<FloatType>(elementOf(v.value));
  FloatType wide = resultType.isF64() || valueType.isF64() ? FloatType(n.builder.getF64Type()) : n.builder.getF32Type();
  FloatType softmaxType = getSoftmaxType(n, wide);
  bool isStepwise = n.wantsOutput(AttentionOutput::products) || softmaxType != wide;
  // vx.attention takes operands of one type and widens them itself.
  FloatType computed = isStepwise || valueType != resultType ? wide : resultType;
  for (Heads *heads : {&q, &k, &v})
    heads->value = n.cast(heads->value, computed);
  enum Role { batch, heads, length, depth };
  Masks masks = readMasks(n, {q.size(batch), q.size(heads), q.size(length), k.size(length)}, computed);

  DimAttr queryDepth = q.size(depth).asConstant() ? q.size(depth) : k.size(depth);
  std::optional<double> scale;
  if (n.hasAttribute("scale"))
    scale = n.getFloat("scale");
  else if (std::optional<int64_t> known = queryDepth.asConstant())
    scale = *known == 0 ? 1 : 1 / std::sqrt(double(*known));
  bool isFlat = n.getTensorType(AttentionInput::query).getRank() == 3;
  Value result;
  if (isStepwise) {
    for (Heads *part : {&q, &k, &v})
      part->order(n);
    auto scaled = [&](Value scores) {
      return scale ? n.emit<MulOp>(scores, n.splatLike(*scale, scores))
                   : scaleBy(n, scores, emitDefaultScale(n, queryDepth, wide));
    };
    result = computeSteps(n, q.value, k.value, v.value, masks, scaled, softcap, isCausal, past, softmaxType);
    if (isFlat)
      result = n.transpose(result, {0, 2, 1, 3});
  } else {
    if (!scale) // the op has a number; the query is scaled in the width of the scores and rounded once
      q.value = n.cast(scaleBy(n, n.cast(q.value, wide), emitDefaultScale(n, queryDepth, wide)), computed);
    Dims dims(4);
    for (Role role : {batch, heads, length, depth})
      dims[q.dims[role]] = (role == depth ? v : q).size(role);
    Builder &b = n.builder;
    result = n.emitAs<AttentionOp>(
        makeTensorType(dims, computed), Type(), q.value, k.value, v.value, masks.takesPart, masks.bias,
        b.getF64FloatAttr(scale.value_or(1)), softcap != 0 ? b.getF64FloatAttr(softcap) : FloatAttr(),
        isCausal ? b.getUnitAttr() : UnitAttr(), IntegerAttr(), isCausal && past.asConstant() != 0 ? past : DimAttr(),
        UnitAttr(), b.getDenseI64ArrayAttr(q.dims), b.getDenseI64ArrayAttr(k.dims), b.getDenseI64ArrayAttr(v.dims),
        b.getDenseI64ArrayAttr(q.dims));
  }
  result = n.cast(result, resultType);
  if (isFlat) {
    Dims dims = vx::getDims(typeOf(result));
    result = n.reshape(result, {dims[0], dims[1], dims[2] * dims[3]});
  }
  n.setOutput(AttentionOutput::result, result);
}

//===-- RotaryEmbedding -----------------------------------------------------------------------===//

/// Cosines or sines repeated to `dims`, those of the turned pairs: [batch, length, pairs] but for the heads.
static Value readTurns(NodeImporter &n, unsigned input, ArrayRef<DimAttr> dims, int64_t lengthDim, DimAttr pairs) {
  RankedTensorType type = n.getTensorType(input);
  bool hasPlaces = n.hasInput(3);
  if (type.getRank() != (hasPlaces ? 2 : 3) || elementOf(n.getTensor(input)) != n.getTensorType(0).getElementType())
    throwInvalid("expects the elements of " + describe(n.getTensorType(0)) + " in " + (hasPlaces ? "2" : "3") +
                 " dimensions " + (hasPlaces ? "with" : "without") + " 'position_ids' as input " + Twine(input) +
                 ", got " + describe(type));
  DimAttr columns = vx::getDims(type).back();
  if (!mayBeEqual(columns, pairs))
    throwInvalid("expects a column for each of " + pairs.str() + " turned pairs in input " + Twine(input) + ", got " +
                 describe(type));
  n.require(ConstraintKind::equal, columns, pairs); // one would be repeated
  Value turns = n.getTensor(input);
  if (hasPlaces) {
    RankedTensorType places = n.getTensorType(3);
    if (places.getRank() != 2 || !places.getElementType().isSignlessInteger(64))
      throwInvalid("expects 'position_ids' of i64 in 2 dimensions, got " + describe(places));
    turns = n.emit<GatherOp>(turns, n.getTensor(3), 0, IntegerAttr());
  }
  return n.broadcastInDim(n.widen(turns), dims, {0, lengthDim, 3});
}

static void importRotaryEmbedding(NodeImporter &n) {
  Value input = n.getTensor(0);
  RankedTensorType type = typeOf(input);
  if ((type.getRank() != 3 && type.getRank() != 4) || !isa<FloatType>(type.getElementType()))
    throwInvalid("expects floats of 3 or 4 dimensions as input 0, got " + describe(type));
  Dims whole = vx::getDims(type), dims = whole;
  int64_t lengthDim = 2;
  if (dims.size() == 3) {
    int64_t count = n.getInt("num_heads", 0);
    dims = {whole[0], whole[1], n.dim(count), getHeadSize(n, whole[2], count, "num_heads")};
    lengthDim = 1;
  }
  DimAttr depth = dims[3], pairs;
  int64_t turned = n.getInt("rotary_embedding_dim", 0);
  std::optional<int64_t> known = depth.asConstant();
  if (turned != 0) {
    if (turned < 0 || turned % 2 != 0 || (known && turned > *known))
      throwInvalid("expects 'rotary_embedding_dim' to be even and from 0 to " + depth.str() + ", got " + Twine(turned));
    n.require(ConstraintKind::at_least, depth, n.dim(turned));
    pairs = n.dim(turned / 2);
  } else if (known) {
    if (*known % 2 != 0)
      throwInvalid("expects heads of an even size, got " + Twine(*known));
    pairs = n.dim(*known / 2);
  } else {
    Dims columns = n.getDims(1);
    if (columns.empty())
      throwInvalid("expects 2 or 3 dimensions as input 1, got " + describe(n.getTensorType(1)));
    pairs = columns.back();
    n.require(ConstraintKind::equal, depth, pairs * 2);
  }
  Dims half = dims;
  half[3] = pairs;
  Value cosines = readTurns(n, 1, half, lengthDim, pairs), sines = readTurns(n, 2, half, lengthDim, pairs);

  input = n.reshape(input, dims);
  Dims starts(4, n.dim(0));
  bool isInterleaved = n.getFlag("interleaved", false);
  auto take = [&](DimAttr start, DimAttr size, int64_t stride) {
    Dims from = starts, sizes = dims;
    from[3] = start;
    sizes[3] = size;
    return n.slice(input, from, sizes, {1, 1, 1, stride});
  };
  Value real = n.widen(take(n.dim(0), pairs, isInterleaved ? 2 : 1));
  Value imaginary = n.widen(take(isInterleaved ? n.dim(1) : pairs, pairs, isInterleaved ? 2 : 1));
  Value turnedReal = n.emit<SubOp>(n.emit<MulOp>(cosines, real), n.emit<MulOp>(sines, imaginary));
  Value turnedImaginary = n.emit<AddOp>(n.emit<MulOp>(sines, real), n.emit<MulOp>(cosines, imaginary));
  SmallVector<Value> parts = {n.cast(turnedReal, type.getElementType()),
                              n.cast(turnedImaginary, type.getElementType())};
  if (isInterleaved) {
    Dims single = half, joined = half;
    single.push_back(n.dim(1));
    joined[3] = pairs * 2;
    for (Value &part : parts)
      part = n.reshape(part, single);
    parts = {n.reshape(n.emit<ConcatOp>(ValueRange(parts), 4), joined)};
  }
  DimAttr rest = depth - pairs * 2;
  if (turned != 0 && rest.asConstant() != 0)
    parts.push_back(take(pairs * 2, rest, 1));
  Value result = parts.size() == 1 ? parts.front() : n.emit<ConcatOp>(ValueRange(parts), 3);
  n.setOutput(0, n.reshape(result, whole));
}

static constexpr OpTableEntry attentionTable[] = {
    {"Attention", 23, newestOpset, importAttention,
     "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision"},
    {"RotaryEmbedding", 23, newestOpset, importRotaryEmbedding, "interleaved num_heads rotary_embedding_dim"},
};
const llvm::ArrayRef<OpTableEntry> attentionOps = attentionTable;

} // namespace vx::onnx

// ONNX Runtime's attention ops and rotary embedding: with projections, biases of these, masks of several forms, and
// caches.
#include "AttentionParts.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx::onnx {

//===-- Masks ---------------------------------------------------------------------------------===//

/// Returns the values that the mask at `index` adds to scores of `sizes`, [batch, heads, length, key length]: 0, or
/// 'mask_filter_value' if it hides a key. A mask of one dimension has the end of each row's keys, and after these their
/// begin.
static Value takeMask(NodeImporter &n, unsigned index, ArrayRef<DimAttr> sizes, Type element) {
  RankedTensorType type = n.getTensorType(index);
  Dims dims = vx::getDims(type);
  Value mask = n.getTensor(index), counts;
  DimAttr batch = sizes[0], keys = sizes[3], one = n.dim(1);
  if (type.getRank() == 1) {
    const bool hasStarts = dims[0] != batch && areEqual(dims[0], batch * 2).value_or(false);
    if (!hasStarts && !mayBeEqual(dims[0], batch))
      throwUnsupported(Advice::ReplaceOp, "expects a mask with an end for each of " + batch.str() +
                                              " in the batch, or an end and a start, got " + describe(type));
    if (!hasStarts)
      n.require(ConstraintKind::equal, dims[0], batch);
    Dims columns = {batch, keys};
    Value places = n.emitAs<IotaOp>(makeTensorType(columns, type.getElementType()), 1);
    auto bounds = [&](DimAttr from) { return n.broadcastInDim(n.slice(mask, from, batch, 1), columns, 0); };
    counts = n.emit<CompareOp>(ComparePredicate::lt, places, bounds(n.dim(0)));
    if (hasStarts)
      counts = n.emit<AndOp>(counts, n.emit<CompareOp>(ComparePredicate::ge, places, bounds(batch)));
  } else if (type.getRank() == 2 || type.getRank() == 3) {
    n.requireShape(index, type.getRank() == 2 ? Dims{batch, keys} : Dims{batch, sizes[2], keys});
    counts = n.emit<CompareOp>(ComparePredicate::gt, mask, n.splatLike(0, mask));
  } else {
    throwUnsupported(Advice::ReplaceOp, "expects a mask of 1 to 3 dimensions, got " + describe(type));
  }
  counts = n.reshape(counts, {batch, one, type.getRank() == 3 ? sizes[2] : one, keys});
  RankedTensorType added = makeTensorType(vx::getDims(typeOf(counts)), element);
  return n.emit<SelectOp>(counts, n.splat(0, added), n.splat(n.getFloat("mask_filter_value", -10000.0f), added));
}

/// The sum of the mask and of the bias of the scores at these inputs, of which each may be missing.
static Masks takeAddedMasks(NodeImporter &n, unsigned mask, unsigned bias, ArrayRef<DimAttr> sizes, Type element) {
  Masks masks;
  if (n.hasInput(mask))
    masks.bias = takeMask(n, mask, sizes, element);
  if (!n.hasInput(bias))
    return masks;
  RankedTensorType type = n.getTensorType(bias);
  Dims dims = vx::getDims(type);
  if (dims.size() != 4)
    throwInvalid("expects a bias of the scores of 4 dimensions, got " + describe(type));
  for (auto [d, size] : llvm::enumerate(sizes))
    if (!mayBeEqual(dims[d], size) && (d >= 2 || dims[d].asConstant() != 1))
      throwInvalid("expects a bias of the scores for " + size.str() + " places of dimension " + Twine(d) + ", got " +
                   describe(type));
  for (unsigned d : {2, 3}) // one place would be repeated
    n.require(ConstraintKind::equal, dims[d], sizes[d]);
  Value added = repeatMask(n, n.getTensor(bias), sizes);
  if (masks.bias) {
    Value both[] = {masks.bias, added};
    n.broadcastTogether(both);
    added = n.emit<AddOp>(both[0], both[1]);
  }
  masks.bias = added;
  return masks;
}

//===-- Attention of heads --------------------------------------------------------------------===//

enum HeadRole { batchRole, headsRole, lengthRole, depthRole };

/// Sets output 0 to the result of attention, with the heads merged. With `scoresOutput` the scores are an output too.
static void setAttention(NodeImporter &n, Heads q, Heads k, Heads v, unsigned mask, unsigned bias, DimAttr past,
                         std::optional<unsigned> scoresOutput) {
  Type element = elementOf(q.value);
  ScoreRules rules;
  rules.past = past;
  rules.isCausal = n.getFlag("unidirectional", false);
  if (rules.isCausal) {
    // ONNX Runtime lets the last place of the query see all keys, so that others are in the middle of nowhere.
    DimAttr newKeys = subDims(k.size(lengthRole), past);
    if (!mayBeEqual(newKeys, q.size(lengthRole)))
      throwUnsupported(Advice::ReplaceOp,
                       "expects as many new keys as places of the query with 'unidirectional', got " + newKeys.str() +
                           " and " + q.size(lengthRole).str());
    n.require(ConstraintKind::equal, newKeys, q.size(lengthRole));
  }
  Dims sizes = {q.size(batchRole), q.size(headsRole), q.size(lengthRole), k.size(lengthRole)};
  Masks masks = takeAddedMasks(n, mask, bias, sizes, element);
  DimAttr depth = q.size(depthRole).asConstant() ? q.size(depthRole) : k.size(depthRole);
  rules.scale = takeScale(n, q, depth);
  Value result;
  if (scoresOutput && n.wantsOutput(*scoresOutput)) {
    for (Heads *part : {&q, &k, &v}) {
      part->order(n);
      part->value = n.widen(part->value);
    }
    if (masks.bias)
      masks.bias = n.widen(masks.bias);
    AttentionSteps steps = emitAttentionSteps(n, q.value, k.value, v.value, masks, rules);
    n.setOutput(*scoresOutput, n.cast(steps.scores, element));
    result = n.cast(n.transpose(steps.result, {0, 2, 1, 3}), element);
  } else {
    result = emitAttention(n, q, k, v, masks, rules);
  }
  n.setOutput(0, joinHeads(n, result));
}

static int64_t getHeadCount(NodeImporter &n) {
  int64_t count = n.getInt("num_heads");
  if (count < 1 || count > maxElements)
    throwInvalid("expects 'num_heads' to be at least 1, got " + Twine(count));
  return count;
}

/// Input `index` of 3 dimensions, plus a part of the bias of all projections.
static Value addProjectionBias(NodeImporter &n, Value flat, unsigned bias, DimAttr start) {
  if (!n.hasInput(bias))
    return flat;
  Dims dims = vx::getDims(typeOf(flat));
  Value part = n.slice(n.getTensor(bias), start, dims[2], 1);
  return n.emit<AddOp>(flat, n.broadcast(part, dims));
}

namespace {
struct MultiHeadInput {
  enum : unsigned { query, key, value, bias, mask, scoreBias, pastKey, pastValue, pastLength, beams };
};
} // namespace

/// Part `index` of a query or key of 5 dimensions that holds several: [batch, length, heads, parts, depth].
static Heads takePackedHeads(NodeImporter &n, Value packed, int64_t index) {
  Dims dims = vx::getDims(typeOf(packed)), starts(5, n.dim(0)), sizes = dims;
  starts[3] = n.dim(index);
  sizes[3] = n.dim(1);
  Value part = n.slice(packed, starts, sizes, {1, 1, 1, 1, 1});
  return {n.reshape(part, {dims[0], dims[1], dims[2], dims[4]}), {0, 2, 1, 3}};
}

static Value takePacked(NodeImporter &n, unsigned index, int64_t heads, int64_t parts) {
  Dims dims = n.getDims(index);
  n.requireShape(index, {dims[0], dims[1], n.dim(heads), n.dim(parts), dims[4]});
  return n.getTensor(index);
}

static void importMultiHeadAttention(NodeImporter &n) {
  using In = MultiHeadInput;
  const int64_t count = getHeadCount(n), rank = n.getTensorType(In::query).getRank();
  for (unsigned index : {In::pastLength, In::beams})
    if (n.hasInput(index))
      throwUnsupported(Advice::ReplaceOp, Twine("expects no input '") +
                                              (index == In::beams ? "cache_indirection" : "past_sequence_length") +
                                              "', as a cache is a tensor of its own, got one");
  if (n.hasInput(In::pastKey) != n.hasInput(In::pastValue))
    throwInvalid("expects 'past_key' and 'past_value' together, got only input " +
                 Twine(n.hasInput(In::pastKey) ? In::pastKey : In::pastValue));
  Heads q, k, v;
  const int64_t keyRank = n.hasInput(In::key) ? n.getTensorType(In::key).getRank() : 0;
  if (rank == 5 && !n.hasInput(In::key)) {
    Value packed = takePacked(n, In::query, count, 3);
    q = takePackedHeads(n, packed, 0);
    k = takePackedHeads(n, packed, 1);
    v = takePackedHeads(n, packed, 2);
  } else if (rank != 3) {
    throwInvalid("expects a query of 3 dimensions, or of 5 without a key, got " + describe(n.getTensorType(In::query)));
  } else if (!n.hasInput(In::key)) {
    throwUnsupported(Advice::ReplaceOp, "expects input 'key' with a query of 3 dimensions, got none");
  }
  const bool isPacked = q.value || keyRank == 5;
  if (isPacked && n.hasInput(In::bias))
    throwUnsupported(Advice::ReplaceOp, "expects no input 'bias' with what is packed in 5 dimensions, got " +
                                            describe(n.getTensorType(In::bias)));
  if (!q.value) {
    Dims dims = n.getDims(In::query);
    if (n.hasInput(In::bias)) {
      DimAttr ofValues =
          keyRank == 3 && n.hasInput(In::value) && n.getDims(In::value).size() == 3 ? n.getDims(In::value)[2] : dims[2];
      n.requireShape(In::bias, {addDims(addDims(dims[2], dims[2]), ofValues)});
    }
    q = splitHeads(n, addProjectionBias(n, n.getTensor(In::query), In::bias, n.dim(0)), count, "num_heads");
    if (keyRank == 5) {
      Value packed = takePacked(n, In::key, count, 2);
      k = takePackedHeads(n, packed, 0);
      v = takePackedHeads(n, packed, 1);
    } else if (!n.hasInput(In::value) || n.getTensorType(In::value).getRank() != keyRank ||
               (keyRank != 3 && keyRank != 4)) {
      throwInvalid("expects a key and a value of 3 or 4 dimensions, got " + describe(n.getTensorType(In::key)) +
                   " and " + (n.hasInput(In::value) ? describe(n.getTensorType(In::value)) : "none"));
    } else if (keyRank == 4) {
      // Keys and values that an encoder has made: [batch, heads, length, depth].
      if (n.hasInput(In::bias) || n.hasInput(In::pastKey))
        throwInvalid(Twine("expects no input '") + (n.hasInput(In::bias) ? "bias" : "past_key") +
                     "' with a key of 4 dimensions, got one");
      k = {n.getTensor(In::key)};
      v = {n.getTensor(In::value)};
    } else {
      k = splitHeads(n, addProjectionBias(n, n.getTensor(In::key), In::bias, dims[2]), count, "num_heads");
      v = splitHeads(n, addProjectionBias(n, n.getTensor(In::value), In::bias, addDims(dims[2], dims[2])), count,
                     "num_heads");
    }
  }
  DimAttr past = n.dim(0);
  if (n.hasInput(In::pastKey))
    past = n.getDims(In::pastKey)[2];
  auto extend = [&](Heads &heads, unsigned before, unsigned output) {
    if (!n.hasInput(before) && !n.wantsOutput(output))
      return;
    heads.order(n);
    if (n.hasInput(before)) {
      Dims dims = vx::getDims(typeOf(heads.value));
      n.requireShape(before, {dims[0], dims[1], past, dims[3]});
      heads.value = n.emit<ConcatOp>(ValueRange{n.getTensor(before), heads.value}, 2);
    }
    n.setOutput(output, heads.value);
  };
  extend(k, In::pastKey, 1);
  extend(v, In::pastValue, 2);
  setAttention(n, q, k, v, In::mask, In::scoreBias, past, 3);
}

//===-- Attention with projections ------------------------------------------------------------===//

namespace {
struct ProjectedInput {
  enum : unsigned { input, weights, bias, mask, past, scoreBias, pastLength };
};
} // namespace

static void importProjectedAttention(NodeImporter &n) {
  using In = ProjectedInput;
  const int64_t count = getHeadCount(n);
  for (StringRef name : {"do_rotary", "past_present_share_buffer"})
    if (int64_t value = n.getInt(name, 0))
      throwUnsupported(Advice::ReplaceOp, "expects '" + name + "' to be 0, got " + Twine(value));
  if (n.hasInput(In::pastLength))
    throwUnsupported(Advice::ReplaceOp,
                     "expects no input 'past_sequence_length', as a cache is a tensor of its own, got one");
  Value input = n.getTensor(In::input), weights = n.getTensor(In::weights);
  if (typeOf(input).getRank() != 3 || typeOf(weights).getRank() != 2)
    throwInvalid("expects an input of 3 dimensions and weights of 2, got " + describe(input.getType()) + " and " +
                 describe(weights.getType()));
  DimAttr columns = n.getDims(In::weights)[1];
  SmallVector<DimAttr, 3> widths(3, floorDivDims(columns, n.dim(3)));
  if (std::optional<SmallVector<int64_t>> stated = n.getInts("qkv_hidden_sizes"); stated && !stated->empty()) {
    if (stated->size() != 3 || (*stated)[0] != (*stated)[1] || (*stated)[0] < 1 || (*stated)[2] < 1 ||
        llvm::any_of(*stated, [](int64_t size) { return size > maxElements / 8; }))
      throwInvalid("expects 'qkv_hidden_sizes' with 3 sizes of at least 1, the first two equal, got [" +
                   llvm::join(llvm::map_range(*stated, [](int64_t size) { return std::to_string(size); }), ", ") + "]");
    for (auto [width, size] : llvm::zip(widths, *stated))
      width = n.dim(size);
  }
  DimAttr sum = addDims(addDims(widths[0], widths[1]), widths[2]);
  if (!mayBeEqual(sum, columns))
    throwInvalid("expects weights of " + sum.str() + " columns, got " + describe(weights.getType()));
  n.require(ConstraintKind::equal, sum, columns);
  if (n.hasInput(In::bias))
    n.requireShape(In::bias, {columns});
  Value all = emitMatMul(n, input, weights);
  if (n.hasInput(In::bias))
    all = n.emit<AddOp>(all, n.broadcast(n.getTensor(In::bias), vx::getDims(typeOf(all))));
  Dims dims = vx::getDims(typeOf(all));
  DimAttr start = n.dim(0);
  Heads parts[3];
  for (auto [part, width] : llvm::zip(parts, widths)) {
    Value flat = n.slice(all, {n.dim(0), n.dim(0), start}, {dims[0], dims[1], width}, {1, 1, 1});
    part = splitHeads(n, flat, count, "num_heads");
    start = addDims(start, width);
  }
  auto [q, k, v] = parts;
  DimAttr past = n.dim(0);
  if (n.hasInput(In::past) || n.wantsOutput(1)) {
    k.order(n);
    v.order(n);
    Dims own = vx::getDims(typeOf(k.value));
    if (n.hasInput(In::past)) {
      RankedTensorType type = n.getTensorType(In::past);
      if (type.getRank() != 5)
        throwInvalid("expects a past of 5 dimensions, got " + describe(type));
      past = vx::getDims(type)[3];
      n.requireShape(In::past, {n.dim(2), own[0], own[1], past, own[3]});
      Dims half = {own[0], own[1], past, own[3]};
      auto before = [&](int64_t index) {
        Dims starts(5, n.dim(0)), sizes = vx::getDims(type);
        starts[0] = n.dim(index);
        sizes[0] = n.dim(1);
        return n.reshape(n.slice(n.getTensor(In::past), starts, sizes, {1, 1, 1, 1, 1}), half);
      };
      k.value = n.emit<ConcatOp>(ValueRange{before(0), k.value}, 2);
      v.value = n.emit<ConcatOp>(ValueRange{before(1), v.value}, 2);
    }
    if (n.wantsOutput(1)) {
      Dims single = vx::getDims(typeOf(k.value));
      single.insert(single.begin(), n.dim(1));
      Value both[] = {n.reshape(k.value, single), n.reshape(v.value, single)};
      n.setOutput(1, n.emit<ConcatOp>(ValueRange(both), 0));
    }
  }
  setAttention(n, q, k, v, In::mask, In::scoreBias, past, std::nullopt);
}

//===-- RotaryEmbedding -----------------------------------------------------------------------===//

static void importMicrosoftRotaryEmbedding(NodeImporter &n) {
  enum Input : unsigned { input, places, cosines, sines };
  RankedTensorType type = n.getTensorType(input);
  if ((type.getRank() != 3 && type.getRank() != 4) || !isa<FloatType>(type.getElementType()))
    throwInvalid("expects floats of 3 or 4 dimensions as input 0, got " + describe(type));
  if (float scale = n.getFloat("scale", 1.0f); scale != 1)
    throwUnsupported(Advice::ReplaceOp, "expects 'scale' to be 1, got " + std::to_string(scale));
  for (unsigned table : {cosines, sines})
    if (n.getTensorType(table).getRank() != 2)
      throwInvalid("expects a table of 2 dimensions as input " + Twine(table) + ", got " +
                   describe(n.getTensorType(table)));
  const int64_t heads = n.getInt("num_heads", 0), turned = n.getInt("rotary_embedding_dim", 0);
  if (heads < 0 || turned < 0 || turned % 2 != 0)
    throwInvalid("expects 'num_heads' of at least 0 and 'rotary_embedding_dim' that is even, got " + Twine(heads) +
                 " and " + Twine(turned));
  if (turned > 0 && heads == 0)
    throwInvalid("expects 'num_heads' with 'rotary_embedding_dim', got " + Twine(turned) + " alone");
  Dims whole = vx::getDims(type), dims = whole, table = n.getDims(cosines);
  DimAttr pairs = turned > 0 ? n.dim(turned / 2) : table[1];
  n.requireShape(cosines, {table[0], pairs});
  n.requireShape(sines, {table[0], pairs});
  int64_t lengthDim = 2;
  if (type.getRank() == 3) {
    lengthDim = 1;
    // Without a number of heads all of a head is turned.
    DimAttr depth = heads > 0 ? getHeadSize(n, whole[2], heads, "num_heads") : mulDims(pairs, n.dim(2));
    DimAttr count = heads > 0 ? n.dim(heads) : floorDivDims(whole[2], depth);
    n.require(ConstraintKind::equal, mulDims(count, depth), whole[2]);
    dims = {whole[0], whole[1], count, depth};
  }
  n.require(ConstraintKind::at_least, dims[3], mulDims(pairs, n.dim(2)));
  if (turned == 0)
    n.require(ConstraintKind::equal, dims[3], mulDims(pairs, n.dim(2)));
  RankedTensorType ofPlaces = n.getTensorType(places);
  Dims rows = {dims[0], dims[lengthDim]};
  Value numbers = n.getTensor(places);
  if (ofPlaces.getRank() == 1) {
    // The place of the first element of each row.
    n.requireShape(places, {n.dim(1)});
    Value steps = n.emitAs<IotaOp>(makeTensorType({rows[1]}, ofPlaces.getElementType()), 0);
    steps = n.emit<AddOp>(steps, n.broadcast(n.reshape(numbers, {n.dim(1)}), {rows[1]}));
    numbers = n.broadcast(steps, rows);
  } else {
    n.requireShape(places, rows);
  }
  numbers = n.emit<CheckIndicesOp>(numbers, n.toArray(table[0]), /*from_start=*/true);
  Dims half = dims;
  half[3] = pairs;
  auto take = [&](unsigned from) {
    Value found = n.emit<GatherOp>(n.getTensor(from), numbers, 0, IntegerAttr(), /*in_range=*/true);
    return n.broadcastInDim(n.widen(found), half, {0, lengthDim, 3});
  };
  Value result = emitTurnedPairs(n, n.reshape(n.getTensor(input), dims), take(cosines), take(sines),
                                 n.getFlag("interleaved", false), /*turnsAll=*/turned == 0);
  n.setOutput(0, n.reshape(result, whole));
}

static constexpr OpTableEntry fusedAttentionTable[] = {
    {"Attention", 1, newestMicrosoftOpset, importProjectedAttention},
    {"MultiHeadAttention", 1, newestMicrosoftOpset, importMultiHeadAttention},
    {"RotaryEmbedding", 1, newestMicrosoftOpset, importMicrosoftRotaryEmbedding},
};
const llvm::ArrayRef<OpTableEntry> fusedAttentionOps = fusedAttentionTable;

} // namespace vx::onnx

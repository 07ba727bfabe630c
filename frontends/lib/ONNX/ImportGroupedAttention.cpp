// GroupQueryAttention of ONNX Runtime: attention with a cache of keys and values, of which each row of the batch has
// its own length.
#include "AttentionParts.h"
#include "vx/Dialect/VX/Utils/Activations.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace vx::onnx {

namespace {

class GroupedAttention {
public:
  explicit GroupedAttention(NodeImporter &n) : n(n), i64(n.builder.getI64Type()) {}

  void import() {
    refuseForms();
    readHeadCounts();
    readSequences();
    normalizeHeads();
    if (n.getFlag("do_rotary", false))
      turnHeads();
    Heads keys = extendCache(newKeys, pastKey, 1), values = extendCache(newValues, pastValue, 2);
    attend(keys, values);
  }

private:
  enum Input : unsigned {
    query,
    key,
    value,
    pastKey,
    pastValue,
    lengths,
    total,
    cosines,
    sines,
    places,
    scoreBias,
    headSink,
    keyScale,
    valueScale,
    queryNorm,
    keyNorm,
    queryLengths
  };

  void refuseForms() {
    for (StringRef name : {"k_quant_type", "v_quant_type"})
      if (std::string type = n.getString(name, "NONE"); type != "NONE")
        throwUnsupported(Advice::ReplaceOp, "expects '" + name + "' to be NONE, got '" + type + "'");
    if (int64_t bits = n.getInt("kv_cache_bit_width", 0))
      throwUnsupported(Advice::ReplaceOp, "expects no 'kv_cache_bit_width', got " + Twine(bits));
    if (int64_t value = n.getInt("sliding_window_cache", 0))
      throwUnsupported(Advice::ReplaceOp, "expects 'sliding_window_cache' to be 0, got " + Twine(value));
    for (auto [index, name] : {std::pair(keyScale, "k_scale"), {valueScale, "v_scale"}})
      if (n.hasInput(index))
        throwUnsupported(Advice::ReplaceOp, Twine("expects no input '") + name +
                                                "', as the cache is not quantised, got " +
                                                describe(n.getTensorType(index)));
    if (n.hasInput(queryLengths))
      throwUnsupported(Advice::ReplaceOp,
                       "expects no input 'query_seqlens', as each query has all of its places, got " +
                           describe(n.getTensorType(queryLengths)));
    for (unsigned index : {pastKey, pastValue})
      if (n.hasInput(index) && n.getElementType(index) != n.getElementType(query))
        throwUnsupported(Advice::ReplaceOp,
                         "expects a cache of the query's elements: " + describe(n.getElementType(query)) + ", got " +
                             describe(n.getTensorType(index)));
    auto together = [&](unsigned first, unsigned second, const Twine &names) {
      if (n.hasInput(first) != n.hasInput(second))
        throwInvalid("expects " + names + " together, got only input " + Twine(n.hasInput(first) ? first : second));
    };
    together(key, value, "'key' and 'value'");
    together(pastKey, pastValue, "'past_key' and 'past_value'");
    together(queryNorm, keyNorm, "'q_norm_weight' and 'k_norm_weight'");
  }

  void readHeadCounts() {
    heads = n.getInt("num_heads");
    groups = n.getInt("kv_num_heads");
    if (groups < 1 || heads < 1 || heads % groups != 0 || heads > maxElements / 8)
      throwInvalid("expects 'num_heads' to be a multiple of 'kv_num_heads', both at least 1, got " + Twine(heads) +
                   " and " + Twine(groups));
    for (unsigned index : {query, key, value})
      if (n.hasInput(index) && n.getTensorType(index).getRank() != 3)
        throwInvalid("expects 3 dimensions as input " + Twine(index) + ", got " + describe(n.getTensorType(index)));
    Dims dims = n.getDims(query);
    batch = dims[0];
    length = dims[1];
    // [batch, length, heads, depth] each.
    if (n.hasInput(key)) {
      depth = getHeadSize(n, dims[2], heads, "num_heads");
      queries = n.reshape(n.getTensor(query), {batch, length, n.dim(heads), depth});
      Dims own = {batch, length, mulDims(n.dim(groups), depth)};
      for (auto [index, tensor] : {std::pair(key, &newKeys), {value, &newValues}}) {
        n.requireShape(index, own);
        *tensor = n.reshape(n.getTensor(index), {batch, length, n.dim(groups), depth});
      }
      return;
    }
    const int64_t all = heads + 2 * groups;
    depth = getHeadSize(n, dims[2], all, "num_heads + 2 * kv_num_heads");
    Value packed = n.reshape(n.getTensor(query), {batch, length, n.dim(all), depth});
    auto take = [&](int64_t from, int64_t count) {
      return n.slice(packed, {n.dim(0), n.dim(0), n.dim(from), n.dim(0)}, {batch, length, n.dim(count), depth},
                     {1, 1, 1, 1});
    };
    queries = take(0, heads);
    newKeys = take(heads, groups);
    newValues = take(heads + groups, groups);
  }

  /// How many keys each row has, and how many of them come before the new ones.
  void readSequences() {
    RankedTensorType type = n.getTensorType(lengths);
    if (type.getRank() == 2)
      n.requireShape(lengths, {batch, n.dim(1)});
    else
      n.requireShape(lengths, {batch});
    Value last = n.reshape(n.cast(n.getTensor(lengths), i64), {batch});
    keyCounts = n.emit<AddOp>(last, n.splatLike(1, last));
    mostKeys = n.getInteger(total);
    if (!n.hasInput(pastKey)) {
      n.require(ConstraintKind::equal, mostKeys, length);
      mostKeys = length;
      return;
    }
    // A query as long as the whole sequence is a prompt. Its rows begin at 0 for any lengths.
    Value before = n.emit<SubOp>(keyCounts, n.broadcast(n.emitDim(length, i64), {batch}));
    Value isPrompt = n.emit<CompareOp>(ComparePredicate::eq, n.emitDim(length, i64), n.emitDim(mostKeys, i64));
    pasts = n.emit<SelectOp>(n.broadcast(isPrompt, {batch}), n.splatLike(0, before), before);
  }

  /// The place of each element of the query in its sequence: [batch, length].
  Value emitPlaces() {
    Value steps = n.emitAs<IotaOp>(makeTensorType({batch, length}, i64), 1);
    return pasts ? n.emit<AddOp>(steps, n.broadcastInDim(pasts, {batch, length}, 0)) : steps;
  }

  void normalizeHeads() {
    if (!n.hasInput(queryNorm))
      return;
    const float both = n.getFloat("qk_norm_epsilon", 1e-6f);
    for (auto [index, tensor, name] :
         {std::tuple(queryNorm, &queries, "q_norm_epsilon"), {keyNorm, &newKeys, "k_norm_epsilon"}}) {
      n.requireShape(index, {depth});
      *tensor = emitRmsNorm(n, *tensor, n.getTensor(index), 3, llvm::APFloat(n.getFloat(name, both)));
    }
  }

  void turnHeads() {
    for (unsigned table : {cosines, sines})
      if (!n.hasInput(table) || n.getTensorType(table).getRank() != 2)
        throwInvalid("expects tables of 2 dimensions as inputs 7 and 8 with 'do_rotary', got " +
                     (n.hasInput(table) ? describe(n.getTensorType(table)) : "none"));
    Dims table = n.getDims(cosines);
    n.requireShape(sines, table);
    n.require(ConstraintKind::at_least, depth, mulDims(table[1], n.dim(2)));
    Value at = emitPlaces();
    if (n.hasInput(places)) {
      n.requireShape(places, {batch, length});
      at = n.getTensor(places);
    }
    at = n.emit<CheckIndicesOp>(at, n.toArray(table[0]), /*from_start=*/true);
    const bool turnsAll = depth == mulDims(table[1], n.dim(2)), isInterleaved = n.getFlag("rotary_interleaved", false);
    for (auto [tensor, count] : {std::pair(&queries, heads), {&newKeys, groups}}) {
      Dims half = {batch, length, n.dim(count), table[1]};
      auto take = [&](unsigned from) {
        Value rows = n.emit<GatherOp>(n.getTensor(from), at, 0, IntegerAttr(), /*in_range=*/true);
        return n.broadcastInDim(n.widen(rows), half, {0, 1, 3});
      };
      *tensor = emitTurnedPairs(n, *tensor, take(cosines), take(sines), isInterleaved, turnsAll);
    }
  }

  /// Output `output`: the cache, [batch, heads, length, depth], with the new keys or values where the old ones of each
  /// row end, and zeros after these. It has room for all. The result is the part that attention reads.
  Heads extendCache(Value fresh, unsigned past, unsigned output) {
    if (!pasts) {
      Heads made{fresh, {0, 2, 1, 3}};
      if (n.wantsOutput(output)) {
        made.order(n);
        n.setOutput(output, made.value);
      }
      return made;
    }
    Dims dims = n.getDims(past);
    if (dims.size() != 4)
      throwInvalid("expects a cache of 4 dimensions as input " + Twine(past) + ", got " +
                   describe(n.getTensorType(past)));
    DimAttr room = dims[2], capacity = maxDims(room, mostKeys);
    n.requireShape(past, {batch, n.dim(groups), n.getDims(pastKey)[2], depth});
    Dims whole = {batch, n.dim(groups), capacity, depth}, rows = {batch, capacity};
    Value old = n.pad(n.getTensor(past), Dims(4, n.dim(0)), {n.dim(0), n.dim(0), subDims(capacity, room), n.dim(0)});
    Value isOld = n.emit<CompareOp>(ComparePredicate::lt, n.emitAs<IotaOp>(makeTensorType(rows, i64), 1),
                                    n.broadcastInDim(pasts, rows, 0));
    old = n.emit<SelectOp>(n.broadcastInDim(isOld, whole, {0, 2}), old, n.splatLike(0, old));
    Dims single = {batch, length, n.dim(1)};
    Value row = n.emitAs<IotaOp>(makeTensorType(single, i64), 0), place = n.reshape(emitPlaces(), single);
    Value at = n.emit<ConcatOp>(ValueRange{row, place}, 2);
    Value present = n.emit<ScatterOp>(ScatterKind::set, old, at, fresh, ArrayRef<int64_t>{0, 2});
    n.setOutput(output, present);
    return {n.slice(present, Dims(4, n.dim(0)), {batch, n.dim(groups), mostKeys, depth}, {1, 1, 1, 1})};
  }

  /// The mask of the keys that each position of the query sees, if `rules` cannot express it: [batch, 1, 1 or length,
  /// keys].
  Value emitMask(ScoreRules &rules) {
    const int64_t window = n.getInt("local_window_size", -1);
    rules.isCausal = n.getFlag("causal", true);
    if (!rules.isCausal && window > 0)
      throwInvalid("expects 'local_window_size' to be -1 with 'causal' = 0, got " + Twine(window));
    if (!pasts && window > 0)
      rules.window = window;
    Dims keys = {batch, mostKeys};
    Value takesPart = n.emit<CompareOp>(ComparePredicate::lt, n.emitAs<IotaOp>(makeTensorType(keys, i64), 1),
                                        n.broadcastInDim(keyCounts, keys, 0));
    takesPart = n.reshape(takesPart, {batch, n.dim(1), n.dim(1), mostKeys});
    if (!pasts || !rules.isCausal)
      return takesPart;
    // Each row has a past of its own.
    rules.isCausal = false;
    Dims all = {batch, n.dim(1), length, mostKeys};
    Value number = n.emitAs<IotaOp>(makeTensorType(all, i64), 3), place = n.broadcastInDim(emitPlaces(), all, {0, 2});
    Value seen = n.emit<CompareOp>(ComparePredicate::le, number, place);
    if (window > 0)
      seen = n.emit<AndOp>(seen, n.emit<CompareOp>(ComparePredicate::gt, number,
                                                   n.emit<SubOp>(place, n.splatLike(double(window), place))));
    return n.emit<AndOp>(seen, n.broadcast(takesPart, all));
  }

  void attend(Heads keys, Heads values) {
    ScoreRules rules;
    Masks masks;
    Type element = elementOf(queries);
    masks.takesPart = emitMask(rules);
    rules.softcap = n.getFloat("softcap", 0.0f);
    if (!(rules.softcap >= 0) || !std::isfinite(rules.softcap))
      throwInvalid("expects 'softcap' to be at least 0 and finite, got " + std::to_string(rules.softcap));
    Dims sizes = {batch, n.dim(heads), length, mostKeys};
    if (n.hasInput(scoreBias)) {
      Dims dims = n.getDims(scoreBias);
      if (dims.size() != 4)
        throwInvalid("expects a bias of the scores of 4 dimensions, got " + describe(n.getTensorType(scoreBias)));
      for (unsigned d : {2, 3}) // one place would be repeated
        n.require(ConstraintKind::equal, dims[d], sizes[d]);
      masks.bias = repeatMask(n, n.getTensor(scoreBias), sizes);
    }
    Value sinks;
    if (n.hasInput(headSink)) {
      n.requireShape(headSink, {n.dim(heads)});
      sinks = n.widen(n.getTensor(headSink));
    } else if (n.getInt("smooth_softmax", -1) == 1) {
      sinks = n.splat(0, makeTensorType({n.dim(heads)}, elementOf(n.widen(queries))));
    }
    Heads q{queries, {0, 2, 1, 3}};
    rules.scale = takeScale(n, q, depth);
    const int64_t shown = n.getInt("qk_output", 0);
    if (shown < 0 || shown > 2)
      throwInvalid("expects 'qk_output' to be 0, 1 or 2, got " + Twine(shown));
    const bool isStepwise = shown != 0 && n.wantsOutput(3);
    if (shown == 0)
      n.refuseOutputs(3, "'qk_output' is 0");
    if (isStepwise || sinks)
      for (Heads *part : {&q, &keys, &values})
        part->value = n.widen(part->value);
    if (masks.bias)
      masks.bias = n.cast(masks.bias, elementOf(q.value));
    Value result;
    if (isStepwise) {
      for (Heads *part : {&q, &keys, &values})
        part->order(n);
      AttentionSteps steps = emitAttentionSteps(n, q.value, keys.value, values.value, masks, rules, sinks);
      setSteps(steps, shown, element);
      result = n.transpose(steps.result, {0, 2, 1, 3});
    } else if (sinks) {
      // A key without a value has the share 1 - s of all, with s = 1 / (1 + e^(sink - ln of the others' powers)).
      Value powers;
      result = emitAttention(n, q, keys, values, masks, rules, &powers);
      Value share = emitSigmoid(n, n.emit<SubOp>(powers, n.broadcastInDim(sinks, vx::getDims(typeOf(powers)), 1)));
      Dims dims = vx::getDims(typeOf(result));
      result = n.emit<MulOp>(result, n.broadcastInDim(n.transpose(share, {0, 2, 1}), dims, {0, 1, 2}));
    } else {
      result = emitAttention(n, q, keys, values, masks, rules);
    }
    n.setOutput(0, joinHeads(n, n.cast(result, element)));
  }

  /// Output 3: the scores, or their softmax, with 0 where a key does not count.
  void setSteps(const AttentionSteps &steps, int64_t shown, Type element) {
    Value offered = shown == 1 ? steps.scores : steps.weights;
    if (shown == 1) {
      Value least = n.splatLike(-double(std::numeric_limits<float>::max()), offered);
      Value counts = n.emit<CompareOp>(ComparePredicate::gt, offered, least);
      offered = n.emit<SelectOp>(counts, offered, n.splatLike(0, offered));
    }
    n.setOutput(3, n.cast(offered, element));
  }

  NodeImporter &n;
  Type i64;
  int64_t heads = 0, groups = 0; // of the query, and of keys and values
  DimAttr batch, length, depth;
  DimAttr mostKeys; // of all rows
  Value queries, newKeys, newValues;
  Value keyCounts; // [batch], of i64
  Value pasts;     // [batch], of i64: keys before the new ones; null where all begin at 0
};

} // namespace

static void importGroupQueryAttention(NodeImporter &n) { GroupedAttention(n).import(); }

static constexpr OpTableEntry groupedAttentionTable[] = {
    {"GroupQueryAttention", 1, newestMicrosoftOpset, importGroupQueryAttention},
};
const llvm::ArrayRef<OpTableEntry> groupedAttentionOps = groupedAttentionTable;

} // namespace vx::onnx

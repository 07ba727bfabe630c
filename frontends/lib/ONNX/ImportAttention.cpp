// Attention, and the rotary embedding of its queries and keys.
#include "AttentionParts.h"
#include "Subgraph.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace vx::onnx {

//===-- Attention -----------------------------------------------------------------------------===//

namespace {
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
      throwInvalid("expects '" + attribute + "' to be the heads of input " + Twine(input) + ": " + dims[1].str() +
                   ", got " + Twine(count));
    if (hasCount)
      n.require(ConstraintKind::equal, dims[1], n.dim(count));
    return {tensor};
  }
  if (!hasCount)
    throwInvalid("expects '" + attribute + "' with inputs of 3 dimensions, got none");
  return splitHeads(n, tensor, count, attribute);
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

/// Has `masks` hide the keys that `takesPart`, of rank 4, does not have.
static void hide(NodeImporter &n, Masks &masks, Value takesPart) {
  if (masks.takesPart) {
    Value both[] = {masks.takesPart, takesPart};
    n.broadcastTogether(both);
    takesPart = n.emit<AndOp>(both[0], both[1]);
  }
  masks.takesPart = takesPart;
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
    // From version 24 on, keys after the mask's end do not count.
    if (n.version >= 24 && !dims.empty() && dims.back() != sizes.back()) {
      n.require(ConstraintKind::at_least, sizes.back(), dims.back());
      Dims low(dims.size(), n.dim(0)), high = low;
      high.back() = sizes.back() - dims.back();
      Value out = n.emitScalar(isBool ? 0.0 : -std::numeric_limits<double>::infinity(), elementOf(mask));
      mask = n.emit<PadOp>(mask, out, n.toArray(low), n.toArray(high));
    }
    (isBool ? masks.takesPart : masks.bias) = repeatMask(n, mask, sizes);
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
    hide(n, masks, n.emit<CompareOp>(ComparePredicate::lt, places, lengths));
  }
  return masks;
}

namespace {
/// A query at place p sees the keys from p - left to p + right; nothing for no bound.
struct Bounds {
  std::optional<int64_t> left, right;
};
} // namespace

static Bounds readBounds(NodeImporter &n) {
  auto read = [&](StringRef name) -> std::optional<int64_t> {
    const int64_t size = n.getInt(name, -1);
    if (size < -1)
      throwInvalid("expects '" + name + "' to be at least -1, got " + Twine(size));
    return size == -1 || size >= maxElements ? std::nullopt : std::optional(size); // there are not as many keys
  };
  Bounds bounds{read("left_window_size"), read("right_window_size")};
  if (n.getFlag("is_causal", false))
    bounds.right = 0;
  return bounds;
}

/// The positions of the queries as [batch or 1, 1, length, keys]. If the node has the lengths of rows, the last query
/// is at the position of its row's last key. Otherwise the first query comes after `past` keys.
static Value emitQueryPlaces(NodeImporter &n, ArrayRef<DimAttr> sizes, DimAttr past) {
  const bool hasLengths = n.hasInput(AttentionInput::paddedLengths);
  Type i64 = n.builder.getI64Type();
  RankedTensorType type = makeTensorType({hasLengths ? sizes[0] : n.dim(1), n.dim(1), sizes[2], sizes[3]}, i64);
  Dims dims = vx::getDims(type);
  Value places = n.emitAs<IotaOp>(type, 2);
  if (!hasLengths)
    return n.emit<AddOp>(places, n.broadcastInDim(n.emitDim(past, i64), dims, {}));
  Value lengths = n.getTensor(AttentionInput::paddedLengths);
  Value firsts = n.emit<SubOp>(lengths, n.broadcastInDim(n.emitDim(sizes[2], i64), {sizes[0]}, {}));
  return n.emit<AddOp>(places, n.broadcastInDim(firsts, dims, 0));
}

/// The mask of the keys inside of the bounds around the positions of the queries; null without bounds.
static Value emitSeen(NodeImporter &n, Value places, const Bounds &bounds) {
  Value keys = n.emitAs<IotaOp>(places.getType(), 3), seen;
  auto shifted = [&](int64_t by) { return n.emit<AddOp>(places, n.splatLike(double(by), places)); };
  if (bounds.right)
    seen = n.emit<CompareOp>(ComparePredicate::le, keys, shifted(*bounds.right));
  if (bounds.left) {
    Value isNear = n.emit<CompareOp>(ComparePredicate::ge, keys, shifted(-*bounds.left));
    seen = seen ? n.emit<AndOp>(seen, isNear) : isNear;
  }
  return seen;
}

/// Has `masks` or `rules` keep to the bounds, whichever can. Returns the queries that see a key, as [batch, heads,
/// length, 1], each of them 1 where they are alike; null where all do.
static Value keepBounds(NodeImporter &n, const Bounds &bounds, ArrayRef<DimAttr> sizes, DimAttr past, Masks &masks,
                        ScoreRules &rules) {
  // By the rules alone each query sees its own key, or an earlier one, if the last query is not too far after the last
  // key.
  const bool mayRunOut = bounds.left && !addDims(sizes[2], past).isAtMost(addDims(sizes[3], n.dim(*bounds.left)));
  Value counts;
  if (bounds.left || bounds.right) {
    if (n.hasInput(AttentionInput::paddedLengths) || mayRunOut) {
      hide(n, masks, emitSeen(n, emitQueryPlaces(n, sizes, past), bounds));
    } else {
      // A bound to the right is a later place.
      const int64_t right = bounds.right.value_or(0);
      rules.isCausal = bounds.right.has_value();
      rules.past = addDims(past, n.dim(right));
      if (bounds.left)
        rules.window = *bounds.left + right + 1;
      if (masks.bias || masks.takesPart)
        counts = emitSeen(n, emitQueryPlaces(n, sizes, past), bounds);
    }
  }
  auto add = [&](Value isCounted) {
    Value both[] = {counts ? counts : isCounted, isCounted};
    n.broadcastTogether(both);
    counts = counts ? n.emit<AndOp>(both[0], both[1]) : isCounted;
  };
  if (masks.takesPart)
    add(masks.takesPart);
  if (masks.bias)
    add(n.emit<CompareOp>(ComparePredicate::ne, masks.bias,
                          n.splatLike(-std::numeric_limits<double>::infinity(), masks.bias)));
  if (!counts)
    return {};
  Dims dims = vx::getDims(typeOf(counts));
  dims[3] = n.dim(1);
  return n.reshape(n.reduce(ReduceKind::or_, counts, 3), dims);
}

/// `value` where `sees` holds, else `otherwise`.
static Value chooseWhere(NodeImporter &n, Value sees, Value value, double otherwise) {
  return n.emit<SelectOp>(n.broadcast(sees, vx::getDims(typeOf(value))), value, n.splatLike(otherwise, value));
}

/// Changes the masks so that a query that sees no key sees all. Then its scores and their gradients are finite.
static Masks showAll(NodeImporter &n, Masks masks, Value sees) {
  if (masks.takesPart) {
    Value both[] = {masks.takesPart, n.emit<NotOp>(sees)};
    n.broadcastTogether(both);
    masks.takesPart = n.emit<OrOp>(both[0], both[1]);
  }
  if (masks.bias) {
    Value all[] = {sees, masks.bias, n.splatLike(0, masks.bias)};
    n.broadcastTogether(all);
    masks.bias = n.emit<SelectOp>(all[0], all[1], all[2]);
  }
  return masks;
}

/// Attention in single steps, for nodes with intermediate results as outputs, or with a softmax in a wider type. All
/// operands are [batch, heads, length, depth]. `sees` is the mask that keepBounds returns.
static Value computeSteps(NodeImporter &n, Value q, Value k, Value v, const Masks &masks,
                          llvm::function_ref<Value(Value)> scale, const ScoreRules &rules, Value sees,
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
  if (rules.softcap != 0) {
    Value cap = n.splatLike(rules.softcap, scores);
    scores = n.emit<MulOp>(n.emit<TanhOp>(n.emit<DivOp>(scores, cap)), cap);
  }
  offer(1, scores);
  if (masks.bias)
    scores = n.emit<AddOp>(scores, n.broadcast(masks.bias, sizes));
  auto hideOthers = [&](Value takesPart) {
    scores = chooseWhere(n, takesPart, scores, -std::numeric_limits<double>::infinity());
  };
  if (masks.takesPart)
    hideOthers(masks.takesPart);
  if (rules.isCausal || rules.window) {
    RankedTensorType type = makeTensorType({sizes[2], sizes[3]}, n.builder.getI64Type());
    Value place = n.emitAs<IotaOp>(type, 0), key = n.emitAs<IotaOp>(type, 1);
    place =
        n.emit<AddOp>(place, n.broadcastInDim(n.emitDim(rules.past, n.builder.getI64Type()), vx::getDims(type), {}));
    if (rules.isCausal)
      hideOthers(n.emit<CompareOp>(ComparePredicate::le, key, place));
    if (rules.window)
      hideOthers(n.emit<CompareOp>(ComparePredicate::gt, key,
                                   n.emit<SubOp>(place, n.splatLike(double(*rules.window), place))));
  }
  offer(2, scores);
  if (sees)
    scores = chooseWhere(n, sees, scores, 0);
  Value weights = n.emit<SoftmaxOp>(n.cast(scores, softmaxType), 3, /*log=*/false);
  if (sees)
    weights = chooseWhere(n, sees, weights, 0);
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
  const Bounds bounds = readBounds(n);

  // The cache is a tensor [batch, heads, length, depth]. New keys and values are appended to it.
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
  const DimAttr sizes[] = {q.size(batch), q.size(heads), q.size(length), k.size(length)};
  Masks masks = readMasks(n, sizes, computed);
  ScoreRules rules;
  rules.softcap = softcap;
  Value sees = keepBounds(n, bounds, sizes, past, masks, rules);

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
    result = computeSteps(n, q.value, k.value, v.value, masks, scaled, rules, sees, softmaxType);
    if (isFlat)
      result = n.transpose(result, {0, 2, 1, 3});
  } else {
    if (!scale) // the op has a number; the query is scaled in the width of the scores and rounded once
      q.value = n.cast(scaleBy(n, n.cast(q.value, wide), emitDefaultScale(n, queryDepth, wide)), computed);
    rules.scale = scale.value_or(1);
    result = emitAttention(n, q, k, v, sees ? showAll(n, masks, sees) : masks, rules);
    if (sees) {
      SmallVector<int64_t> order(4);
      for (Role role : {batch, heads, length, depth})
        order[q.dims[role]] = role;
      result = chooseWhere(n, n.transpose(sees, order), result, 0);
    }
  }
  result = n.cast(result, resultType);
  n.setOutput(AttentionOutput::result, isFlat ? joinHeads(n, result) : result);
}

//===-- FlexAttention -------------------------------------------------------------------------===//

/// Applies the graph of an attribute to `value`; returns `value` without the attribute.
static Value modify(NodeImporter &n, StringRef attribute, Value value) {
  if (!n.hasAttribute(attribute))
    return value;
  const GraphProto &graph = n.getGraph(attribute);
  if (graph.input_size() != 1 || graph.output_size() != 1)
    throwInvalid("expects a graph with 1 input and 1 output as '" + attribute + "', got " + Twine(graph.input_size()) +
                 " and " + Twine(graph.output_size()));
  Value result;
  OpBuilder::InsertPoint end;
  {
    Subgraph inner(n.model, /*isInline=*/true);
    Entry entry{value.getType(), n.location};
    entry.value = value;
    inner.define(graph.input(0), std::move(entry));
    inner.import(graph);
    result = inner.getOutput(graph, 0);
    end = n.builder.saveInsertionPoint();
  }
  n.builder.restoreInsertionPoint(end);
  Dims got = vx::getDims(typeOf(result)), want = vx::getDims(typeOf(value));
  bool fits = got.size() == want.size() && elementOf(result) == elementOf(value);
  for (size_t d = 0; fits && d < got.size(); ++d)
    fits = mayBeEqual(got[d], want[d]);
  if (!fits)
    throwInvalid("expects '" + attribute + "' to keep the type of its input: " + describe(value.getType()) + ", got " +
                 describe(result.getType()));
  for (auto [have, wanted] : llvm::zip(got, want))
    n.require(ConstraintKind::equal, have, wanted);
  return result;
}

static void importFlexAttention(NodeImporter &n) {
  Heads q{n.getTensor(0)}, k{n.getTensor(1)}, v{n.getTensor(2)};
  Type resultType = elementOf(q.value);
  for (unsigned input : {0, 1, 2})
    if (RankedTensorType type = n.getTensorType(input);
        type.getRank() != 4 || !isa<FloatType>(type.getElementType()) || type.getElementType() != resultType)
      throwInvalid("expects floats of one type in 4 dimensions, got " + describe(q.value.getType()) + " and " +
                   describe(type));
  FloatType wide = resultType.isF64() ? FloatType(n.builder.getF64Type()) : n.builder.getF32Type();
  FloatType softmaxType = wide;
  if (n.hasAttribute("softmax_precision")) {
    auto stated = getElementType(n.context, n.getInt("softmax_precision"), "'softmax_precision'");
    softmaxType = dyn_cast<FloatType>(stated);
    if (!softmaxType || softmaxType.getWidth() < 16)
      throwInvalid("expects 'softmax_precision' to be a type of floats (1, 10, 11 or 16), got " +
                   Twine(n.getInt("softmax_precision")));
  }
  if (softmaxType.isF64())
    wide = softmaxType;
  DimAttr headSize = q.size(3);
  std::optional<double> scale;
  if (n.hasAttribute("scale"))
    scale = n.getFloat("scale");
  else if (std::optional<int64_t> known = headSize.asConstant())
    scale = *known == 0 ? 1 : 1 / std::sqrt(double(*known));
  if (scale && !std::isfinite(*scale))
    throwInvalid("expects 'scale' to be finite, got " + std::to_string(*scale));
  bool isPlain = !n.hasAttribute("score_mod") && !n.hasAttribute("prob_mod");
  if (isPlain && scale && softmaxType.getWidth() >= 32 && (!softmaxType.isF64() || resultType.isF64())) {
    ScoreRules rules;
    rules.scale = *scale;
    n.setOutput(0, emitAttention(n, q, k, v, {}, rules));
    return;
  }
  for (Heads *heads : {&q, &k, &v})
    heads->value = n.cast(heads->value, wide);
  Value scores = contractHeads(n, q.value, k.value, 3);
  scores = scale ? n.emit<MulOp>(scores, n.splatLike(*scale, scores))
                 : scaleBy(n, scores, emitDefaultScale(n, headSize, wide));
  scores = modify(n, "score_mod", n.cast(scores, softmaxType));
  Value shares = modify(n, "prob_mod", n.emit<SoftmaxOp>(scores, 3, /*log=*/false));
  n.setOutput(0, n.cast(contractHeads(n, n.cast(shares, wide), v.value, 2), resultType));
}

//===-- LinearAttention -----------------------------------------------------------------------===//

namespace {

class LinearAttention {
public:
  explicit LinearAttention(NodeImporter &n) : n(n) {}

  void import() {
    readRule();
    readShapes();
    Type queryType = n.getTensorType(query).getElementType(), stateType = queryType;
    if (n.hasInput(pastState))
      stateType = n.getTensorType(pastState).getElementType();
    wide = queryType.isF64() || stateType.isF64() ? Type(n.builder.getF64Type()) : Type(n.builder.getF32Type());
    Dims stateDims = {batch, n.dim(heads), keySize, valueSize};
    if (n.hasInput(pastState))
      n.requireShape(pastState, stateDims);
    Value state =
        n.hasInput(pastState) ? n.cast(n.getTensor(pastState), wide) : n.splat(0, makeTensorType(stateDims, wide));
    Value output = n.splat(0, makeTensorType({batch, length, n.dim(heads), n.dim(group), valueSize}, wide));
    SmallVector<Value> last = emitCountedLoop(n, length, {state, output}, [&](DimAttr place, ValueRange values) {
      Value next = advance(place, values[0]);
      Value read =
          n.emit<ContractOp>(take(query, place, {n.dim(heads), n.dim(group), keySize}), next, ArrayRef<int64_t>{0, 1},
                             ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>(3), ArrayRef<int64_t>(2));
      read = n.reshape(scaled(read), {batch, n.dim(1), n.dim(heads), n.dim(group), valueSize});
      Value rest = n.emit<UpdateSliceOp>(values[1], n.emitList({place}), read, ArrayRef<int64_t>(1));
      return SmallVector<Value>{next, rest};
    });
    Value packed = n.reshape(last[1], {batch, length, mulDims(n.dim(heads * group), valueSize)});
    n.setOutput(0, n.cast(packed, queryType));
    n.setOutput(1, n.cast(last[0], stateType));
  }

private:
  enum Input : unsigned { query, key, value, pastState, decay, rate };

  void readRule() {
    std::string rule = n.getString("update_rule", "gated_delta");
    if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
      throwInvalid("expects 'update_rule' to be linear, gated, delta or gated_delta, got '" + rule + "'");
    decays = rule == "gated" || rule == "gated_delta";
    corrects = rule == "delta" || rule == "gated_delta";
    for (auto [input, name, wants] : {std::tuple(decay, "decay", decays), std::tuple(rate, "beta", corrects)})
      if (n.hasInput(input) != wants)
        throwInvalid(Twine("expects ") + (wants ? "" : "no ") + "input '" + name + "' with 'update_rule' " + rule +
                     ", got " + (wants ? "none" : "one"));
    heads = n.getInt("kv_num_heads");
    int64_t queryHeads = n.getInt("q_num_heads");
    if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0 || queryHeads > maxElements)
      throwInvalid("expects 'q_num_heads' to be a multiple of 'kv_num_heads', both at least 1, got " +
                   Twine(queryHeads) + " and " + Twine(heads));
    group = queryHeads / heads;
  }

  void readShapes() {
    for (Input input : {query, key, value, decay, rate}) {
      if (!n.hasInput(input))
        continue;
      RankedTensorType type = n.getTensorType(input);
      if (type.getRank() != 3 || !isa<FloatType>(type.getElementType()) ||
          type.getElementType() != n.getTensorType(query).getElementType())
        throwInvalid("expects floats of one type in 3 dimensions, got " + describe(n.getTensorType(query)) + " and " +
                     describe(type));
    }
    Dims dims = n.getDims(query);
    batch = dims[0];
    length = dims[1];
    keySize = getHeadSize(n, n.getDims(key)[2], heads, "kv_num_heads");
    valueSize = getHeadSize(n, n.getDims(value)[2], heads, "kv_num_heads");
    n.requireShape(query, {batch, length, mulDims(n.dim(heads * group), keySize)});
    for (Input input : {key, value, decay, rate})
      if (n.hasInput(input))
        n.requireShape(input, {batch, length, n.getDims(input)[2]});
    if (decays) // a number for each head, or for each place of its keys
      decaySize = getHeadSize(n, n.getDims(decay)[2], heads, "kv_num_heads");
    double stated = n.getFloat("scale", 0.0f);
    if (!std::isfinite(stated))
      throwInvalid("expects 'scale' to be finite, got " + std::to_string(stated));
    if (stated != 0)
      scale = stated;
    else if (std::optional<int64_t> known = keySize.asConstant())
      scale = *known == 0 ? 1 : 1 / std::sqrt(double(*known));
  }

  /// The slice of an input at a position of the sequence, as [batch, sizes...].
  Value take(Input input, DimAttr place, Dims sizes) {
    Value tensor = n.getTensor(input);
    Dims whole = vx::getDims(typeOf(tensor));
    Value row = n.slice(tensor, {n.dim(0), place, n.dim(0)}, {batch, n.dim(1), whole[2]}, {1, 1, 1});
    sizes.insert(sizes.begin(), batch);
    return n.cast(n.reshape(row, sizes), wide);
  }

  Value scaled(Value read) {
    return scale ? n.emit<MulOp>(read, n.splatLike(*scale, read))
                 : scaleBy(n, read, emitDefaultScale(n, keySize, cast<FloatType>(wide)));
  }

  /// The state after a position: [batch, heads, key size, value size].
  Value advance(DimAttr place, Value state) {
    Dims dims = vx::getDims(typeOf(state));
    if (decays) {
      Value share = n.emit<ExpOp>(take(decay, place, {n.dim(heads), decaySize, n.dim(1)}));
      state = n.emit<MulOp>(state, n.broadcast(share, dims));
    }
    Value keys = take(key, place, {n.dim(heads), keySize}), values = take(value, place, {n.dim(heads), valueSize});
    if (corrects) {
      // The value that the state has for the key already.
      int64_t both[] = {0, 1};
      Value held =
          n.emit<ContractOp>(keys, state, ArrayRef(both), ArrayRef(both), ArrayRef<int64_t>(2), ArrayRef<int64_t>(2));
      values = n.emit<SubOp>(values, held);
      Value share = take(rate, place, {n.getDims(rate)[2], n.dim(1)});
      values = n.emit<MulOp>(n.broadcast(share, vx::getDims(typeOf(values))), values);
    }
    Value product = n.emit<MulOp>(n.broadcastInDim(keys, dims, {0, 1, 2}), n.broadcastInDim(values, dims, {0, 1, 3}));
    return n.emit<AddOp>(state, product);
  }

  NodeImporter &n;
  bool decays = false, corrects = false;
  int64_t heads = 0, group = 0; // of keys and values, and the heads of the query for each
  DimAttr batch, length, keySize, valueSize, decaySize;
  std::optional<double> scale; // nothing: of a size that only the call knows
  Type wide;
};

} // namespace

static void importLinearAttention(NodeImporter &n) { LinearAttention(n).import(); }

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
  Value result = emitTurnedPairs(n, n.reshape(input, dims), cosines, sines, n.getFlag("interleaved", false),
                                 /*turnsAll=*/turned == 0);
  n.setOutput(0, n.reshape(result, whole));
}

static constexpr OpTableEntry attentionTable[] = {
    {"Attention", 23, newestOpset, importAttention},
    {"LinearAttention", 27, newestOpset, importLinearAttention},
    {"RotaryEmbedding", 23, newestOpset, importRotaryEmbedding},
};
const llvm::ArrayRef<OpTableEntry> attentionOps = attentionTable;

static constexpr OpTableEntry flexAttentionTable[] = {
    {"FlexAttention", 1, newestPreviewOpset, importFlexAttention},
};
const llvm::ArrayRef<OpTableEntry> flexAttentionOps = flexAttentionTable;

} // namespace vx::onnx

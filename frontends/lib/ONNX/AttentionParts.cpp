#include "AttentionParts.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace vx::onnx {

//===-- Heads ---------------------------------------------------------------------------------===//

DimAttr getHeadSize(NodeImporter &n, DimAttr size, int64_t count, StringRef attribute) {
  if (count < 1)
    throwInvalid("expects '" + attribute + "' to be at least 1, got " + Twine(count));
  std::optional<int64_t> known = size.asConstant();
  if (known && *known % count != 0)
    throwInvalid("expects sizes that '" + attribute + "' = " + Twine(count) + " divides, got " + Twine(*known));
  n.require(ConstraintKind::multiple, size, n.dim(count));
  return DimAttr::floorDiv(size, n.dim(count));
}

Heads splitHeads(NodeImporter &n, Value flat, int64_t count, StringRef attribute) {
  Dims dims = vx::getDims(typeOf(flat));
  DimAttr depth = getHeadSize(n, dims[2], count, attribute);
  return {n.reshape(flat, {dims[0], dims[1], n.dim(count), depth}), {0, 2, 1, 3}};
}

Value joinHeads(NodeImporter &n, Value value) {
  Dims dims = vx::getDims(typeOf(value));
  return n.reshape(value, {dims[0], dims[1], dims[2] * dims[3]});
}

//===-- Scores --------------------------------------------------------------------------------===//

Value repeatMask(NodeImporter &n, Value mask, ArrayRef<DimAttr> sizes) {
  Dims dims = vx::getDims(typeOf(mask));
  dims.insert(dims.begin(), 4 - dims.size(), n.dim(1));
  Dims repeated = dims;
  for (auto [dim, size] : llvm::zip(repeated, sizes))
    if (dim.asConstant() != 1)
      dim = size;
  return n.broadcast(n.reshape(mask, dims), repeated);
}

Value emitAttention(NodeImporter &n, const Heads &q, const Heads &k, const Heads &v, const Masks &masks,
                    const ScoreRules &rules, Value *logSumExp) {
  enum Role { batch, heads, length, depth };
  Dims dims(4);
  for (Role role : {batch, heads, length, depth})
    dims[q.dims[role]] = (role == depth ? v : q).size(role);
  Type element = elementOf(q.value), sums = element.isF64() ? element : Type(n.builder.getF32Type());
  Type ofSums = logSumExp ? makeTensorType({q.size(batch), q.size(heads), q.size(length)}, sums) : Type();
  Builder &b = n.builder;
  const bool hasPast = rules.past && rules.past.asConstant() != 0;
  OperationState state(n.location, AttentionOp::getOperationName());
  AttentionOp::build(
      n.builder, state, makeTensorType(dims, element), ofSums, q.value, k.value, v.value, masks.takesPart, masks.bias,
      b.getF64FloatAttr(rules.scale), rules.softcap != 0 ? b.getF64FloatAttr(rules.softcap) : FloatAttr(),
      rules.isCausal ? b.getUnitAttr() : UnitAttr(), rules.window ? b.getI64IntegerAttr(*rules.window) : IntegerAttr(),
      (rules.isCausal || rules.window) && hasPast ? rules.past : DimAttr(), UnitAttr(), b.getDenseI64ArrayAttr(q.dims),
      b.getDenseI64ArrayAttr(k.dims), b.getDenseI64ArrayAttr(v.dims), b.getDenseI64ArrayAttr(q.dims));
  auto attention = cast<AttentionOp>(n.finish(state));
  if (logSumExp)
    *logSumExp = attention.getLogSumExp();
  return attention.getResult();
}

Value emitDefaultScale(NodeImporter &n, DimAttr depth, FloatType type) {
  Value root = n.emit<SqrtOp>(n.emitDim(depth, type));
  return n.emit<DivOp>(n.splatLike(1, root), root);
}

Value scaleBy(NodeImporter &n, Value value, Value scale) {
  return n.emit<MulOp>(value, n.broadcastInDim(scale, vx::getDims(typeOf(value)), {}));
}

Value contractHeads(NodeImporter &n, Value lhs, Value rhs, int64_t rhsSummed) {
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

AttentionSteps emitAttentionSteps(NodeImporter &n, Value q, Value k, Value v, const Masks &masks,
                                  const ScoreRules &rules, Value sinks) {
  AttentionSteps steps;
  Value &scores = steps.scores = contractHeads(n, q, k, 3);
  Dims sizes = vx::getDims(typeOf(scores));
  scores = n.emit<MulOp>(scores, n.splatLike(rules.scale, scores));
  if (rules.softcap != 0) {
    Value cap = n.splatLike(rules.softcap, scores);
    scores = n.emit<MulOp>(n.emit<TanhOp>(n.emit<DivOp>(scores, cap)), cap);
  }
  if (masks.bias)
    scores = n.emit<AddOp>(scores, n.broadcast(masks.bias, sizes));
  auto hide = [&](Value takesPart) {
    Value least = n.splatLike(-double(std::numeric_limits<float>::max()), scores);
    scores = n.emit<SelectOp>(n.broadcast(takesPart, sizes), scores, least);
  };
  if (masks.takesPart)
    hide(masks.takesPart);
  if (rules.isCausal || rules.window) {
    Type i64 = n.builder.getI64Type();
    RankedTensorType type = makeTensorType({sizes[2], sizes[3]}, i64);
    Value place = n.emitAs<IotaOp>(type, 0), key = n.emitAs<IotaOp>(type, 1);
    if (rules.past)
      place = n.emit<AddOp>(place, n.broadcastInDim(n.emitDim(rules.past, i64), vx::getDims(type), {}));
    if (rules.isCausal)
      hide(n.emit<CompareOp>(ComparePredicate::le, key, place));
    if (rules.window)
      hide(n.emit<CompareOp>(ComparePredicate::gt, key,
                             n.emit<SubOp>(place, n.splatLike(double(*rules.window), place))));
  }
  Value columns = scores;
  if (sinks) {
    Dims column = sizes;
    column[3] = n.dim(1);
    columns = n.emit<ConcatOp>(ValueRange{scores, n.broadcastInDim(sinks, column, 1)}, 3);
  }
  steps.weights = n.emit<SoftmaxOp>(columns, 3, /*log=*/false);
  if (sinks)
    steps.weights = n.slice(steps.weights, Dims(4, n.dim(0)), sizes, {1, 1, 1, 1});
  steps.result = contractHeads(n, steps.weights, v, 2);
  return steps;
}

double takeScale(NodeImporter &n, Heads &query, DimAttr depth) {
  const float stated = n.getFloat("scale", 0.0f);
  if (!std::isfinite(stated))
    throwInvalid("expects 'scale' to be finite, got " + std::to_string(stated));
  if (stated != 0)
    return stated;
  if (std::optional<int64_t> known = depth.asConstant())
    return *known == 0 ? 1 : 1 / std::sqrt(double(*known));
  // The op has a number; the query is scaled in the width of the scores and rounded once.
  Type type = elementOf(query.value);
  auto wide = type.isF64() ? FloatType(n.builder.getF64Type()) : n.builder.getF32Type();
  query.value = n.cast(scaleBy(n, n.cast(query.value, wide), emitDefaultScale(n, depth, wide)), type);
  return 1;
}

} // namespace vx::onnx

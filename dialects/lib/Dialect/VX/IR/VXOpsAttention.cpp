#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsAttention.cpp.inc"

namespace vx {

SmallVector<DimAttr> AttentionOp::getSizes(Value tensor, ArrayRef<int64_t> dims) {
  SmallVector<DimAttr> sizes;
  for (int64_t dim : dims)
    sizes.push_back(getDim(cast<RankedTensorType>(tensor.getType()), dim));
  return sizes;
}

DimAttr AttentionOp::getPastOrZero() { return getPast() ? *getPast() : DimAttr::constant(getContext(), 0); }

RankedTensorType AttentionOp::inferResultType() {
  SmallVector<DimAttr> sizes = getQuerySizes(), dims(sizes.size());
  sizes[Depth] = getValueSizes()[Depth];
  for (auto [dim, size] : llvm::zip(getResultDims(), sizes))
    dims[dim] = size;
  return getTensorType(dims, getQuery().getType().getElementType());
}

RankedTensorType AttentionOp::inferLogSumExpType() {
  Type element = getQuery().getType().getElementType();
  return getTensorType(ArrayRef(getQuerySizes()).drop_back(),
                       element.isF64() ? element : Float32Type::get(getContext()));
}

/// The attributes that make scores of dots.
template <typename Op>
static LogicalResult verifyScores(Op op) {
  if (!std::isfinite(op.getScale().convertToDouble()))
    return op.emitOpError() << "expects 'scale' to be finite, got " << op.getScaleAttr();
  if (op.getSoftcap())
    if (double softcap = op.getSoftcap()->convertToDouble(); !(softcap > 0) || !std::isfinite(softcap))
      return op.emitOpError() << "expects 'softcap' to be finite and above 0, got " << op.getSoftcapAttr();
  if (op.getWindow() && static_cast<int64_t>(*op.getWindow()) < 1)
    return op.emitOpError() << "expects 'window' to be at least 1, got " << static_cast<int64_t>(*op.getWindow());
  return success();
}

LogicalResult AttentionOp::verify() {
  struct Operand {
    StringRef name;
    RankedTensorType type;
    ArrayRef<int64_t> dims;
  };
  for (const Operand &operand : {Operand{"query", getQuery().getType(), getQueryDims()},
                                 {"key", getKey().getType(), getKeyDims()},
                                 {"value", getValue().getType(), getValueDims()},
                                 {"result", getResult().getType(), getResultDims()}}) {
    if (operand.type.getRank() != 4) // C1
      return emitOpError() << "expects '" << operand.name << "' of rank 4, got " << operand.type;
    SmallVector<int64_t> sorted(operand.dims);
    llvm::sort(sorted);
    if (!llvm::equal(sorted, llvm::seq<int64_t>(0, 4))) // C1
      return emitOpError() << "expects each dimension of '" << operand.name << "' once in '" << operand.name
                           << "_dims': 0 to 3, got [" << operand.dims << "]";
  }
  SmallVector<DimAttr> query = getQuerySizes(), key = getKeySizes(), value = getValueSizes();
  auto checkEqual = [&](StringRef what, StringRef lhsName, DimAttr lhs, StringRef rhsName,
                        DimAttr rhs) -> LogicalResult {
    if (mayBeEqual(lhs, rhs))
      return success();
    return emitOpError() << "expects '" << lhsName << "' and '" << rhsName << "' with the same " << what << ", got "
                         << lhs.str() << " and " << rhs.str();
  };
  if (failed(checkEqual("batch", "query", query[Batch], "key", key[Batch])) || // C2
      failed(checkEqual("batch", "query", query[Batch], "value", value[Batch])) ||
      failed(checkEqual("heads", "key", key[Heads], "value", value[Heads])) ||
      failed(checkEqual("length", "key", key[Length], "value", value[Length])) ||
      failed(checkEqual("depth", "query", query[Depth], "key", key[Depth])))
    return failure();
  if (!areCompatibleTypes(inferResultType(), getResult().getType())) // C2
    return emitOpError() << "expects 'result' with the sizes of 'query' and the depth of 'value': " << inferResultType()
                         << ", got " << getResult().getType();
  std::optional<int64_t> heads, keyHeads;
  if (query[Heads] && key[Heads]) {
    heads = query[Heads].asConstant();
    keyHeads = key[Heads].asConstant();
  }
  if (heads && keyHeads && (*keyHeads == 0 ? *heads != 0 : *heads % *keyHeads != 0)) // C3
    return emitOpError() << "expects the heads of 'key' to divide those of 'query', got " << *keyHeads << " and "
                         << *heads;
  DimAttr wanted[] = {query[Batch], query[Heads], query[Length], key[Length]};
  for (auto [name, operand] : {std::pair<StringRef, Value>("mask", getMask()), {"bias", getBias()}}) {
    if (!operand)
      continue;
    auto type = cast<RankedTensorType>(operand.getType());
    bool fits = type.getRank() == 4;
    for (int64_t d = 0; fits && d < 4; ++d)
      fits = type.getDimSize(d) == 1 || mayBeEqual(getDim(type, d), wanted[d]);
    if (!fits) // C4
      return emitOpError() << "expects '" << name << "' with a size of 1 or that of the scores in each dimension: "
                           << getTensorType(wanted, type.getElementType()) << ", got " << type;
  }
  Type element = getQuery().getType().getElementType();
  if (getBias() && getElementTypeOrSelf(getBias().getType()) != element) // C4
    return emitOpError() << "expects 'bias' with the element type of 'query': " << element << ", got "
                         << getElementTypeOrSelf(getBias().getType());
  if (failed(verifyScores(*this))) // C5
    return failure();
  if (getLogSumExp() && !areCompatibleTypes(inferLogSumExpType(), getLogSumExp().getType())) // C6
    return emitOpError() << "expects 'log_sum_exp' with one element for each query: " << inferLogSumExpType()
                         << ", got " << getLogSumExp().getType();
  return success();
}

void AttentionOp::collectConstraints(ConstraintCollector &collector) {
  SmallVector<DimAttr> query = getQuerySizes(), key = getKeySizes(), value = getValueSizes();
  collector.wantEqual(query[Batch], key[Batch]); // C2
  collector.wantEqual(query[Batch], value[Batch]);
  collector.wantEqual(key[Heads], value[Heads]);
  collector.wantEqual(key[Length], value[Length]);
  collector.wantEqual(query[Depth], key[Depth]);
  collector.want(ConstraintKind::multiple, query[Heads], key[Heads]); // C3
  collector.wantEqualShapes(inferResultType(), getResult().getType());
  if (getLogSumExp())
    collector.wantEqualShapes(inferLogSumExpType(), getLogSumExp().getType()); // C6
  DimAttr scores[] = {query[Batch], query[Heads], query[Length], key[Length]};
  for (Value operand : {getMask(), getBias()})
    if (operand)
      for (auto [dim, size] : llvm::zip(getDims(cast<RankedTensorType>(operand.getType())), scores))
        if (dim && dim.asConstant() != 1)
          collector.wantEqual(dim, size); // C4
}

DimAttr AttentionOp::getFlops() {
  SmallVector<DimAttr> query = getQuerySizes();
  DimAttr scores = query[Batch] * query[Heads] * query[Length] * getKeySizes()[Length];
  DimAttr depths = query[Depth] + getValueSizes()[Depth];
  // Two products, and the softmax between them.
  return scores * depths * 2 + scores * 5;
}

/// Keys or values with a head for each head of the query.
static Value repeatHeads(GraphBuilder &g, Value tensor, int64_t headsDim, DimAttr heads) {
  RankedTensorType type = g.typeOf(tensor);
  if (!type || getDim(type, headsDim) == heads)
    return tensor;
  SmallVector<DimAttr> joined = getDims(type), repeated = joined;
  // Without a head on either side there is nothing to repeat.
  repeated.insert(repeated.begin() + headsDim + 1, DimAttr::floorDiv(heads, DimAttr::max(joined[headsDim], g.dim(1))));
  joined[headsDim] = heads;
  return g.reshape(g.broadcastAlong(tensor, repeated, headsDim + 1), joined);
}

/// The condition that a key takes part, as [length, key length]; null when all do.
static Value getPlaceMask(GraphBuilder &g, AttentionOp op, DimAttr length, DimAttr keyLength) {
  if (!op.getCausal() && !op.getWindow())
    return {};
  DimAttr dims[] = {length, keyLength};
  Type i64 = g.builder.getI64Type();
  RankedTensorType type = g.makeType(dims, i64);
  auto repeat = [&](DimAttr number) {
    return g.broadcast(g.emitAs<DimValueOp>(RankedTensorType::get({}, i64), number), dims);
  };
  Value place = g.emitAs<IotaOp>(type, 0), key = g.emitAs<IotaOp>(type, 1), takesPart;
  place = g.emit<AddOp>(place, repeat(op.getPastOrZero()));
  if (op.getCausal())
    takesPart = g.emit<CompareOp>(ComparePredicate::le, key, place);
  if (op.getWindow()) {
    Value last = g.emit<AddOp>(key, repeat(g.dim(*op.getWindow())));
    Value isNear = g.emit<CompareOp>(ComparePredicate::gt, last, place);
    takesPart = takesPart ? g.emit<AndOp>(takesPart, isNear) : isNear;
  }
  return takesPart;
}

SmallVector<Value> AttentionOp::decompose(GraphBuilder &g) {
  SmallVector<DimAttr> query = getQuerySizes(), key = getKeySizes();
  ArrayRef<int64_t> q = getQueryDims(), k = getKeyDims(), v = getValueDims();
  SmallVector<DimAttr> dims = {query[Batch], query[Heads], query[Length], key[Length]};
  auto contract = [&](DimAttr columns, Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                      int64_t lhsSummed, int64_t rhsSummed) -> Value {
    RankedTensorType type = g.typeOf(lhs);
    return g.emitAs<ContractOp>(
        type ? g.makeType({query[Batch], query[Heads], query[Length], columns}, type.getElementType()) : type, lhs, rhs,
        lhsBatch, rhsBatch, ArrayRef(lhsSummed), ArrayRef(rhsSummed));
  };
  Value keys = repeatHeads(g, g.widen(getKey()), k[Heads], query[Heads]);
  Value values = repeatHeads(g, g.widen(getValue()), v[Heads], query[Heads]);
  Value scores = contract(key[Length], g.widen(getQuery()), keys, q.take_front(2), k.take_front(2), q[Depth], k[Depth]);
  scores = g.emit<MulOp>(scores, g.splatLike(getScale().convertToDouble(), scores));
  if (getSoftcap()) {
    Value cap = g.splatLike(getSoftcap()->convertToDouble(), scores);
    scores = g.emit<MulOp>(g.emit<TanhOp>(g.emit<DivOp>(scores, cap)), cap);
  }
  if (getBias())
    scores = g.emit<AddOp>(scores, g.broadcast(g.widen(getBias()), dims));
  Value takesPart;
  if (Value places = getPlaceMask(g, *this, query[Length], key[Length]))
    takesPart = g.broadcast(places, dims);
  if (getMask()) {
    Value mask = g.broadcast(getMask(), dims);
    takesPart = takesPart ? g.emit<AndOp>(takesPart, mask) : mask;
  }
  if (takesPart)
    scores = g.emit<SelectOp>(takesPart, scores, g.splatLike(-std::numeric_limits<double>::infinity(), scores));
  Value weights = g.emit<SoftmaxOp>(scores, 3, /*log=*/false);
  if (getZeroInvalid())
    weights = g.emit<SelectOp>(g.emit<IsNanOp>(weights), g.splatLike(0, weights), weights);
  SmallVector<int64_t> batch = {0, 1}, permutation(4);
  Value result = contract(getValueSizes()[Depth], weights, values, batch, v.take_front(2), 3, v[Length]);
  for (auto [place, dim] : llvm::enumerate(getResultDims()))
    permutation[dim] = place;
  if (RankedTensorType type = g.typeOf(result))
    result =
        g.emitAs<TransposeOp>(g.makeType(getDims(getResult().getType()), type.getElementType()), result, permutation);
  SmallVector<Value> results = {g.cast(result, getQuery().getType().getElementType())};
  if (getLogSumExp()) {
    Value greatest = g.reduce(ReduceKind::max, scores, int64_t(3));
    Value exponentials = g.emit<ExpOp>(g.emit<SubOp>(scores, g.broadcastAlong(greatest, dims, int64_t(3))));
    results.push_back(g.emit<AddOp>(greatest, g.emit<LogOp>(g.reduce(ReduceKind::sum, exponentials, int64_t(3)))));
  }
  return results;
}

LogicalResult PagedAttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getQuery().getType());
  return success();
}

LogicalResult PagedAttentionOp::verify() {
  RankedTensorType query = getQuery().getType(), keys = getKeys().getType(), table = getTable().getType(),
                   starts = getStarts().getType(), lengths = getLengths().getType();
  const bool fits = query.getRank() == 3 && keys.getRank() == 4 && !query.isDynamicDim(1) && !query.isDynamicDim(2) &&
                    keys.getNumDynamicDims() == (keys.isDynamicDim(0) ? 1 : 0) &&
                    query.getDimSize(2) == keys.getDimSize(3) && query.getDimSize(2) > 0 &&
                    query.getDimSize(2) <= mostDepth && query.getDimSize(1) > 0 && keys.getDimSize(1) > 0 &&
                    keys.getDimSize(2) > 0 && keys.getDimSize(2) <= mostPlaces &&
                    query.getDimSize(1) % keys.getDimSize(1) == 0;
  if (!fits) // C1
    return emitOpError() << "expects 'query' of [tokens, heads, depth], 'keys' and 'values' of [pages, key heads, "
                            "places, depth], with key heads that divide the heads, the same depth of at most "
                         << mostDepth << " and at most " << mostPlaces << " places, got " << query << " and " << keys;
  if (table.getRank() != 2 || starts.getRank() != 1 || lengths.getRank() != 1 ||
      !mayBeEqual(getDim(table, 0), getDim(lengths, 0)) ||
      !mayBeEqual(getDim(lengths, 0) ? getDim(lengths, 0) + 1 : DimAttr(), getDim(starts, 0))) // C2
    return emitOpError() << "expects 'table' of [sequences, most pages], 'starts' of [sequences + 1] and 'lengths' of "
                            "[sequences], got "
                         << table << ", " << starts << " and " << lengths;
  return verifyScores(*this); // C3
}

void PagedAttentionOp::collectConstraints(ConstraintCollector &collector) {
  DimAttr sequences = getDim(getLengths().getType(), 0);
  collector.wantEqual(getDim(getTable().getType(), 0), sequences); // C2
  if (sequences)
    collector.wantEqual(getDim(getStarts().getType(), 0), sequences + 1);
}

DimAttr PagedAttentionOp::getFlops() {
  RankedTensorType query = getQuery().getType(), keys = getKeys().getType();
  DimAttr scores = getDim(query, 0) * getDim(query, 1) * getDim(getTable().getType(), 1) * getDim(keys, 2);
  return scores * (getDim(query, 2) * 4 + 5);
}

void registerAttentionOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsAttention.cpp.inc"
      >(dialect);
}

} // namespace vx

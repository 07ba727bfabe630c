#include "vx/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// Builds the ops that stand for one op, which computes along some dimensions of a tensor of these sizes.
class Expansion {
public:
  Expansion(Operation *op, Type narrow, ArrayRef<DimAttr> dims)
      : builder(op), location(op->getLoc()), narrow(narrow), dims(dims) {
    wide = narrow.isF64() ? narrow : Type(builder.getF32Type());
    fullType = getTensorType(dims, wide);
  }
  Expansion(Operation *op, Value input)
      : Expansion(op, getElementTypeOrSelf(input.getType()), getDims(cast<RankedTensorType>(input.getType()))) {}

  RankedTensorType getFullType() const { return fullType; }

  /// `value` in the type that is computed in.
  Value widen(Value value) { return convert(value, wide); }
  Value narrowed(Value value) { return convert(value, narrow); }

  template <typename Op>
  Value binary(Value lhs, Value rhs) {
    return Op::create(builder, location, lhs.getType(), lhs, rhs);
  }
  template <typename Op>
  Value unary(Value value) {
    return Op::create(builder, location, value.getType(), value);
  }

  Value reduce(ReduceKind kind, Value value, ArrayRef<int64_t> axes) {
    SmallVector<DimAttr> kept;
    for (auto [index, dim] : llvm::enumerate(dims))
      if (!llvm::is_contained(axes, static_cast<int64_t>(index)))
        kept.push_back(dim);
    return ReduceOp::create(builder, location, getTensorType(kept, wide), kind, value, axes);
  }

  /// Repeats a reduced value along the dimensions that it lost.
  Value spread(Value value, ArrayRef<int64_t> axes) {
    SmallVector<int64_t> dimensions;
    for (int64_t d = 0; d < fullType.getRank(); ++d)
      if (!llvm::is_contained(axes, d))
        dimensions.push_back(d);
    return BroadcastOp::create(builder, location, fullType, value, dimensions);
  }

  /// Repeats a row along the dimensions before it.
  Value spreadRow(Value row) {
    int64_t rank = getTensor(row).getRank();
    auto dimensions = llvm::to_vector(llvm::seq<int64_t>(fullType.getRank() - rank, fullType.getRank()));
    return BroadcastOp::create(builder, location, fullType, row, dimensions);
  }

  /// A number in the shape of `like`.
  Value splat(double number, Value like) {
    auto scalar = RankedTensorType::get({}, wide);
    Value value = ConstantOp::create(builder, location, scalar,
                                     DenseElementsAttr::get(scalar, builder.getFloatAttr(wide, number)));
    return BroadcastOp::create(builder, location, like.getType(), value, ArrayRef<int64_t>());
  }

  /// sum / number of elements that it sums, also when that is known at the call only.
  Value mean(Value sum, ArrayRef<int64_t> axes) {
    DimAttr count = DimAttr::constant(builder.getContext(), 1);
    for (int64_t axis : axes)
      count = count * dims[axis];
    if (count.asConstant())
      return binary<DivOp>(sum, splat(static_cast<double>(*count.asConstant()), sum));
    Value size = convert(DimValueOp::create(builder, location, count), wide);
    return binary<DivOp>(sum, BroadcastOp::create(builder, location, sum.getType(), size, ArrayRef<int64_t>()));
  }

  /// sqrt(meanSquare + epsilon)
  Value root(Value meanSquare, double epsilon) {
    return unary<SqrtOp>(binary<AddOp>(meanSquare, splat(epsilon, meanSquare)));
  }

  static RankedTensorType getTensor(Value value) { return cast<RankedTensorType>(value.getType()); }
  /// `value` in the shape of all dimensions, its own being those of `dimensions`.
  Value repeat(Value value, ArrayRef<int64_t> dimensions) {
    RankedTensorType type = getTensorType(dims, getTensor(value).getElementType());
    return BroadcastOp::create(builder, location, type, value, dimensions);
  }

private:
  Value convert(Value value, Type elementType) {
    RankedTensorType type = getTensor(value);
    if (type.getElementType() == elementType)
      return value;
    return CastOp::create(builder, location, getTensorType(getDims(type), elementType), value);
  }

public:
  OpBuilder builder;
  Location location;

private:
  Type narrow, wide;
  SmallVector<DimAttr> dims;
  RankedTensorType fullType;
};

Value expandSoftmax(SoftmaxOp op) {
  Expansion e(op, op.getInput());
  SmallVector<int64_t> axes = {static_cast<int64_t>(op.getAxis())};
  Value input = e.widen(op.getInput());
  Value shifted = e.binary<SubOp>(input, e.spread(e.reduce(ReduceKind::max, input, axes), axes));
  Value exponentials = e.unary<ExpOp>(shifted);
  Value sum = e.reduce(ReduceKind::sum, exponentials, axes);
  if (op.getLog())
    return e.narrowed(e.binary<SubOp>(shifted, e.spread(e.unary<LogOp>(sum), axes)));
  return e.narrowed(e.binary<DivOp>(exponentials, e.spread(sum, axes)));
}

Value expandLayerNorm(LayerNormOp op) {
  Expansion e(op, op.getInput());
  auto axes = llvm::to_vector(llvm::seq<int64_t>(op.getAxis(), e.getFullType().getRank()));
  Value input = e.widen(op.getInput());
  Value mean = e.mean(e.reduce(ReduceKind::sum, input, axes), axes);
  Value centred = e.binary<SubOp>(input, e.spread(mean, axes));
  Value variance = e.mean(e.reduce(ReduceKind::sum, e.binary<MulOp>(centred, centred), axes), axes);
  Value deviation = e.root(variance, op.getEpsilon().convertToFloat());
  Value normal = e.binary<DivOp>(centred, e.spread(deviation, axes));
  Value scaled = e.binary<MulOp>(normal, e.spreadRow(e.widen(op.getScale())));
  return e.narrowed(e.binary<AddOp>(scaled, e.spreadRow(e.widen(op.getBias()))));
}

Value expandRmsNorm(RmsNormOp op) {
  Expansion e(op, op.getInput());
  SmallVector<int64_t> axes = {e.getFullType().getRank() - 1};
  Value input = e.widen(op.getInput());
  Value square = e.mean(e.reduce(ReduceKind::sum, e.binary<MulOp>(input, input), axes), axes);
  Value scaled = e.binary<MulOp>(input, e.spreadRow(e.widen(op.getScale())));
  return e.narrowed(e.binary<DivOp>(scaled, e.spread(e.root(square, op.getEpsilon().convertToFloat()), axes)));
}

/// Keys or values with a head for each head of the query.
Value expandHeads(Expansion &e, Value tensor, int64_t headsDim, DimAttr heads) {
  RankedTensorType type = Expansion::getTensor(tensor);
  SmallVector<DimAttr> dims = getDims(type);
  if (dims[headsDim] == heads)
    return tensor;
  SmallVector<DimAttr> repeated = dims, joined = dims;
  repeated.insert(repeated.begin() + headsDim + 1, DimAttr::floorDiv(heads, dims[headsDim]));
  joined[headsDim] = heads;
  SmallVector<int64_t> dimensions;
  for (int64_t d = 0; d < type.getRank(); ++d)
    dimensions.push_back(d <= headsDim ? d : d + 1);
  Type element = type.getElementType();
  Value wide = BroadcastOp::create(e.builder, e.location, getTensorType(repeated, element), tensor, dimensions);
  return ReshapeOp::create(e.builder, e.location, getTensorType(joined, element), wide);
}

/// The condition that a key takes part, as [length, key length]; null when all do.
Value getPlaceMask(Expansion &e, AttentionOp op, DimAttr length, DimAttr keyLength) {
  if (!op.getCausal() && !op.getWindow())
    return {};
  OpBuilder &b = e.builder;
  RankedTensorType type = getTensorType({length, keyLength}, b.getI64Type()),
                   bools = getTensorType({length, keyLength}, b.getI1Type());
  auto repeat = [&](DimAttr number) -> Value {
    return BroadcastOp::create(b, e.location, type, DimValueOp::create(b, e.location, number), ArrayRef<int64_t>());
  };
  Value place = IotaOp::create(b, e.location, type, 0), key = IotaOp::create(b, e.location, type, 1), takesPart;
  place = e.binary<AddOp>(place, repeat(op.getPastOrZero()));
  if (op.getCausal())
    takesPart = CompareOp::create(b, e.location, bools, ComparePredicate::le, key, place);
  if (op.getWindow()) {
    Value last = e.binary<AddOp>(key, repeat(DimAttr::constant(op.getContext(), *op.getWindow())));
    Value isNear = CompareOp::create(b, e.location, bools, ComparePredicate::gt, last, place);
    takesPart = takesPart ? e.binary<AndOp>(takesPart, isNear) : isNear;
  }
  return takesPart;
}

SmallVector<Value> expandAttention(AttentionOp op) {
  SmallVector<DimAttr> query = op.getQuerySizes(), key = op.getKeySizes();
  Expansion e(op, op.getQuery().getType().getElementType(), {query[0], query[1], query[2], key[2]});
  ArrayRef<int64_t> q = op.getQueryDims(), k = op.getKeyDims(), v = op.getValueDims();
  auto contract = [&](ArrayRef<DimAttr> dims, Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch,
                      ArrayRef<int64_t> rhsBatch, int64_t lhsSummed, int64_t rhsSummed) -> Value {
    auto type = getTensorType(dims, Expansion::getTensor(lhs).getElementType());
    return ContractOp::create(e.builder, e.location, type, lhs, rhs, lhsBatch, rhsBatch, ArrayRef(lhsSummed),
                              ArrayRef(rhsSummed));
  };
  Value keys = expandHeads(e, e.widen(op.getKey()), k[AttentionOp::Heads], query[AttentionOp::Heads]);
  Value values = expandHeads(e, e.widen(op.getValue()), v[AttentionOp::Heads], query[AttentionOp::Heads]);
  Value scores = contract({query[0], query[1], query[2], key[2]}, e.widen(op.getQuery()), keys, q.take_front(2),
                          k.take_front(2), q[3], k[3]);
  scores = e.binary<MulOp>(scores, e.splat(op.getScale().convertToDouble(), scores));
  if (op.getSoftcap()) {
    Value cap = e.splat(op.getSoftcap()->convertToDouble(), scores);
    scores = e.binary<MulOp>(e.unary<TanhOp>(e.binary<DivOp>(scores, cap)), cap);
  }
  if (op.getBias())
    scores = e.binary<AddOp>(scores, e.repeat(e.widen(op.getBias()), {0, 1, 2, 3}));
  Value takesPart;
  if (Value places = getPlaceMask(e, op, query[2], key[2]))
    takesPart = e.repeat(places, {2, 3});
  if (op.getMask()) {
    Value mask = e.repeat(op.getMask(), {0, 1, 2, 3});
    takesPart = takesPart ? e.binary<AndOp>(takesPart, mask) : mask;
  }
  if (takesPart)
    scores = SelectOp::create(e.builder, e.location, scores.getType(), takesPart, scores,
                              e.splat(-std::numeric_limits<double>::infinity(), scores));
  Value weights = SoftmaxOp::create(e.builder, e.location, scores.getType(), scores, 3, /*log=*/false);
  if (op.getZeroInvalid()) {
    Value isNan =
        IsNanOp::create(e.builder, e.location, getTensorType(getDims(e.getFullType()), e.builder.getI1Type()), weights);
    weights = SelectOp::create(e.builder, e.location, weights.getType(), isNan, e.splat(0, weights), weights);
  }
  SmallVector<int64_t> batch = {0, 1}, permutation(4);
  Value result =
      contract({query[0], query[1], query[2], op.getValueSizes()[3]}, weights, values, batch, v.take_front(2), 3, v[2]);
  for (auto [place, dim] : llvm::enumerate(op.getResultDims()))
    permutation[dim] = place;
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<Value> results = {e.narrowed(TransposeOp::create(
      e.builder, e.location, getTensorType(getDims(type), Expansion::getTensor(result).getElementType()), result,
      permutation))};
  if (op.getLogSumExp()) {
    SmallVector<int64_t> axes = {3};
    Value greatest = e.reduce(ReduceKind::max, scores, axes);
    Value sum = e.reduce(ReduceKind::sum, e.unary<ExpOp>(e.binary<SubOp>(scores, e.spread(greatest, axes))), axes);
    results.push_back(e.binary<AddOp>(greatest, e.unary<LogOp>(sum)));
  }
  return results;
}

using Expand = SmallVector<Value> (*)(Operation *op);

/// `function` of a typed op, with one result or several.
template <typename Op, auto function>
SmallVector<Value> expand(Operation *op) {
  return SmallVector<Value>{function(cast<Op>(op))};
}

/// The ops that are sums of others, each before those that it holds.
const std::pair<StringRef, Expand> kDecompositions[] = {
    {AttentionOp::getOperationName(), expand<AttentionOp, expandAttention>}, // holds a softmax
    {SoftmaxOp::getOperationName(), expand<SoftmaxOp, expandSoftmax>},
    {LayerNormOp::getOperationName(), expand<LayerNormOp, expandLayerNorm>},
    {RmsNormOp::getOperationName(), expand<RmsNormOp, expandRmsNorm>},
};

struct DecomposePass : impl::DecomposePassBase<DecomposePass> {
  using DecomposePassBase::DecomposePassBase;
  explicit DecomposePass(std::function<bool(Operation *)> isWanted) : isWanted(std::move(isWanted)) {}

  void runOnOperation() override {
    auto getShortName = [](auto decomposition) { return decomposition.first.split('.').second; };
    auto known = llvm::to_vector(llvm::map_range(kDecompositions, getShortName));
    for (const std::string &name : ops)
      if (!llvm::is_contained(known, name)) {
        getOperation().emitError() << "vx-decompose expects " << llvm::join(ArrayRef(known).drop_back(), ", ") << " or "
                                   << known.back() << " in 'ops', got '" << name << "'";
        return signalPassFailure();
      }
    for (auto [name, expand] : kDecompositions)
      if (!expandAll(name, expand))
        return signalPassFailure();
  }

  bool expandAll(StringRef name, Expand expand) {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (op->getName().getStringRef() != name)
        return;
      if (isWanted ? isWanted(op) : llvm::is_contained(ops, op->getName().stripDialect()))
        found.push_back(op);
    });
    for (Operation *op : found) {
      for (Type operand : op->getOperandTypes())
        if (llvm::is_contained(getDims(cast<RankedTensorType>(operand)), DimAttr())) {
          op->emitOpError() << "expects an expression for each dimension of its input, got " << operand;
          return false;
        }
      op->replaceAllUsesWith(ValueRange(expand(op)));
      op->erase();
    }
    return true;
  }

  std::function<bool(Operation *)> isWanted; // instead of `ops`
};

} // namespace

std::unique_ptr<Pass> createDecomposePass(std::function<bool(Operation *)> isWanted) {
  return std::make_unique<DecomposePass>(std::move(isWanted));
}

} // namespace vx

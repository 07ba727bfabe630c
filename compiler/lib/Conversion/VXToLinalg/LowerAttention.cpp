// Attention as two contractions around a softmax, in the loops (batch, head, query, key). All is computed in the
// accumulator's type and rounded once. Each part says which it is.
#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

class AttentionLowering {
public:
  AttentionLowering(KernelLowering &lowering, AttentionOp op)
      : lowering(lowering), op(op), loc(op.getLoc()), context(op.getContext()),
        accumulator(getAccumulatorType(typeOf(op.getResult()).getElementType())) {
    SmallVector<DimAttr> query = op.getQuerySizes(), key = op.getKeySizes(), value = op.getValueSizes();
    rowType = getTensorType(ArrayRef(query).drop_back(), accumulator);
    scoreType = getTensorType({query[0], query[1], query[2], key[2]}, accumulator);
    valueType = getTensorType({query[0], query[1], query[2], value[3]}, accumulator);
  }

  void run() {
    Value scores = lowerScores(lowerDots());
    Value greatest = reduceRow(vxk::AttentionPart::max, ReduceKind::max, scores, {},
                               [](OpBuilder &, Location, ValueRange args) { return args[0]; });
    auto exponential = [](OpBuilder &b, Location l, ValueRange args) -> Value {
      return math::ExpOp::create(b, l, arith::SubFOp::create(b, l, args[0], args[1]));
    };
    Value sum = reduceRow(vxk::AttentionPart::sum, ReduceKind::sum, scores, greatest, exponential);
    Value values = lowerValues(scores, greatest, exponential);
    lowerResult(values, sum);
    if (op.getLogSumExp())
      lowerLogSumExp(greatest, sum);
  }

private:
  AffineExpr dim(unsigned position) { return getAffineDimExpr(position, context); }
  AffineMap map(unsigned loops, ArrayRef<AffineExpr> exprs) { return AffineMap::get(loops, 0, exprs, context); }
  Value named(Value value, vxk::AttentionPart part) {
    value.getDefiningOp()->setAttr(vxk::kAttentionPartAttr, vxk::AttentionPartAttr::get(context, part));
    return value;
  }

  /// The map of a tensor whose batch, heads, length and depth are these loops.
  AffineMap mapOf(unsigned loops, ArrayRef<int64_t> dims, ArrayRef<unsigned> loopOf) {
    SmallVector<AffineExpr> exprs(4);
    for (auto [place, loop] : llvm::zip(dims, loopOf))
      exprs[place] = dim(loop);
    return map(loops, exprs);
  }

  /// Keys or values with a head for each head of the query, and the dimensions that are then theirs.
  std::pair<Value, SmallVector<int64_t>> expandHeads(Value tensor, ArrayRef<int64_t> dims) {
    DimAttr heads = op.getQuerySizes()[AttentionOp::Heads],
            own = AttentionOp::getSizes(tensor, dims)[AttentionOp::Heads];
    Value lowered = lowering.get(tensor);
    if (heads == own)
      return {lowered, SmallVector<int64_t>(dims)};
    SmallVector<DimAttr> sizes = AttentionOp::getSizes(tensor, dims);
    sizes[AttentionOp::Heads] = heads;
    auto type = getTensorType(sizes, typeOf(tensor).getElementType());
    // Heads are few: 32 bits are enough, and cheaper on a GPU. A driver of NVIDIA's got a 64-bit division wrong here.
    // There may be none on either side.
    DimAttr divisor = DimAttr::max(own, DimAttr::constant(lowering.builder.getContext(), 1));
    Value headsOfGroup = arith::IndexCastOp::create(lowering.builder, loc, lowering.builder.getI32Type(),
                                                    lowering.dim(loc, DimAttr::floorDiv(heads, divisor)));
    Value expanded = lowering.elementwise(loc, type, getBodyType(type.getElementType()), {},
                                          [&](OpBuilder &b, Location l, ValueRange) -> Value {
                                            SmallVector<Value> at(4);
                                            for (auto [loop, place] : llvm::enumerate(dims))
                                              at[place] = linalg::IndexOp::create(b, l, loop);
                                            Value &head = at[dims[AttentionOp::Heads]];
                                            Value number = arith::IndexCastOp::create(b, l, b.getI32Type(), head);
                                            number = arith::DivUIOp::create(b, l, number, headsOfGroup);
                                            head = arith::IndexCastOp::create(b, l, b.getIndexType(), number);
                                            return tensor::ExtractOp::create(b, l, lowered, at);
                                          });
    return {expanded, {0, 1, 2, 3}};
  }

  Value contract(vxk::AttentionPart part, RankedTensorType type, ValueRange operands, ArrayRef<AffineMap> maps,
                 BodyBuilder product) {
    Value init = lowering.filled(loc, type, getIdentity(ReduceKind::sum, accumulator, accumulator));
    SmallVector<AffineMap> allMaps(maps);
    allMaps.push_back(AffineMap::getMultiDimIdentityMap(5, context).getSliceMap(0, 4));
    SmallVector<utils::IteratorType> iterators(5, utils::IteratorType::parallel);
    iterators[4] = utils::IteratorType::reduction;
    auto generic = linalg::GenericOp::create(
        lowering.builder, loc, init.getType(), operands, init, allMaps, iterators,
        [&](OpBuilder &b, Location l, ValueRange args) {
          Value term = product(b, l, args.drop_back());
          linalg::YieldOp::create(
              b, l, Value(arith::AddFOp::create(b, l, args.back(), term, arith::FastMathFlags::contract)));
        });
    return named(generic.getResult(0), part);
  }

  /// sum over d of query * key
  Value lowerDots() {
    auto [key, keyDims] = expandHeads(op.getKey(), op.getKeyDims());
    AffineMap queryMap = mapOf(5, op.getQueryDims(), {0, 1, 2, 4}), keyMap = mapOf(5, keyDims, {0, 1, 3, 4});
    return contract(vxk::AttentionPart::dots, scoreType, {lowering.get(op.getQuery()), key}, {queryMap, keyMap},
                    [](OpBuilder &b, Location l, ValueRange args) -> Value {
                      return arith::MulFOp::create(b, l, widen(b, l, args[0]), widen(b, l, args[1]),
                                                   arith::FastMathFlags::contract);
                    });
  }

  /// The map of a mask or bias, which repeats along dimensions of size 1.
  AffineMap repeated(Value tensor) {
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < 4; ++d)
      exprs.push_back(typeOf(tensor).getDimSize(d) == 1 ? getAffineConstantExpr(0, context) : dim(d));
    return map(4, exprs);
  }

  Value lowerScores(Value dots) {
    SmallVector<Value> operands = {dots};
    SmallVector<AffineMap> maps = {AffineMap::getMultiDimIdentityMap(4, context)};
    for (Value tensor : {op.getBias(), op.getMask()})
      if (tensor) {
        operands.push_back(lowering.get(tensor));
        maps.push_back(repeated(tensor));
      }
    Value past = lowering.dim(loc, op.getPastOrZero());
    Value window = op.getWindow() ? lowering.index(loc, *op.getWindow()) : Value();
    return named(lowering.parallel(
                     loc, scoreType, accumulator, operands, maps,
                     [&](OpBuilder &b, Location l, ValueRange args) -> Value {
                       Value score = arith::MulFOp::create(
                           b, l, args[0], constantScalar(b, l, accumulator, op.getScale().convertToDouble()));
                       if (op.getSoftcap()) {
                         Value cap = constantScalar(b, l, accumulator, op.getSoftcap()->convertToDouble());
                         score = arith::MulFOp::create(
                             b, l, math::TanhOp::create(b, l, arith::DivFOp::create(b, l, score, cap)), cap);
                       }
                       if (op.getBias())
                         score = arith::AddFOp::create(b, l, score, widen(b, l, args[1]));
                       Value takesPart = op.getMask() ? args.back() : Value();
                       auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
                         Value condition = arith::CmpIOp::create(b, l, predicate, lhs, rhs);
                         takesPart = takesPart ? Value(arith::AndIOp::create(b, l, takesPart, condition)) : condition;
                       };
                       if (op.getCausal() || window) {
                         Value place = arith::AddIOp::create(b, l, linalg::IndexOp::create(b, l, 2), past);
                         Value key = linalg::IndexOp::create(b, l, 3);
                         if (op.getCausal())
                           require(arith::CmpIPredicate::sle, key, place);
                         if (window)
                           require(arith::CmpIPredicate::sgt, arith::AddIOp::create(b, l, key, window), place);
                       }
                       if (!takesPart)
                         return score;
                       Value none = constantScalar(b, l, accumulator, -std::numeric_limits<double>::infinity());
                       return arith::SelectOp::create(b, l, takesPart, score, none);
                     }),
                 vxk::AttentionPart::scores);
  }

  Value reduceRow(vxk::AttentionPart part, ReduceKind kind, Value scores, Value perRow, BodyBuilder body) {
    Value init = lowering.filled(loc, rowType, getIdentity(kind, accumulator, accumulator));
    AffineMap all = AffineMap::getMultiDimIdentityMap(4, context), row = all.getSliceMap(0, 3);
    SmallVector<Value> operands = {scores};
    SmallVector<AffineMap> maps = {all};
    if (perRow) {
      operands.push_back(perRow);
      maps.push_back(row);
    }
    maps.push_back(row);
    SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
    iterators[3] = utils::IteratorType::reduction;
    auto generic = linalg::GenericOp::create(lowering.builder, loc, init.getType(), operands, init, maps, iterators,
                                             [&](OpBuilder &b, Location l, ValueRange args) {
                                               Value term = body(b, l, args.drop_back());
                                               linalg::YieldOp::create(
                                                   b, l, combineScalars(b, l, kind, term, args.back(), accumulator));
                                             });
    return named(generic.getResult(0), part);
  }

  /// sum over t of e^(score - max) * value; loops (batch, head, query, depth, key)
  Value lowerValues(Value scores, Value greatest, BodyBuilder exponential) {
    auto [value, valueDims] = expandHeads(op.getValue(), op.getValueDims());
    SmallVector<AffineMap> maps = {map(5, {dim(0), dim(1), dim(2), dim(4)}), map(5, {dim(0), dim(1), dim(2)}),
                                   mapOf(5, valueDims, {0, 1, 4, 3})};
    return contract(vxk::AttentionPart::values, valueType, {scores, greatest, value}, maps,
                    [&](OpBuilder &b, Location l, ValueRange args) -> Value {
                      Value weight = exponential(b, l, args.take_front(2));
                      return arith::MulFOp::create(b, l, weight, widen(b, l, args[2]), arith::FastMathFlags::contract);
                    });
  }

  void lowerResult(Value values, Value sum) {
    // The loops are the result's own dimensions.
    RankedTensorType type = typeOf(op.getResult());
    SmallVector<AffineExpr> exprs;
    for (int64_t place : op.getResultDims())
      exprs.push_back(dim(place));
    SmallVector<AffineMap> maps = {map(4, exprs), map(4, ArrayRef(exprs).drop_back())};
    maps.push_back(maps.back());
    // One division for a row.
    Value reciprocal =
        lowering.elementwise(loc, rowType, accumulator, {sum}, [&](OpBuilder &b, Location l, ValueRange args) -> Value {
          return arith::DivFOp::create(b, l, constantScalar(b, l, accumulator, 1), args[0]);
        });
    bool zeroInvalid = op.getZeroInvalid();
    Value result = lowering.parallel(
        loc, type, type.getElementType(), {values, sum, reciprocal}, maps,
        [&](OpBuilder &b, Location l, ValueRange args) -> Value {
          Value zero = constantScalar(b, l, accumulator, 0);
          // No keys: a sum of 0. Otherwise the greatest score alone adds 1, and an invalid row makes the sum NaN.
          auto predicate = zeroInvalid ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::UNE;
          Value isSum = arith::CmpFOp::create(b, l, predicate, args[1], zero);
          Value quotient = arith::MulFOp::create(b, l, args[0], args[2]);
          return narrow(b, l, arith::SelectOp::create(b, l, isSum, quotient, zero), type.getElementType());
        });
    lowering.markAnchor(op, result.getDefiningOp());
    lowering.set(op.getResult(), named(result, vxk::AttentionPart::result));
  }

  void lowerLogSumExp(Value greatest, Value sum) {
    Value result = lowering.elementwise(
        loc, rowType, accumulator, {greatest, sum}, [](OpBuilder &b, Location l, ValueRange args) -> Value {
          return arith::AddFOp::create(b, l, args[0], math::LogOp::create(b, l, args[1]));
        });
    lowering.set(op.getLogSumExp(), named(result, vxk::AttentionPart::log_sum_exp));
  }

  KernelLowering &lowering;
  AttentionOp op;
  Location loc;
  MLIRContext *context;
  Type accumulator;
  RankedTensorType rowType, scoreType, valueType;
};

LogicalResult lowerAttention(KernelLowering &lowering, AttentionOp op) {
  AttentionLowering(lowering, op).run();
  return success();
}

LogicalResult lowerPagedAttention(KernelLowering &lowering, PagedAttentionOp op) {
  FailureOr<Value> destination = getOwnDestination(lowering, op);
  if (failed(destination))
    return failure();
  auto asFloats = [&](Value tensor) -> Value {
    RankedTensorType type = typeOf(tensor);
    if (type.getElementType().isF32())
      return lowering.get(tensor);
    return lowering.elementwise(op.getLoc(), type, lowering.builder.getF32Type(), lowering.get(tensor),
                                [](OpBuilder &b, Location l, ValueRange args) { return widen(b, l, args[0]); });
  };
  vxk::PagedAttentionOp::create(lowering.builder, op.getLoc(), asFloats(op.getQuery()), asFloats(op.getKeys()),
                                asFloats(op.getValues()), lowering.get(op.getTable()), lowering.get(op.getStarts()),
                                lowering.get(op.getLengths()), *destination, op.getScaleAttr(), op.getSoftcapAttr(),
                                op.getWindowAttr());
  return success();
}

} // namespace

void addAttentionLowerings(LoweringTable &table) {
  table.add<AttentionOp, lowerAttention>();
  table.add<PagedAttentionOp, lowerPagedAttention>();
}

} // namespace vx

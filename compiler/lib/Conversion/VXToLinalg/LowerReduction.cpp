#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

/// Loops over the input's dimensions; those in `axes` are reductions.
Value lowerReduce(KernelLowering &lowering, ReduceOp op) {
  auto inputType = typeOf(op.getInput()), type = typeOf(op.getResult());
  int64_t rank = inputType.getRank();
  SmallVector<AffineExpr> kept;
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  for (int64_t d = 0; d < rank; ++d)
    if (llvm::is_contained(op.getAxes(), d))
      iterators[d] = utils::IteratorType::reduction;
    else
      kept.push_back(getAffineDimExpr(d, op.getContext()));
  Type vxElement = type.getElementType();
  Type accumulator = getAccumulatorType(getBodyType(vxElement));
  Value init = lowering.filled(op.getLoc(), type, getIdentity(op.getKind(), vxElement, accumulator));
  SmallVector<AffineMap> maps = {AffineMap::getMultiDimIdentityMap(rank, op.getContext()),
                                 AffineMap::get(rank, 0, kept, op.getContext())};
  auto generic = linalg::GenericOp::create(
      lowering.builder, op.getLoc(), init.getType(), lowering.get(op.getInput()), init, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        linalg::YieldOp::create(b, l, combineScalars(b, l, op.getKind(), widen(b, l, args[0]), args[1], vxElement));
      });
  lowering.markAnchor(op, generic);
  return roundTo(lowering, op.getLoc(), generic.getResult(0), type);
}

/// Loops over the result's dimensions, then over the window's dimensions of more than one element.
Value lowerReduceWindow(KernelLowering &lowering, ReduceWindowOp op) {
  auto type = typeOf(op.getResult());
  Location loc = op.getLoc();
  int64_t rank = type.getRank();
  SmallVector<int64_t> windowDims, windowSizes;
  for (auto [d, size] : llvm::enumerate(op.getWindow()))
    if (size != 1) {
      windowDims.push_back(d);
      windowSizes.push_back(size);
    }
  int64_t loops = rank + windowDims.size();
  SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::parallel);
  std::fill(iterators.begin() + rank, iterators.end(), utils::IteratorType::reduction);
  Type vxElement = type.getElementType(), inputElement = getBodyType(vxElement);
  Type accumulator = getAccumulatorType(inputElement);
  TypedAttr identity = getIdentity(op.getKind(), vxElement, accumulator);
  Value init = lowering.filled(loc, type, identity);
  Value input = lowering.get(op.getInput());
  // A tensor that is never read gives the window's loops their sizes.
  Value window = tensor::EmptyOp::create(lowering.builder, loc, windowSizes, inputElement);
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < rank; ++d)
    sizes.push_back(lowering.size(loc, op.getInput(), d));
  AffineMap identityMap = AffineMap::getMultiDimIdentityMap(loops, op.getContext());
  SmallVector<AffineMap> maps = {identityMap.getSliceMap(rank, windowDims.size()), identityMap.getSliceMap(0, rank)};
  auto generic = linalg::GenericOp::create(
      lowering.builder, loc, init.getType(), window, init, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        SmallVector<Value> indices, conditions;
        for (int64_t d = 0; d < rank; ++d) {
          Value at = linalg::IndexOp::create(b, l, d), inWindow;
          if (auto *place = llvm::find(windowDims, d); place != windowDims.end())
            inWindow = linalg::IndexOp::create(b, l, rank + (place - windowDims.begin()));
          indices.push_back(
              getWindowPlace(b, l, {op.getStrides()[d], op.getDilations()[d], op.getPadsLow()[d], op.getPadsHigh()[d]},
                             at, inWindow, sizes[d], conditions));
        }
        Value element = guardedRead(
            b, l, conditions,
            [&](OpBuilder &inner) { return widen(inner, l, tensor::ExtractOp::create(inner, l, input, indices)); },
            [&](OpBuilder &inner) -> Value { return arith::ConstantOp::create(inner, l, identity); }, accumulator);
        linalg::YieldOp::create(b, l, combineScalars(b, l, op.getKind(), element, args[1], vxElement));
      });
  return roundTo(lowering, loc, generic.getResult(0), type);
}

/// The positions along the last dimension for one thread, as two reductions that vectors do: the best element, then the
/// first or the last position of its equals; -1 where there is no element.
Value lowerArgReduceInRows(KernelLowering &lowering, ArgReduceOp op) {
  auto inputType = typeOf(op.getInput()), type = typeOf(op.getResult());
  Location loc = op.getLoc();
  const int64_t rank = inputType.getRank(), axis = op.getAxis();
  MLIRContext *context = op.getContext();
  Type vxElement = inputType.getElementType();
  const Type accumulator = getAccumulatorType(getBodyType(vxElement));
  const std::optional<int64_t> length = getDim(inputType, axis).asConstant();
  const Type position =
      length && llvm::isInt<32>(*length) ? lowering.builder.getI32Type() : lowering.builder.getI64Type();
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators[axis] = utils::IteratorType::reduction;
  const AffineMap identity = AffineMap::getMultiDimIdentityMap(rank, context), row = identity.getSliceMap(0, rank - 1);
  Value input = lowering.get(op.getInput());
  auto reduce = [&](TypedAttr init, ValueRange operands, ArrayRef<AffineMap> maps, BodyBuilder body) -> Value {
    Value filled = lowering.filled(loc, type, init);
    SmallVector<AffineMap> allMaps(maps);
    allMaps.push_back(row);
    auto generic = linalg::GenericOp::create(
        lowering.builder, loc, filled.getType(), operands, filled, allMaps, iterators,
        [&](OpBuilder &b, Location l, ValueRange args) { linalg::YieldOp::create(b, l, body(b, l, args)); });
    return generic.getResult(0);
  };
  Value best = reduce(getIdentity(op.getKind(), vxElement, accumulator), input, identity,
                      [&](OpBuilder &b, Location l, ValueRange args) {
                        return combineScalars(b, l, op.getKind(), widen(b, l, args[0]), args[1], vxElement);
                      });
  // As an unsigned number, -1 is more than any position.
  Value found = reduce(lowering.builder.getIntegerAttr(position, -1), {input, best}, {identity, row},
                       [&](OpBuilder &b, Location l, ValueRange args) -> Value {
                         Value element = widen(b, l, args[0]),
                               isBest = compareScalars(b, l, ComparePredicate::eq, element, args[1], vxElement);
                         if (isa<FloatType>(accumulator)) {
                           // A NaN beats every number, and no comparison with it is true.
                           Value isNaN = compareScalars(b, l, ComparePredicate::ne, element, element, vxElement);
                           Value isBestNaN = compareScalars(b, l, ComparePredicate::ne, args[1], args[1], vxElement);
                           isBest = arith::OrIOp::create(b, l, isBest, arith::AndIOp::create(b, l, isNaN, isBestNaN));
                         }
                         Value at = arith::IndexCastOp::create(b, l, position, linalg::IndexOp::create(b, l, axis));
                         Value none = arith::ConstantOp::create(b, l, b.getIntegerAttr(position, -1));
                         at = arith::SelectOp::create(b, l, isBest, at, none);
                         return op.getLast() ? arith::MaxSIOp::create(b, l, at, args[2]).getResult()
                                             : arith::MinUIOp::create(b, l, at, args[2]).getResult();
                       });
  if (position.isInteger(64))
    return found;
  return lowering.elementwise(loc, type, lowering.builder.getI64Type(), found,
                              [](OpBuilder &b, Location l, ValueRange args) -> Value {
                                return arith::ExtSIOp::create(b, l, b.getI64Type(), args[0]);
                              });
}

Value lowerArgReduce(KernelLowering &lowering, ArgReduceOp op) {
  auto inputType = typeOf(op.getInput()), type = typeOf(op.getResult());
  Location loc = op.getLoc();
  int64_t rank = inputType.getRank(), axis = op.getAxis();
  auto threads = lowering.builder.getBlock()->getParentOp()->getAttrOfType<IntegerAttr>(vxk::kThreadsAttr);
  if (axis + 1 == rank && threads && threads.getInt() == 1)
    return lowerArgReduceInRows(lowering, op);
  SmallVector<AffineExpr> kept;
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators[axis] = utils::IteratorType::reduction;
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis)
      kept.push_back(getAffineDimExpr(d, op.getContext()));
  Type vxElement = inputType.getElementType(), element = getBodyType(vxElement);
  SmallVector<DimAttr> dims;
  for (int64_t d = 0; d < type.getRank(); ++d)
    dims.push_back(getDim(type, d));
  RankedTensorType valueType = getTensorType(dims, vxElement);
  Value bestInit = lowering.filled(loc, valueType, getIdentity(op.getKind(), vxElement, element));
  // -1: nothing seen yet.
  Value placeInit = lowering.filled(loc, type, lowering.builder.getI64IntegerAttr(-1));
  AffineMap outMap = AffineMap::get(rank, 0, kept, op.getContext());
  SmallVector<AffineMap> maps = {AffineMap::getMultiDimIdentityMap(rank, op.getContext()), outMap, outMap};
  bool isMax = op.getKind() == ReduceKind::max;
  auto generic = linalg::GenericOp::create(
      lowering.builder, loc, TypeRange{bestInit.getType(), placeInit.getType()}, lowering.get(op.getInput()),
      ValueRange{bestInit, placeInit}, maps, iterators, [&](OpBuilder &b, Location l, ValueRange args) {
        Value value = args[0], best = args[1], place = args[2];
        Value at = linalg::IndexOp::create(b, l, axis);
        at = arith::IndexCastOp::create(b, l, b.getI64Type(), at);
        ComparePredicate predicate = op.getLast() ? (isMax ? ComparePredicate::ge : ComparePredicate::le)
                                                  : (isMax ? ComparePredicate::gt : ComparePredicate::lt);
        Value isBetter = compareScalars(b, l, predicate, value, best, vxElement);
        if (isa<FloatType>(element)) {
          // A NaN beats every number; against another NaN the first or last counts. No comparison with NaN is true.
          Value isNan = compareScalars(b, l, ComparePredicate::ne, value, value, vxElement);
          if (!op.getLast()) {
            Value bestIsNumber = compareScalars(b, l, ComparePredicate::eq, best, best, vxElement);
            isNan = arith::AndIOp::create(b, l, isNan, bestIsNumber);
          }
          isBetter = arith::OrIOp::create(b, l, isBetter, isNan);
        }
        Value none =
            arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, place, arith::ConstantIntOp::create(b, l, 0, 64));
        isBetter = arith::OrIOp::create(b, l, isBetter, none);
        linalg::YieldOp::create(b, l,
                                ValueRange{arith::SelectOp::create(b, l, isBetter, value, best),
                                           arith::SelectOp::create(b, l, isBetter, at, place)});
      });
  return generic.getResult(1);
}

LogicalResult lowerCumulativeSum(KernelLowering &lowering, CumulativeSumOp op) {
  FailureOr<Value> destination = getOwnDestination(lowering, op);
  if (failed(destination))
    return failure();
  vxk::CumulativeSumOp::create(lowering.builder, op.getLoc(), lowering.get(op.getInput()), *destination,
                               op.getExclusive(), op.getReverse());
  return success();
}

} // namespace

void addReductionLowerings(LoweringTable &table) {
  table.add<ReduceOp, lowerReduce>();
  table.add<CumulativeSumOp, lowerCumulativeSum>();
  table.add<ReduceWindowOp, lowerReduceWindow>();
  table.add<ArgReduceOp, lowerArgReduce>();
}

} // namespace vx

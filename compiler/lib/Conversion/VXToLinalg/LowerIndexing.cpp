#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

/// One index of the data as i64, its range [lower, upper), and the place in its dimension that it means: one below 0
/// counts from the end, unless all count from the start.
struct WrappedIndex {
  Value index, lower, upper, isWrong, place;
};

WrappedIndex wrapIndex(OpBuilder &b, Location l, Value index, Value size, bool fromStart = false) {
  WrappedIndex wrapped;
  Type i64 = b.getI64Type();
  wrapped.index = index.getType() == i64 ? index : Value(arith::ExtSIOp::create(b, l, i64, index));
  wrapped.upper = arith::IndexCastOp::create(b, l, i64, size);
  Value zero = arith::ConstantIntOp::create(b, l, 0, 64);
  wrapped.lower = fromStart ? zero : Value(arith::SubIOp::create(b, l, zero, wrapped.upper));
  Value isLow = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, wrapped.index, wrapped.lower);
  Value isHigh = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sge, wrapped.index, wrapped.upper);
  wrapped.isWrong = arith::OrIOp::create(b, l, isLow, isHigh);
  Value place = wrapped.index;
  if (!fromStart) {
    Value isNegative = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, wrapped.index, zero);
    Value fromEnd = arith::AddIOp::create(b, l, wrapped.index, wrapped.upper);
    place = arith::SelectOp::create(b, l, isNegative, fromEnd, wrapped.index);
  }
  wrapped.place = arith::IndexCastOp::create(b, l, b.getIndexType(), place);
  return wrapped;
}

Value lowerGather(KernelLowering &lowering, GatherOp op) {
  auto type = typeOf(op.getResult());
  auto indicesType = typeOf(op.getIndices());
  int64_t axis = op.getAxis(), members = op.getMembers().value_or(1), rank = type.getRank();
  int64_t placeRank = indicesType.getRank() - (op.getMembers() ? 1 : 0);
  Location loc = op.getLoc();
  Value input = lowering.get(op.getInput()), indices = lowering.get(op.getIndices());
  SmallVector<Value> sizes;
  for (int64_t d = axis; d < axis + members; ++d)
    sizes.push_back(lowering.size(loc, op.getInput(), d));
  int64_t site = op.getInRange() ? -1 : lowering.takeFaultSite();
  Type element = getBodyType(type.getElementType());
  auto body = [&](OpBuilder &b, Location l, ValueRange args) -> Value {
    auto dimIndex = [&](int64_t d) -> Value { return linalg::IndexOp::create(b, l, d); };
    SmallVector<Value> at, isRight;
    for (int64_t d = 0; d < axis; ++d)
      at.push_back(dimIndex(d));
    for (int64_t member = 0; member < members; ++member) {
      SmallVector<Value> place;
      for (int64_t d = 0; d < placeRank; ++d)
        place.push_back(dimIndex(axis + d));
      if (op.getMembers())
        place.push_back(arith::ConstantIndexOp::create(b, l, member));
      Value index = args.empty() ? Value(tensor::ExtractOp::create(b, l, indices, place)) : args[0];
      if (op.getInRange()) {
        at.push_back(arith::IndexCastOp::create(b, l, b.getIndexType(), index));
      } else {
        WrappedIndex wrapped = wrapIndex(b, l, index, sizes[member]);
        SmallVector<Value> words;
        for (Value word : place)
          words.push_back(arith::IndexCastOp::create(b, l, b.getI64Type(), word));
        vxk::ReportFaultOp::create(b, l, wrapped.isWrong, wrapped.index, wrapped.lower, wrapped.upper, words,
                                   b.getI64IntegerAttr(site));
        at.push_back(wrapped.place);
      }
      isRight.push_back(isInside(b, l, at.back(), sizes[member]));
    }
    for (int64_t d = axis + placeRank; d < rank; ++d)
      at.push_back(dimIndex(d));
    return guardedRead(
        b, l, isRight, [&](OpBuilder &inner) { return tensor::ExtractOp::create(inner, l, input, at); },
        [&](OpBuilder &inner) -> Value { return arith::ConstantOp::create(inner, l, inner.getZeroAttr(element)); },
        element);
  };
  // Single indices are an operand that strategies can see.
  if (op.getMembers())
    return lowering.parallel(loc, type, element, {}, {}, body);
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < placeRank; ++d)
    exprs.push_back(getAffineDimExpr(axis + d, op.getContext()));
  return lowering.parallel(loc, type, element, indices, AffineMap::get(rank, 0, exprs, op.getContext()), body);
}

Value lowerCheckIndices(KernelLowering &lowering, CheckIndicesOp op) {
  auto type = typeOf(op.getResult());
  Location loc = op.getLoc();
  int64_t rank = type.getRank(), site = lowering.takeFaultSite();
  SmallVector<Value> sizes;
  for (DimAttr size : op.getSizes().getAsRange<DimAttr>())
    sizes.push_back(lowering.dim(loc, size));
  return lowering.elementwise(
      loc, type, getBodyType(type.getElementType()), lowering.get(op.getIndices()),
      [&](OpBuilder &b, Location l, ValueRange args) -> Value {
        SmallVector<Value> words;
        for (int64_t d = 0; d < rank; ++d)
          words.push_back(arith::IndexCastOp::create(b, l, b.getI64Type(), linalg::IndexOp::create(b, l, d)));
        Value size = sizes.front();
        for (auto [member, other] : llvm::drop_begin(llvm::enumerate(sizes))) {
          Value number = arith::ConstantIndexOp::create(b, l, member);
          Value isOther =
              arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, linalg::IndexOp::create(b, l, rank - 1), number);
          size = arith::SelectOp::create(b, l, isOther, other, size);
        }
        WrappedIndex wrapped = wrapIndex(b, l, args[0], size, op.getFromStart());
        vxk::ReportFaultOp::create(b, l, wrapped.isWrong, wrapped.index, wrapped.lower, wrapped.upper, words,
                                   b.getI64IntegerAttr(site));
        return arith::IndexCastOp::create(b, l, getBodyType(type.getElementType()), wrapped.place);
      });
}

/// Of updates, all that the kernel writes goes to places of its buffer.
LogicalResult lowerUpdate(KernelLowering &lowering, UpdateOpInterface op, Value indices, ArrayRef<int64_t> axes,
                          bool isSlice, bool adds) {
  Location loc = op.getLoc();
  FailureOr<Value> destination = getOwnDestination(lowering, op);
  if (failed(destination))
    return failure();
  if (Operation *source = op->getOperand(0).getDefiningOp())
    return op->emitOpError() << "expects to update an operand of its kernel, got the result of '" << source->getName()
                             << "'";
  RankedTensorType type = op.getUpdates().getType();
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(lowering.size(loc, op.getUpdates(), d));
  auto memref = MemRefType::get(type.getShape(), getStorageType(type.getElementType()));
  Value places = vxk::PlacesOp::create(lowering.builder, loc, memref, *destination, lowering.get(indices), axes,
                                       isSlice, adds, sizes);
  lowering.write(loc, op.getUpdates(), places);
  return success();
}

LogicalResult lowerScatter(KernelLowering &lowering, ScatterOp op) {
  return lowerUpdate(lowering, cast<UpdateOpInterface>(*op), op.getIndices(), op.getAxes(), /*isSlice=*/false,
                     op.getKind() == ScatterKind::add);
}

LogicalResult lowerUpdateSlice(KernelLowering &lowering, UpdateSliceOp op) {
  return lowerUpdate(lowering, cast<UpdateOpInterface>(*op), op.getStarts(), op.getAxes(), /*isSlice=*/true,
                     /*adds=*/false);
}

/// A loop nest over all elements of `input`, in row-major order, that carries one index.
Value scanElements(KernelLowering &lowering, Location loc, Value input, Value init,
                   function_ref<Value(OpBuilder &, Location, ValueRange at, Value isNonzero, Value carried)> body) {
  auto type = typeOf(input);
  Type vxElement = type.getElementType();
  Value tensor = lowering.get(input);
  SmallVector<Value> lowers(type.getRank(), lowering.index(loc, 0)), steps(type.getRank(), lowering.index(loc, 1)),
      uppers;
  for (int64_t d = 0; d < type.getRank(); ++d)
    uppers.push_back(lowering.size(loc, input, d));
  auto visit = [&](OpBuilder &b, Location l, ValueRange at, ValueRange carried) -> SmallVector<Value> {
    Value element = tensor::ExtractOp::create(b, l, tensor, at);
    Value zero = constantScalar(b, l, element.getType(), 0);
    Value isNonzero = compareScalars(b, l, ComparePredicate::ne, element, zero, vxElement);
    return {body(b, l, at, isNonzero, carried.front())};
  };
  if (type.getRank() == 0)
    return visit(lowering.builder, loc, {}, init).front();
  return scf::buildLoopNest(lowering.builder, loc, lowers, uppers, steps, init, visit).results.front();
}

Value addOneIf(OpBuilder &b, Location loc, Value condition, Value number) {
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  return arith::SelectOp::create(b, loc, condition, arith::AddIOp::create(b, loc, number, one), number);
}

Value lowerCountNonzero(KernelLowering &lowering, CountNonzeroOp op) {
  Location loc = op.getLoc();
  Value total = scanElements(
      lowering, loc, op.getInput(), lowering.index(loc, 0),
      [](OpBuilder &b, Location l, ValueRange, Value isNonzero, Value sum) { return addOneIf(b, l, isNonzero, sum); });
  total = arith::IndexCastOp::create(lowering.builder, loc, lowering.builder.getI64Type(), total);
  return tensor::FromElementsOp::create(lowering.builder, loc, RankedTensorType::get({}, total.getType()), total);
}

LogicalResult lowerNonzero(KernelLowering &lowering, NonzeroOp op) {
  Location loc = op.getLoc();
  // The places are written as they are found, straight to the kernel's buffer.
  FailureOr<Value> destination = getOwnDestination(lowering, op);
  if (failed(destination))
    return failure();
  Value columns = lowering.size(loc, op.getResult(), 1);
  scanElements(lowering, loc, op.getInput(), lowering.index(loc, 0),
               [&](OpBuilder &b, Location l, ValueRange at, Value isNonzero, Value position) {
                 Value hasRoom = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, position, columns);
                 Value writes = arith::AndIOp::create(b, l, isNonzero, hasRoom);
                 auto branch = scf::IfOp::create(b, l, writes, /*withElseRegion=*/false);
                 OpBuilder inner = branch.getThenBodyBuilder();
                 for (auto [d, index] : llvm::enumerate(at)) {
                   Value place = arith::IndexCastOp::create(inner, l, inner.getI64Type(), index);
                   Value row = arith::ConstantIndexOp::create(inner, l, d);
                   memref::StoreOp::create(inner, l, place, *destination, ValueRange{row, position});
                 }
                 return addOneIf(b, l, isNonzero, position);
               });
  return success();
}

/// Signed numbers in the order of the elements of `keys`: of equal elements equal ones, of a NaN the greatest. They
/// have 32 bits where that is enough.
Value emitOrderCodes(KernelLowering &lowering, Location loc, Value keys, bool descending) {
  RankedTensorType type = typeOf(keys);
  Type element = type.getElementType();
  unsigned width = element.getIntOrFloatBitWidth();
  Type code = lowering.builder.getIntegerType(width > 32 ? 64 : 32);
  return lowering.elementwise(
      loc, type, code, lowering.get(keys), [&](OpBuilder &b, Location l, ValueRange args) -> Value {
        auto number = [&](const APInt &value) -> Value {
          return arith::ConstantOp::create(b, l, b.getIntegerAttr(code, value));
        };
        unsigned bits = code.getIntOrFloatBitWidth();
        Value result = args[0];
        if (isa<FloatType>(element)) {
          result = arith::BitcastOp::create(b, l, code, widen(b, l, result));
          const llvm::fltSemantics &semantics = bits == 32 ? APFloat::IEEEsingle() : APFloat::IEEEdouble();
          Value most = number(APInt::getSignedMaxValue(bits)), zero = number(APInt(bits, 0));
          Value magnitude = arith::AndIOp::create(b, l, result, most);
          Value sign = arith::ShRSIOp::create(b, l, result, number(APInt(bits, bits - 1)));
          // The greater the magnitude of a negative number, the less it is; both zeros are 0.
          Value ordered = arith::XOrIOp::create(b, l, result, arith::AndIOp::create(b, l, sign, most));
          Value isZero = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, magnitude, zero);
          Value isNan = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sgt, magnitude,
                                              number(APFloat::getInf(semantics).bitcastToAPInt()));
          result = arith::SelectOp::create(b, l, isZero, zero, ordered);
          result = arith::SelectOp::create(b, l, isNan, most, result);
        } else {
          bool isUnsigned = element.isUnsignedInteger();
          if (width < bits)
            result = isUnsigned ? Value(arith::ExtUIOp::create(b, l, code, result))
                                : Value(arith::ExtSIOp::create(b, l, code, result));
          else if (isUnsigned)
            result = arith::XOrIOp::create(b, l, result, number(APInt::getSignedMinValue(bits)));
        }
        return descending ? Value(arith::XOrIOp::create(b, l, result, number(APInt::getAllOnes(bits)))) : result;
      });
}

LogicalResult lowerSelectBoxes(KernelLowering &lowering, SelectBoxesOp op) {
  FailureOr<Value> destination = getOwnDestination(lowering, op);
  if (failed(destination))
    return failure();
  Location loc = op.getLoc();
  Value codes = emitOrderCodes(lowering, loc, op.getScores(), /*descending=*/true),
        scores = lowering.get(op.getScores());
  RankedTensorType type = op.getScores().getType();
  AffineMap none = AffineMap::get(3, 0, {}, op.getContext()), own = lowering.builder.getMultiDimIdentityMap(3);
  // The greatest code is that of no score.
  codes = lowering.parallel(loc, type, lowering.builder.getI32Type(), {codes, scores, lowering.get(op.getLeast())},
                            {own, own, none}, [](OpBuilder &b, Location l, ValueRange args) -> Value {
                              Value last = arith::ConstantIntOp::create(b, l, std::numeric_limits<int32_t>::max(), 32);
                              Value counts = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OGE, args[1], args[2]);
                              return arith::SelectOp::create(b, l, counts, args[0], last);
                            });
  Value overlap = tensor::ExtractOp::create(lowering.builder, loc, lowering.get(op.getOverlap()), ValueRange());
  vxk::SelectBoxesOp::create(lowering.builder, loc, lowering.get(op.getBoxes()), codes, overlap, *destination);
  return success();
}

LogicalResult lowerTopPlaces(KernelLowering &lowering, TopPlacesOp op) {
  FailureOr<Value> destination = getOwnDestination(lowering, op);
  if (failed(destination))
    return failure();
  Value codes = emitOrderCodes(lowering, op.getLoc(), op.getKeys(), op.getDescending());
  vxk::TopPlacesOp::create(lowering.builder, op.getLoc(), codes, *destination);
  return success();
}

LogicalResult lowerMergeRuns(KernelLowering &lowering, MergeRunsOp op) {
  FailureOr<Value> destination = getOwnDestination(lowering, op);
  if (failed(destination))
    return failure();
  Location loc = op.getLoc();
  OpBuilder &b = lowering.builder;
  Value codes = emitOrderCodes(lowering, loc, op.getKeys(), op.getDescending());
  // Longer runs than there are places are no runs.
  Value level = tensor::ExtractOp::create(b, loc, lowering.get(op.getLevel()), ValueRange());
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 64), most = arith::ConstantIntOp::create(b, loc, 48, 64);
  level = arith::MaxSIOp::create(b, loc, zero, arith::MinSIOp::create(b, loc, level, most));
  level = arith::IndexCastOp::create(b, loc, b.getIndexType(), level);
  vxk::MergeRunsOp::create(b, loc, codes, lowering.get(op.getPlaces()), level, *destination);
  return success();
}

} // namespace

void addIndexingLowerings(LoweringTable &table) {
  table.add<GatherOp, lowerGather>();
  table.add<CheckIndicesOp, lowerCheckIndices>();
  table.add<ScatterOp, lowerScatter>();
  table.add<UpdateSliceOp, lowerUpdateSlice>();
  table.add<CountNonzeroOp, lowerCountNonzero>();
  table.add<NonzeroOp, lowerNonzero>();
  table.add<TopPlacesOp, lowerTopPlaces>();
  table.add<SelectBoxesOp, lowerSelectBoxes>();
  table.add<MergeRunsOp, lowerMergeRuns>();
}

} // namespace vx

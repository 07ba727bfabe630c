#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value lowerGather(KernelLowering &lowering, GatherOp op) {
  auto type = typeOf(op.getResult());
  auto indicesType = typeOf(op.getIndices());
  int64_t axis = op.getAxis(), rank = type.getRank(), indexRank = indicesType.getRank();
  Location loc = op.getLoc();
  Value input = lowering.get(op.getInput());
  Value size = lowering.size(loc, op.getInput(), axis);
  int64_t site = lowering.takeFaultSite();
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < indexRank; ++d)
    exprs.push_back(getAffineDimExpr(axis + d, op.getContext()));
  Type element = getBodyType(type.getElementType());
  return lowering.parallel(
      loc, type, element, lowering.get(op.getIndices()), AffineMap::get(rank, 0, exprs, op.getContext()),
      [&](OpBuilder &b, Location l, ValueRange args) -> Value {
        Value index = args[0];
        Type i64 = b.getI64Type();
        if (index.getType() != i64)
          index = arith::ExtSIOp::create(b, l, i64, index);
        Value upper = arith::IndexCastOp::create(b, l, i64, size);
        Value zero = arith::ConstantIntOp::create(b, l, 0, 64);
        Value lower = arith::SubIOp::create(b, l, zero, upper);
        Value isLow = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, index, lower);
        Value isHigh = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sge, index, upper);
        Value isWrong = arith::OrIOp::create(b, l, isLow, isHigh);
        vxk::ReportFaultOp::create(b, l, isWrong, index, lower, upper, b.getI64IntegerAttr(site));
        Value isNegative = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, index, zero);
        Value fromStart = arith::SelectOp::create(b, l, isNegative, arith::AddIOp::create(b, l, index, upper), index);
        Value place = arith::IndexCastOp::create(b, l, b.getIndexType(), fromStart);
        SmallVector<Value> at;
        for (int64_t d = 0; d < axis; ++d)
          at.push_back(linalg::IndexOp::create(b, l, d));
        at.push_back(place);
        for (int64_t d = axis + indexRank; d < rank; ++d)
          at.push_back(linalg::IndexOp::create(b, l, d));
        Value isRight = isInside(b, l, place, size);
        return guardedRead(
            b, l, isRight, [&](OpBuilder &inner) { return tensor::ExtractOp::create(inner, l, input, at); },
            [&](OpBuilder &inner) -> Value { return arith::ConstantOp::create(inner, l, inner.getZeroAttr(element)); },
            element);
      });
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

} // namespace

FailureOr<bool> lowerIndexingOp(KernelLowering &lowering, Operation *op) {
  Location loc = op->getLoc();
  if (auto gather = dyn_cast<GatherOp>(op)) {
    lowering.set(gather.getResult(), lowerGather(lowering, gather));
    return true;
  }
  if (auto count = dyn_cast<CountNonzeroOp>(op)) {
    Value total = scanElements(lowering, loc, count.getInput(), lowering.index(loc, 0),
                               [](OpBuilder &b, Location l, ValueRange, Value isNonzero, Value sum) {
                                 return addOneIf(b, l, isNonzero, sum);
                               });
    total = arith::IndexCastOp::create(lowering.builder, loc, lowering.builder.getI64Type(), total);
    lowering.set(count.getResult(), tensor::FromElementsOp::create(lowering.builder, loc,
                                                                   RankedTensorType::get({}, total.getType()), total));
    return true;
  }
  if (auto nonzero = dyn_cast<NonzeroOp>(op)) {
    // The places are written as they are found, straight to the kernel's buffer.
    Value destination = lowering.destinations.lookup(nonzero.getResult());
    if (!destination || !nonzero.getResult().hasOneUse())
      return op->emitOpError() << "expects to be the result of its kernel, and nothing else to use it";
    Value columns = lowering.size(loc, nonzero.getResult(), 1);
    scanElements(lowering, loc, nonzero.getInput(), lowering.index(loc, 0),
                 [&](OpBuilder &b, Location l, ValueRange at, Value isNonzero, Value position) {
                   Value hasRoom = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, position, columns);
                   Value writes = arith::AndIOp::create(b, l, isNonzero, hasRoom);
                   auto branch = scf::IfOp::create(b, l, writes, /*withElseRegion=*/false);
                   OpBuilder inner = branch.getThenBodyBuilder();
                   for (auto [d, index] : llvm::enumerate(at)) {
                     Value place = arith::IndexCastOp::create(inner, l, inner.getI64Type(), index);
                     Value row = arith::ConstantIndexOp::create(inner, l, d);
                     memref::StoreOp::create(inner, l, place, destination, ValueRange{row, position});
                   }
                   return addOneIf(b, l, isNonzero, position);
                 });
    return true;
  }
  return false;
}

} // namespace vx

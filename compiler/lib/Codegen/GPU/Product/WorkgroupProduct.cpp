#include "WorkgroupProduct.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {

Value WorkgroupProduct::enterProduct() {
  bufferization::MaterializeInDestinationOp last = shape.results.back();
  Value number = enter(last);
  linalg::GenericOp op = shape.op;
  loopSizes.resize(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands())
    for (auto [d, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !loopSizes[dim.getPosition()])
        loopSizes[dim.getPosition()] = evaluator->sizeOf(operand.get(), d);
  return number;
}

void WorkgroupProduct::enterTile(Value number, StrategyAttrInterface strategy) {
  SmallVector<Value> sizes;
  for (unsigned loop : shape.resultLoops)
    sizes.push_back(loopSizes[loop]);
  box = getWorkgroupTile(builder, loc, number, sizes, strategy.getWorkgroupTile());
  thread = vxk::ThreadIdOp::create(builder, loc);
  sumLength = index(1);
  for (unsigned loop : shape.sumLoops) {
    sumSizes.push_back(loopSizes[loop]);
    sumLength = times(sumLength, loopSizes[loop]);
  }
  std::optional<int64_t> known = getConstantIntValue(sumLength);
  needsZeros = !known || *known % (tile.step * tile.depth * tile.slices) != 0;
}

SmallVector<Value> WorkgroupProduct::sizesOf(ArrayRef<unsigned> dims) {
  SmallVector<Value> sizes;
  for (unsigned d : dims)
    sizes.push_back(index(tile.sizes[d]));
  return sizes;
}

bool WorkgroupProduct::isWhole(unsigned d) const {
  std::optional<int64_t> size = getConstantIntValue(sizeOf(d));
  return size && *size % tile.sizes[d] == 0;
}

LogicalResult WorkgroupProduct::emitUnlessEmpty(function_ref<LogicalResult()> body) {
  std::optional<int64_t> known = getConstantIntValue(sumLength);
  if (known == 0)
    return success();
  if (!known) {
    Value isAny = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, sumLength, index(0));
    evaluator->enterIf(loc, isAny);
  }
  if (failed(body()))
    return failure();
  if (!known)
    evaluator->leaveIf();
  return success();
}

} // namespace vx

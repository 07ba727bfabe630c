#include "WindowRows.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace vx {

/// The tensor whose elements, or zeros where the window reaches beyond it, are the values of `factor`.
static Value findInput(Value factor) {
  while (auto guard = factor.getDefiningOp<scf::IfOp>())
    factor = guard.thenYield().getOperand(cast<OpResult>(factor).getResultNumber());
  auto read = factor.getDefiningOp<tensor::ExtractOp>();
  return read ? read.getTensor() : Value();
}

std::optional<WindowRows> matchWindowRows(const Product &product, int64_t lanes) {
  linalg::GenericOp op = product.op;
  auto window = op->getAttrOfType<vxk::WindowAttr>(vxk::kWindowAttr);
  if (!window || !window.getChannelsLast() || window.getGroups() != 1 || window.getDilations().back() != 1 ||
      product.neighbours != 1)
    return std::nullopt;
  Value input = findInput(product.a);
  auto whole = input ? input.getDefiningOp<bufferization::ToTensorOp>() : bufferization::ToTensorOp();
  auto filter = cast<RankedTensorType>(op.getDpsInputs().front().getType());
  if (!whole || filter.isDynamicDim(1) || filter.isDynamicDim(filter.getRank() - 1))
    return std::nullopt;
  WindowRows rows{whole.getBuffer(), window, filter.getShape().back(), filter.getDimSize(1)};
  auto countVectors = [&](int64_t elements) { return llvm::divideCeil(elements, lanes); };
  if (rows.getLength() == 0 || countVectors(rows.getLength()) >= rows.taps * countVectors(rows.channels))
    return std::nullopt;
  return rows;
}

WindowRows::Row WindowRows::getRow(OpBuilder &builder, Location loc, ElementEvaluator &evaluator,
                                   ArrayRef<LaneIndex> at) const {
  const size_t rank = cast<MemRefType>(buffer.getType()).getRank(), spatial = rank - 2;
  Row row;
  auto require = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
    row.isInside = row.isInside ? arith::AndIOp::create(builder, loc, row.isInside, holds).getResult() : holds;
  };
  auto constant = [&](int64_t value) { return evaluator.constantIndex(value); };
  LaneIndex flat = at.front();
  for (size_t d = 0; d < spatial; ++d) {
    const bool isLast = d + 1 == spatial;
    LaneIndex position = evaluator.multiplyIndices(loc, at[1 + d], constant(window.getStrides()[d]));
    position = evaluator.addIndices(loc, position, constant(-window.getPadsLow()[d]));
    if (!isLast)
      position = evaluator.addIndices(loc, position,
                                      evaluator.multiplyIndices(loc, at[rank + d], constant(window.getDilations()[d])));
    Value size = evaluator.sizeOf(buffer, 1 + d);
    LaneIndex end = evaluator.addIndices(loc, position, constant(isLast ? taps : 1));
    require(arith::CmpIPredicate::sge, position.base, constant(0).base);
    require(arith::CmpIPredicate::sle, end.base, size);
    flat = evaluator.addIndices(loc, evaluator.multiplyIndices(loc, flat, {size, 0, {}}), position);
  }
  row.first = evaluator.multiplyIndices(loc, flat, constant(channels)).base;
  return row;
}

} // namespace vx

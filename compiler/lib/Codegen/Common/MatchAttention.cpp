#include "MatchAttention.h"

#include "ElementEvaluator.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {

/// The size of a loop of `op`; dynamic when an operand does not tell.
static int64_t getLoopSize(linalg::GenericOp op, unsigned loop) {
  auto [tensor, dimension] = shapeOfLoop(op, loop);
  return cast<ShapedType>(tensor.getType()).getDimSize(dimension);
}

static linalg::GenericOp Attention::*getPart(vxk::AttentionPart part) {
  switch (part) {
  case vxk::AttentionPart::dots:
    return &Attention::dots;
  case vxk::AttentionPart::scores:
    return &Attention::scores;
  case vxk::AttentionPart::max:
    return &Attention::max;
  case vxk::AttentionPart::sum:
    return &Attention::sum;
  case vxk::AttentionPart::values:
    return &Attention::values;
  case vxk::AttentionPart::result:
    return &Attention::result;
  case vxk::AttentionPart::log_sum_exp:
    return &Attention::logSumExp;
  }
  llvm_unreachable("all parts are listed");
}

void Attention::eraseStores() {
  for (bufferization::MaterializeInDestinationOp store : resultStores)
    store.erase();
  if (logSumExpStore)
    logSumExpStore.erase();
}

std::optional<Attention> matchAttention(func::FuncOp function) {
  Attention found;
  bool isUnique = true;
  for (auto op : function.getOps<linalg::GenericOp>()) {
    auto part = op->getAttrOfType<vxk::AttentionPartAttr>(vxk::kAttentionPartAttr);
    if (!part)
      continue;
    linalg::GenericOp &place = found.*getPart(part.getValue());
    isUnique &= !place;
    place = op;
  }
  for (linalg::GenericOp part : {found.dots, found.scores, found.max, found.sum, found.values, found.result})
    if (!part || !isUnique)
      return std::nullopt;
  if (found.result != vxk::getAnchor(function))
    return std::nullopt;
  for (auto store : function.getOps<bufferization::MaterializeInDestinationOp>()) {
    found.lastStore = store;
    if (!found.logSumExpStore && found.logSumExp && isElementwiseOf(store.getSource(), found.logSumExp))
      found.logSumExpStore = store;
    else if (isElementwiseOrIndependentOf(store.getSource(), found.result))
      found.resultStores.push_back(store);
    else
      return std::nullopt;
  }
  if (found.resultStores.empty())
    return std::nullopt;

  auto factorsOf = [](linalg::GenericOp op) {
    auto sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
    auto product = sum.getRhs().getDefiningOp<arith::MulFOp>();
    return std::pair(product.getLhs(), product.getRhs());
  };
  std::tie(found.queryFactor, found.keyFactor) = factorsOf(found.dots);
  found.valueFactor = factorsOf(found.values).second;
  found.query = found.dots.getDpsInputOperand(0);
  found.key = found.dots.getDpsInputOperand(1);
  found.value = found.values.getDpsInputOperand(2);
  for (AffineExpr expr : found.result.getMatchingIndexingMap(found.result.getDpsInputOperand(0)).getResults())
    found.resultDims.push_back(cast<AffineDimExpr>(expr).getPosition());
  found.depth = getLoopSize(found.dots, 4);
  found.valueDepth = getLoopSize(found.values, 3);
  for (int64_t depth : {found.depth, found.valueDepth})
    if (ShapedType::isDynamic(depth) || depth == 0)
      return std::nullopt;
  return found;
}

} // namespace vx

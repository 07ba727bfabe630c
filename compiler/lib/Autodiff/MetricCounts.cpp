#include "MetricCounts.h"

#include "ModelOutput.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace vx {

/// What `value` is but for its element type, and its shape of one element.
static Value stripForms(Value value) {
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<CastOp, ReshapeOp>(op))
      return value;
    value = op->getOperand(0);
  }
}

static bool isOneElement(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

static bool isSum(Value value) {
  auto reduce = stripForms(value).getDefiningOp<ReduceOp>();
  return reduce && reduce.getKind() == ReduceKind::sum && isOneElement(reduce.getResult());
}

/// The sum that is divided by: what keeps an empty one from being 0 does not change another one.
static Value stripGuard(Value divisor) {
  divisor = stripForms(divisor);
  if (auto max = divisor.getDefiningOp<MaxOp>())
    for (auto [value, bound] : {std::pair(max.getLhs(), max.getRhs()), {max.getRhs(), max.getLhs()}})
      if (stripForms(bound).getDefiningOp<ConstantOp>())
        return value;
  return divisor;
}

Value findMeanDivisor(Value mean) {
  if (!isOneElement(mean))
    return {};
  auto div = stripForms(mean).getDefiningOp<DivOp>();
  if (!div || !isOneElement(div.getResult()) || !isSum(div.getLhs()))
    return {};
  Value divisor = stripGuard(div.getRhs());
  if (!isSum(divisor))
    return {};
  // A divisor that training changes is none that batches can be weighed by.
  for (Operation *op : collectDependences(divisor))
    if (isa<VariableLoadOp>(op))
      return {};
  return divisor;
}

SmallVector<std::string> addMetricCounts(func::FuncOp function, ArrayRef<std::string> metrics, Location location) {
  Operation *end = function.getBody().front().getTerminator();
  OpBuilder builder(end);
  GraphBuilder g(builder, location);
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr))
      taken.insert(name.getValue());
  SmallVector<std::pair<Value, std::string>> known;
  SmallVector<std::string> names;
  for (auto [metric, value] : llvm::zip(metrics, llvm::to_vector(end->getOperands()))) {
    Value divisor = findMeanDivisor(value);
    if (!divisor) {
      names.emplace_back();
      continue;
    }
    auto same = llvm::find_if(known, [&](const auto &one) { return one.first == divisor; });
    if (same != known.end()) {
      names.push_back(same->second);
      continue;
    }
    std::string name = metric + ".count";
    while (!taken.insert(name).second)
      name += '_';
    known.emplace_back(divisor, name);
    names.push_back(name);
    Value count = g.reshape(g.cast(divisor, builder.getF32Type()), {});
    end->insertOperands(end->getNumOperands(), count);
    (void)function.insertResult(
        function.getNumResults(), count.getType(),
        builder.getDictionaryAttr(builder.getNamedAttr(kNameAttr, builder.getStringAttr(name))));
  }
  if (known.empty())
    names.clear();
  return names;
}

} // namespace vx

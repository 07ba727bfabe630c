// The schedule config of a fusion region on the CPU.
#include "CPUTargetImpl.h"

using namespace mlir;

namespace vx::cpu {

namespace {

/// Scalar operations of one workgroup: enough to hide what a task costs (about a microsecond), few enough that a small
/// model still has work for each thread.
constexpr int64_t workgroupOperations = 32768;

/// A size for planning: that of a static dimension, and a guess for a dynamic one.
int64_t plannedSize(RankedTensorType type, int64_t dim) {
  constexpr int64_t unknownSize = 128;
  return type.isDynamicDim(dim) ? unknownSize : type.getDimSize(dim);
}

int64_t plannedElements(RankedTensorType type) {
  int64_t elements = 1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t size = std::max<int64_t>(plannedSize(type, d), 1);
    if (elements > std::numeric_limits<int64_t>::max() / size)
      return std::numeric_limits<int64_t>::max();
    elements *= size;
  }
  return elements;
}

} // namespace

StrategyAttr chooseStrategy(FusionOp region) {
  MLIRContext *context = region.getContext();
  auto result = llvm::dyn_cast<RankedTensorType>(region.getResult(0).getType());
  bool serial = false;
  int64_t operandElements = 1;
  region.getBody().walk([&](Operation *op) {
    serial |= llvm::isa<NonzeroOp, CountNonzeroOp>(op);
    // An op that reads far more than it writes (a contraction, a reduction) does that much work for each result.
    for (Type type : op->getOperandTypes())
      if (auto tensor = llvm::dyn_cast<RankedTensorType>(type))
        operandElements = std::max(operandElements, plannedElements(tensor));
  });
  if (!result || serial)
    return StrategyAttr::get(context, "serial", SmallVector<int64_t>(result ? result.getRank() : 0, 0), {}, {}, 1);

  int64_t elements = std::max<int64_t>(plannedElements(result), 1);
  int64_t perElement = std::max<int64_t>(region.getBody().front().getOperations().size(), operandElements / elements);
  int64_t budget = std::max<int64_t>(workgroupOperations / perElement, 1);

  // The innermost dimensions stay whole while they fit; the one that does not is cut, and all outer ones go one by one.
  int64_t rank = result.getRank();
  SmallVector<int64_t> tile(rank, 0);
  for (int64_t d = rank - 1; d >= 0; --d) {
    int64_t size = std::max<int64_t>(plannedSize(result, d), 1);
    if (size <= budget && !result.isDynamicDim(d)) {
      budget /= size;
      continue;
    }
    // A multiple of the widest vector keeps full vectors full.
    tile[d] = budget >= 16 && d == rank - 1 ? budget / 16 * 16 : budget;
    budget = 1;
  }
  return StrategyAttr::get(context, "loops", tile, {}, {}, 1);
}

} // namespace vx::cpu

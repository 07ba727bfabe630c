#include "vx/Analysis/ProductCandidates.h"

#include "vx/Analysis/PlannedSize.h"

using namespace mlir;

namespace vx {

ProductCandidate inLoops(MLIRContext *context, LoopsReason reason, double nanoseconds, bool channelsLast) {
  return {ProductAttr::get(context, ProductFamily::loops, reason, channelsLast, /*packed=*/false, /*neighbours=*/1,
                           /*prologue=*/-1),
          nanoseconds};
}

bool takesFaults(ProductFamily family) {
  return family != ProductFamily::cpu_product && family != ProductFamily::cpu_depthwise;
}

llvm::StringRef describe(LoopsReason reason) {
  switch (reason) {
  case LoopsReason::none:
    return {};
  case LoopsReason::layout:
    return "vectors run along the rows of its images, since a move of the channels takes longer";
  case LoopsReason::narrow:
    return "one factor has few rows or columns, or none, so that packed factors are not read often enough";
  case LoopsReason::elements:
    return "no strategy for products has its element types";
  case LoopsReason::groups:
    return "no strategy for products has its groups, or too few products for one";
  case LoopsReason::sizes:
    return "the sizes of its filter are not known";
  case LoopsReason::dimensions:
    return "its columns or its sum run along several dimensions";
  }
  llvm_unreachable("unknown reason");
}

ContractSizes::ContractSizes(ContractOp op, const SymbolRanges &ranges) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType()), rhs = cast<RankedTensorType>(op.getRhs().getType());
  for (int64_t d = 0; d < lhs.getRank(); ++d) {
    const auto size = static_cast<double>(getPlannedSize(ranges, lhs, d));
    if (llvm::is_contained(op.getLhsBatch(), d)) {
      batch *= size;
    } else if (llvm::is_contained(op.getLhsContracting(), d)) {
      depth *= size;
    } else {
      rows *= size;
      ++freeRows;
    }
  }
  for (int64_t d = 0; d < rhs.getRank(); ++d)
    if (!llvm::is_contained(op.getRhsBatch(), d) && !llvm::is_contained(op.getRhsContracting(), d)) {
      columns *= static_cast<double>(getPlannedSize(ranges, rhs, d));
      ++freeColumns;
    }
}

double countProducts(ConvOp op, const SymbolRanges &ranges) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType()), result = cast<RankedTensorType>(op.getType());
  double products = 1;
  for (int64_t d = 1; d < filter.getRank(); ++d)
    products *= static_cast<double>(getPlannedSize(ranges, filter, d));
  for (int64_t d = 0; d < result.getRank(); ++d)
    products *= static_cast<double>(getPlannedSize(ranges, result, d));
  return products;
}

} // namespace vx

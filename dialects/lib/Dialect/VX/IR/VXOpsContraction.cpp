#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "vx/Dialect/VX/IR/WindowSize.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsContraction.cpp.inc"

namespace vx {

/// The element type of a sum of products of `operand`, by the attributes `sums` and `factors`.
static FailureOr<Type> inferSumType(std::optional<Location> location, StringRef op, Type operand,
                                    std::optional<Type> sums, std::optional<Type> factors) {
  if (sums && (!sums->isF32() || !isa<Float16Type, BFloat16Type>(operand)))
    return emitOptionalError(location, "'", op, "' op expects 'sums' of f32 for operands of f16 or bf16: got ", *sums,
                             " for operands of ", operand);
  if (factors && (!factors->isTF32() || !operand.isF32()))
    return emitOptionalError(location, "'", op, "' op expects 'factors' of tf32 for operands of f32: got ", *factors,
                             " for operands of ", operand);
  return sums ? *sums : operand;
}

LogicalResult ContractOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto lhs = cast<RankedTensorType>(adaptor.getLhs().getType()),
       rhs = cast<RankedTensorType>(adaptor.getRhs().getType());
  if (adaptor.getLhsBatch().size() != adaptor.getRhsBatch().size()) // C1
    return emitOptionalError(location, "'vx.contract' op expects as many batch dimensions on both sides: got ",
                             adaptor.getLhsBatch().size(), " and ", adaptor.getRhsBatch().size());
  if (adaptor.getLhsContracting().size() != adaptor.getRhsContracting().size()) // C1
    return emitOptionalError(location, "'vx.contract' op expects as many contracting dimensions on both sides: got ",
                             adaptor.getLhsContracting().size(), " and ", adaptor.getRhsContracting().size());
  auto collectFree = [&](RankedTensorType type, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting, StringRef side,
                         SmallVectorImpl<DimAttr> &free) -> LogicalResult {
    SmallVector<bool> used(type.getRank());
    for (ArrayRef<int64_t> list : {batch, contracting})
      for (int64_t dim : list) {
        if (dim < 0 || dim >= type.getRank()) // C2
          return emitOptionalError(location, "'vx.contract' op expects dimensions of '", side, "': want 0 to ",
                                   type.getRank() - 1, ", got ", dim);
        if (used[dim]) // C1
          return emitOptionalError(location, "'vx.contract' op expects each dimension of '", side,
                                   "' at most once, got ", dim, " twice");
        used[dim] = true;
      }
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!used[dim])
        free.push_back(getDim(type, dim));
    return success();
  };
  SmallVector<DimAttr> lhsFree, rhsFree, dims;
  if (failed(collectFree(lhs, adaptor.getLhsBatch(), adaptor.getLhsContracting(), "lhs", lhsFree)) ||
      failed(collectFree(rhs, adaptor.getRhsBatch(), adaptor.getRhsContracting(), "rhs", rhsFree)))
    return failure();
  auto checkPairs = [&](ArrayRef<int64_t> lhsDims, ArrayRef<int64_t> rhsDims) -> LogicalResult {
    for (auto [l, r] : llvm::zip(lhsDims, rhsDims))
      if (!mayBeEqual(getDim(lhs, l), getDim(rhs, r))) // C3
        return emitOptionalError(location, "'vx.contract' op expects dimension ", l, " of 'lhs' and ", r,
                                 " of 'rhs' to have the same size: got ", lhs, " and ", rhs);
    return success();
  };
  if (failed(checkPairs(adaptor.getLhsBatch(), adaptor.getRhsBatch())) ||
      failed(checkPairs(adaptor.getLhsContracting(), adaptor.getRhsContracting())))
    return failure();
  for (auto [l, r] : llvm::zip(adaptor.getLhsBatch(), adaptor.getRhsBatch())) {
    DimAttr left = getDim(lhs, l), right = getDim(rhs, r);
    dims.push_back(!left || (right && right.asConstant()) ? right : left);
  }
  llvm::append_range(dims, lhsFree);
  llvm::append_range(dims, rhsFree);
  FailureOr<Type> element = inferSumType(location, getOperationName(), lhs.getElementType(), adaptor.getSums(),
                                         adaptor.getFactors()); // C4, C5
  if (failed(element))
    return failure();
  types.push_back(getTensorType(dims, *element));
  return success();
}

void ContractOp::collectConstraints(ConstraintCollector &collector) {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  for (auto [l, r] : llvm::zip(getLhsBatch(), getRhsBatch()))
    collector.wantEqual(getDim(lhs, l), getDim(rhs, r)); // C3
  for (auto [l, r] : llvm::zip(getLhsContracting(), getRhsContracting()))
    collector.wantEqual(getDim(lhs, l), getDim(rhs, r)); // C3
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  auto filter = cast<RankedTensorType>(adaptor.getFilter().getType());
  if (input.getRank() < 3 || input.getRank() != filter.getRank()) // C1
    return emitOptionalError(location, "'vx.conv' op expects 'input' and 'filter' of one rank, 3 or more: got ", input,
                             " and ", filter);
  size_t spatial = input.getRank() - 2;
  if (failed(checkWindow(location, "vx.conv", spatial,
                         {{"strides", adaptor.getStrides(), 1},
                          {"dilations", adaptor.getDilations(), 1},
                          {"pads_low", adaptor.getPadsLow(), INT64_MIN},
                          {"pads_high", adaptor.getPadsHigh(), INT64_MIN}}))) // C2
    return failure();
  int64_t groups = adaptor.getGroups();
  bool isLast = adaptor.getChannelsLast();
  DimAttr channels = getDim(input, isLast ? input.getRank() - 1 : 1), filterChannels = getDim(filter, 1),
          filters = getDim(filter, 0);
  if (groups < 1 || (channels && channels.asConstant() && *channels.asConstant() % groups != 0) ||
      (filters && filters.asConstant() && *filters.asConstant() % groups != 0)) // C3
    return emitOptionalError(location,
                             "'vx.conv' op expects 'groups' to divide the channels of 'input' and the filters: got ",
                             groups, " groups for ", input, " and ", filter);
  if (channels && filterChannels && !mayBeEqual(channels, filterChannels * groups)) // C3
    return emitOptionalError(location, "'vx.conv' op expects channels / groups channels in 'filter': want ",
                             DimAttr::floorDiv(channels, DimAttr::constant(context, groups)).str(), ", got ",
                             filterChannels.str());
  SmallVector<DimAttr> dims = {getDim(input, 0)};
  if (!isLast)
    dims.push_back(filters);
  for (size_t i = 0; i < spatial; ++i) {
    FailureOr<DimAttr> dim = getWindowResultSize(
        location, "vx.conv", i, getDim(input, isLast ? i + 1 : i + 2), getDim(filter, i + 2), adaptor.getStrides()[i],
        adaptor.getDilations()[i], adaptor.getPadsLow()[i], adaptor.getPadsHigh()[i]); // C4
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
  }
  if (isLast)
    dims.push_back(filters);
  FailureOr<Type> element = inferSumType(location, getOperationName(), input.getElementType(), adaptor.getSums(),
                                         adaptor.getFactors()); // C5, C6
  if (failed(element))
    return failure();
  types.push_back(getTensorType(dims, *element));
  return success();
}

void ConvOp::collectConstraints(ConstraintCollector &collector) {
  RankedTensorType input = getInput().getType(), filter = getFilter().getType();
  auto groups = static_cast<int64_t>(getGroups());
  if (DimAttr channels = getDim(filter, 1))
    collector.wantEqual(getDim(input, getChannelDim()), channels * groups); // C3
  collector.want(ConstraintKind::multiple, getDim(filter, 0), groups);      // C3
  for (int64_t d = 0; d < input.getRank() - 2; ++d)
    collector.wantWindow(getDim(input, getSpatialDim(d)), getDim(filter, d + 2), getDilations()[d], getPadsLow()[d],
                         getPadsHigh()[d]); // C4
}

DimAttr ContractOp::getFlops() {
  DimAttr products = getNumElements(getResult().getType()) * 2;
  for (int64_t dim : getLhsContracting())
    products = products * getDim(getLhs().getType(), dim);
  return products;
}

DimAttr ConvOp::getFlops() {
  RankedTensorType filter = getFilter().getType(); // [M, C / groups, kernel...]
  DimAttr products = getNumElements(getResult().getType()) * 2;
  for (int64_t dim = 1; dim < filter.getRank(); ++dim)
    products = products * getDim(filter, dim);
  return products;
}

void registerContractionOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsContraction.cpp.inc"
      >(dialect);
}

} // namespace vx

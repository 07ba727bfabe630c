#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/IR/WindowSize.h"
#include "vx/Dialect/VX/Utils/Cumulation.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsReduction.cpp.inc"

namespace vx {

LogicalResult checkWindow(std::optional<Location> location, StringRef op, size_t count, ArrayRef<WindowList> lists) {
  for (const WindowList &list : lists) {
    if (list.values.size() != count)
      return emitOptionalError(location, "'", op, "' op expects '", list.name,
                               "' to have one entry for each dimension: ", count, ", got ", list.values.size());
    for (int64_t value : list.values)
      if (value < list.least)
        return emitOptionalError(location, "'", op, "' op expects '", list.name, "' of at least ", list.least, ", got ",
                                 value);
  }
  return success();
}

FailureOr<DimAttr> getWindowResultSize(std::optional<Location> location, StringRef op, size_t dimension, DimAttr size,
                                       DimAttr kernel, int64_t stride, int64_t dilation, int64_t low, int64_t high) {
  if (!size || !kernel)
    return DimAttr();
  MLIRContext *context = size.getContext();
  DimAttr padded = size + low + high;
  if (padded.asConstant() && *padded.asConstant() < 0)
    return emitOptionalError(location, "'", op, "' op expects a padded size of at least 0 in spatial dimension ",
                             dimension, ", got ", *padded.asConstant());
  DimAttr window = (kernel + (-1)) * dilation + 1;
  DimAttr places = DimAttr::floorDiv(padded - window, DimAttr::constant(context, stride)) + 1;
  return DimAttr::max(places, DimAttr::constant(context, 0));
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  SmallVector<DimAttr> dims = getDims(input), kept;
  ArrayRef<int64_t> axes = adaptor.getAxes();
  for (auto [index, axis] : llvm::enumerate(axes))
    if (axis < 0 || axis >= input.getRank() || (index > 0 && axis <= axes[index - 1])) // C1
      return emitOptionalError(location, "'vx.reduce' op expects 'axes' to increase from 0 to at most ",
                               input.getRank() - 1, ", got [", axes, "]");
  for (auto [index, dim] : llvm::enumerate(dims))
    if (!llvm::is_contained(axes, static_cast<int64_t>(index)))
      kept.push_back(dim);
  types.push_back(getTensorType(kept, input.getElementType()));
  return success();
}

LogicalResult CumulativeSumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  if (input.getRank() != 3) // C1
    return emitOptionalError(location, "'", getOperationName(), "' op expects an input of 3 dimensions, got ", input);
  types.push_back(input);
  return success();
}

SmallVector<Value> CumulativeSumOp::decompose(GraphBuilder &g) {
  Value sums = emitCumulation(g, g.widen(getInput()), {ReduceKind::sum, getExclusive(), getReverse()});
  return {g.cast(sums, getInput().getType().getElementType())};
}

LogicalResult ReduceOp::verify() {
  bool isLogical = getKind() == ReduceKind::and_ || getKind() == ReduceKind::or_;
  Type type = getInput().getType().getElementType();
  if (isLogical ? !type.isInteger() : type.isInteger(1)) // C2
    return emitOpError() << "expects " << (isLogical ? "bools or integers" : "numbers") << " for '"
                         << stringifyReduceKind(getKind()) << "', got " << type;
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank()) // C1
    return emitOptionalError(location, "'vx.arg_reduce' op expects 'axis' to be a dimension of 'input': 0 to ",
                             input.getRank() - 1, ", got ", axis);
  if (adaptor.getKind() != ReduceKind::max && adaptor.getKind() != ReduceKind::min) // C2
    return emitOptionalError(location, "'vx.arg_reduce' op expects 'max' or 'min', got '",
                             stringifyReduceKind(adaptor.getKind()), "'");
  if (input.getDimSize(axis) == 0) // C3
    return emitOptionalError(location, "'vx.arg_reduce' op expects at least 1 element along dimension ", axis,
                             ", got 0");
  SmallVector<DimAttr> dims = getDims(input);
  dims.erase(dims.begin() + axis);
  types.push_back(getTensorType(dims, IntegerType::get(context, 64)));
  return success();
}

void ArgReduceOp::collectConstraints(ConstraintCollector &collector) {
  collector.want(ConstraintKind::at_least, getDim(getInput().getType(), getAxis()), 1); // C3
}

LogicalResult ReduceWindowOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  size_t rank = input.getRank();
  if (failed(checkWindow(location, "vx.reduce_window", rank,
                         {{"window", adaptor.getWindow(), 1},
                          {"strides", adaptor.getStrides(), 1},
                          {"dilations", adaptor.getDilations(), 1},
                          {"pads_low", adaptor.getPadsLow(), INT64_MIN},
                          {"pads_high", adaptor.getPadsHigh(), INT64_MIN}}))) // C1
    return failure();
  if (adaptor.getKind() == ReduceKind::and_ || adaptor.getKind() == ReduceKind::or_) // C2
    return emitOptionalError(location, "'vx.reduce_window' op expects 'sum', 'prod', 'max' or 'min', got '",
                             stringifyReduceKind(adaptor.getKind()), "'");
  SmallVector<DimAttr> dims;
  for (size_t i = 0; i < rank; ++i) {
    FailureOr<DimAttr> dim = getWindowResultSize(
        location, "vx.reduce_window", i, getDim(input, i), DimAttr::constant(context, adaptor.getWindow()[i]),
        adaptor.getStrides()[i], adaptor.getDilations()[i], adaptor.getPadsLow()[i], adaptor.getPadsHigh()[i]); // C3
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
  }
  types.push_back(getTensorType(dims, input.getElementType()));
  return success();
}

void ReduceWindowOp::collectConstraints(ConstraintCollector &collector) {
  for (auto [d, dim] : llvm::enumerate(getDims(getInput().getType())))
    collector.wantWindow(dim, DimAttr::constant(getContext(), getWindow()[d]), getDilations()[d], getPadsLow()[d],
                         getPadsHigh()[d]); // C3
}

SmallVector<int64_t> ReduceOp::getRowAxes() { return llvm::to_vector(getAxes()); }
bool ReduceOp::keepsRows() { return false; }

SmallVector<int64_t> ArgReduceOp::getRowAxes() { return {static_cast<int64_t>(getAxis())}; }
bool ArgReduceOp::keepsRows() { return false; }
bool ArgReduceOp::carriesPlaces() { return true; }

Value ReduceOp::getIdentity() { return getAxes().empty() ? Value(getInput()) : Value(); }

DimAttr ReduceOp::getFlops() { return countFloats(getInput()); }

DimAttr ReduceWindowOp::getFlops() {
  int64_t window = 1;
  for (int64_t size : getWindow())
    window *= size;
  return countFloats(getResult()) * window;
}

void registerReductionOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsReduction.cpp.inc"
      >(dialect);
}

SmallVector<int64_t> toChannelsLast(int64_t rank) {
  SmallVector<int64_t> permutation = {0};
  for (int64_t d = 2; d < rank; ++d)
    permutation.push_back(d);
  permutation.push_back(1);
  return permutation;
}

SmallVector<int64_t> toChannelsFirst(int64_t rank) {
  SmallVector<int64_t> permutation = {0, rank - 1};
  for (int64_t d = 1; d + 1 < rank; ++d)
    permutation.push_back(d);
  return permutation;
}

} // namespace vx

#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "vx/Dialect/VX/IR/WindowSize.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsContraction.cpp.inc"

namespace vx {

/// The element type of a sum of products, by the attributes `sums` and `factors`: of operands of one element type.
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

/// The same where bytes of either sign may be summed in i32.
static FailureOr<Type> inferSumType(std::optional<Location> location, StringRef op, Type lhs, Type rhs,
                                    std::optional<Type> sums, std::optional<Type> factors) {
  if (sums && sums->isSignlessInteger(32)) {
    auto isByte = [](Type type) { return type.isSignlessInteger(8) || type.isUnsignedInteger(8); };
    if (!isByte(lhs) || !isByte(rhs) || factors)
      return emitOptionalError(location, "'", op, "' op expects operands of i8 or ui8",
                               factors ? " and no 'factors'" : "", " for 'sums' of i32, got ", lhs, " and ", rhs);
    return *sums;
  }
  if (lhs != rhs)
    return emitOptionalError(location, "'", op, "' op expects operands of one element type, got ", lhs, " and ", rhs);
  return inferSumType(location, op, lhs, sums, factors);
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
          return emitOptionalError(location, "'vx.contract' op expects dimensions of '", side, "': 0 to ",
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
  FailureOr<Type> element = inferSumType(location, getOperationName(), lhs.getElementType(), rhs.getElementType(),
                                         adaptor.getSums(), adaptor.getFactors()); // C4, C5, C6
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
    return emitOptionalError(location, "'vx.conv' op expects channels / groups channels in 'filter': ",
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
  FailureOr<Type> element = inferSumType(location, getOperationName(), input.getElementType(), filter.getElementType(),
                                         adaptor.getSums(), adaptor.getFactors()); // C5, C6, C7
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

LogicalResult ConvFilterOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  auto gradient = cast<RankedTensorType>(adaptor.getGradient().getType());
  if (input.getRank() < 3 || input.getRank() != gradient.getRank()) // C1
    return emitOptionalError(location,
                             "'vx.conv_filter' op expects 'input' and 'gradient' of one rank, 3 or more: got ", input,
                             " and ", gradient);
  size_t spatial = input.getRank() - 2;
  if (adaptor.getKernel().size() != spatial) // C2
    return emitOptionalError(location, "'vx.conv_filter' op expects ", spatial, " entries in 'kernel', got ",
                             adaptor.getKernel().size());
  if (failed(checkWindow(location, "vx.conv_filter", spatial,
                         {{"strides", adaptor.getStrides(), 1},
                          {"dilations", adaptor.getDilations(), 1},
                          {"pads_low", adaptor.getPadsLow(), INT64_MIN}}))) // C2
    return failure();
  int64_t groups = adaptor.getGroups();
  bool isLast = adaptor.getChannelsLast();
  DimAttr channels = getDim(input, isLast ? input.getRank() - 1 : 1),
          filters = getDim(gradient, isLast ? input.getRank() - 1 : 1);
  auto mayDivide = [&](DimAttr size) { return !size || !size.asConstant() || *size.asConstant() % groups == 0; };
  if (groups < 1 || !mayDivide(channels) || !mayDivide(filters)) // C3
    return emitOptionalError(
        location, "'vx.conv_filter' op expects 'groups' to divide the channels of 'input' and of 'gradient': got ",
        groups, " groups for ", input, " and ", gradient);
  if (!mayBeEqual(getDim(input, 0), getDim(gradient, 0))) // C4
    return emitOptionalError(location,
                             "'vx.conv_filter' op expects 'input' and 'gradient' with the same first dimension: got ",
                             input, " and ", gradient);
  SmallVector<DimAttr> kernel;
  for (auto size : adaptor.getKernel().getAsRange<DimAttr>()) {
    if (size.asConstant() && *size.asConstant() < 0) // C5
      return emitOptionalError(location, "'vx.conv_filter' op expects no negative size in 'kernel', got ",
                               *size.asConstant());
    kernel.push_back(size);
  }
  DimAttr ofGroup =
      channels ? DimAttr::floorDiv(channels, DimAttr::constant(channels.getContext(), groups)) : DimAttr();
  SmallVector<DimAttr> dims = {filters, ofGroup};
  if (isLast)
    dims = {ofGroup, filters};
  dims.insert(isLast ? dims.begin() : dims.end(), kernel.begin(), kernel.end());
  FailureOr<Type> element = inferSumType(location, getOperationName(), input.getElementType(),
                                         gradient.getElementType(), adaptor.getSums(), adaptor.getFactors()); // C6, C7
  if (failed(element))
    return failure();
  types.push_back(getTensorType(dims, *element));
  return success();
}

void ConvFilterOp::collectConstraints(ConstraintCollector &collector) {
  RankedTensorType input = getInput().getType(), gradient = getGradient().getType();
  auto groups = static_cast<int64_t>(getGroups());
  collector.want(ConstraintKind::multiple, getDim(input, getChannelDim()), groups);    // C3
  collector.want(ConstraintKind::multiple, getDim(gradient, getChannelDim()), groups); // C3
  collector.wantEqual(getDim(input, 0), getDim(gradient, 0));                          // C4
}

Value ConvFilterOp::buildReachedInput(GraphBuilder &g) {
  Value input = getInput();
  if (getChannelsLast())
    input = g.transpose(input, toChannelsFirst(getInput().getType().getRank()));
  SmallVector<DimAttr> sizes = getDims(g.typeOf(input)), low = {g.dim(0), g.dim(0)}, high = low;
  for (auto [d, kernel] : llvm::enumerate(getKernel().getAsRange<DimAttr>())) {
    DimAttr places = getDim(getGradient().getType(), getSpatialDim(d));
    DimAttr reach = (kernel + (-1)) * getDilations()[d] + (places + (-1)) * getStrides()[d] + 1;
    // No places of windows that are smaller than a stride.
    if (std::optional<int64_t> least = kernel.asConstant(), count = places.asConstant();
        (!least || (*least - 1) * getDilations()[d] + 1 < getStrides()[d]) && (!count || *count == 0))
      reach = DimAttr::max(reach, g.dim(0));
    low.push_back(g.dim(getPadsLow()[d]));
    high.push_back(reach - sizes[d + 2] - low.back());
  }
  return g.pad(input, low, high);
}

/// What each place of the kernel reads of `input`, which is just what is reached, at the places of `gradient`.
static SmallVector<Value> sliceWindows(GraphBuilder &g, Value input, Value gradient, ArrayRef<int64_t> kernel,
                                       ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations) {
  SmallVector<DimAttr> sizes = getDims(g.typeOf(gradient));
  sizes[1] = getDims(g.typeOf(input))[1];
  SmallVector<int64_t> steps = {1, 1}, place(kernel.size(), 0);
  llvm::append_range(steps, strides);
  SmallVector<Value> windows;
  for (bool isLast = false; !isLast;) {
    SmallVector<DimAttr> starts = {g.dim(0), g.dim(0)};
    for (auto [at, dilation] : llvm::zip_equal(place, dilations))
      starts.push_back(g.dim(at * dilation));
    windows.push_back(g.slice(input, starts, sizes, steps));
    size_t d = kernel.size();
    while (d > 0 && ++place[d - 1] == kernel[d - 1])
      place[--d] = 0;
    isLast = d == 0;
  }
  return windows;
}

/// The sizes of the kernel, where there are so few places in it that each may be looked at alone, and what it reads
/// exists: what is reached of no places ends before the last window of a stride begins.
static std::optional<SmallVector<int64_t>> getSmallKernel(ConvFilterOp op) {
  constexpr int64_t kMostWindows = 64;
  SmallVector<int64_t> kernel;
  int64_t windows = 1;
  for (auto [d, size] : llvm::enumerate(op.getKernel().getAsRange<DimAttr>())) {
    int64_t known = size.asConstant().value_or(0);
    int64_t places = getDim(op.getGradient().getType(), op.getSpatialDim(d)).asConstant().value_or(0);
    if (known < 1 || known > kMostWindows / windows || (op.getStrides()[d] > 1 && places == 0))
      return std::nullopt;
    kernel.push_back(known);
    windows *= known;
  }
  return kernel;
}

/// For each place of the kernel the product of the gradient and of what it reads. Of groups, and of kernels that are
/// large or not known, batch and channels change places: the gradient, whose places stand apart by the strides, is the
/// filter of a convolution.
SmallVector<Value> ConvFilterOp::decompose(GraphBuilder &g) {
  int64_t rank = getInput().getType().getRank(), groups = getGroups();
  Value input = buildReachedInput(g), gradient = getGradient();
  if (!input)
    return {};
  if (getChannelsLast())
    gradient = g.transpose(gradient, toChannelsFirst(rank));
  if (std::optional<SmallVector<int64_t>> kernel = groups == 1 ? getSmallKernel(*this) : std::nullopt) {
    auto join = [&](Value value) {
      SmallVector<DimAttr> dims = getDims(g.typeOf(value));
      DimAttr places = g.dim(1);
      for (DimAttr size : ArrayRef(dims).drop_front(2))
        places = places * size;
      return g.reshape(value, {dims[0], dims[1], places});
    };
    SmallVector<Value> windows = sliceWindows(g, input, gradient, *kernel, getStrides(), getDilations());
    // Few channels are too few rows for a product: those of all windows together.
    constexpr int64_t kFewChannels = 16;
    DimAttr channels = getDims(g.typeOf(input))[1], filters = getDims(g.typeOf(gradient))[1];
    if (windows.size() > 1 && channels.asConstant().value_or(kFewChannels) < kFewChannels)
      windows = {g.emit<ConcatOp>(ValueRange(windows), 1)};
    SmallVector<Value> products;
    Value factor = join(gradient);
    for (Value window : windows) {
      Value product =
          g.emit<ContractOp>(join(window), factor, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>{0, 2},
                             ArrayRef<int64_t>{0, 2}, getSumsAttr(), getFactorsAttr());
      products.push_back(g.reshape(product, {g.dim(1), getDims(g.typeOf(window))[1], filters}));
    }
    Value all = products.size() == 1 ? products.front() : g.emit<ConcatOp>(ValueRange(products), 0);
    SmallVector<DimAttr> dims; // kernel..., C, M
    llvm::append_range(dims, getKernel().getAsRange<DimAttr>());
    dims.append({channels, filters});
    all = g.reshape(all, dims);
    if (getChannelsLast())
      return {all};
    SmallVector<int64_t> filterFirst = {rank - 1, rank - 2};
    for (int64_t d = 0; d < rank - 2; ++d)
      filterFirst.push_back(d);
    return {g.transpose(all, filterFirst)};
  }
  // [N, groups, C / groups, ...] -> [C / groups, groups * N, ...]
  SmallVector<DimAttr> sizes = getDims(g.typeOf(input)),
                       split = {sizes[0], g.dim(groups), getDim(getType(), getFilterChannelDim())},
                       joined = {split[2], sizes[0] * groups};
  SmallVector<int64_t> permutation = {2, 1, 0}, swapped = {1, 0}, kernelFirst;
  for (int64_t d = 2; d < rank; ++d) {
    split.push_back(sizes[d]);
    joined.push_back(sizes[d]);
    permutation.push_back(d + 1);
    swapped.push_back(d);
    kernelFirst.push_back(d);
  }
  input = g.reshape(g.transpose(g.reshape(input, split), permutation), joined);
  SmallVector<int64_t> zeros(rank - 2, 0);
  Value result = g.emit<ConvOp>(input, g.transpose(gradient, swapped), getDilations(), getStrides(), zeros, zeros,
                                groups, /*channels_last=*/false, getSumsAttr(), getFactorsAttr());
  if (!result)
    return {};
  // Without places there may be more windows than the kernel has.
  SmallVector<DimAttr> wanted = getDims(g.typeOf(result)), starts(rank, g.dim(0));
  for (auto [d, size] : llvm::enumerate(getKernel().getAsRange<DimAttr>()))
    wanted[d + 2] = size;
  result = g.slice(result, starts, wanted, SmallVector<int64_t>(rank, 1));
  kernelFirst.append({0, 1});
  return {g.transpose(result, getChannelsLast() ? kernelFirst : swapped)};
}

DimAttr ConvFilterOp::getFlops() {
  DimAttr products = getNumElements(getResult().getType()) * 2;
  RankedTensorType gradient = getGradient().getType();
  for (int64_t dim = 0; dim < gradient.getRank(); ++dim)
    if (dim != getChannelDim())
      products = products * getDim(gradient, dim);
  return products;
}

void registerContractionOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsContraction.cpp.inc"
      >(dialect);
}

} // namespace vx

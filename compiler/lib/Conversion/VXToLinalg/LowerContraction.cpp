#include "KernelLowering.h"

using namespace mlir;

namespace vx {
namespace {

/// acc + lhs * rhs in the accumulator's type. Contraction to a fused multiply-add is allowed here and nowhere else.
Value multiplyAdd(OpBuilder &b, Location loc, Value lhs, Value rhs, Value acc, Type vxType) {
  if (!isa<FloatType>(acc.getType()))
    return arith::AddIOp::create(b, loc, acc, arith::MulIOp::create(b, loc, lhs, rhs));
  auto contract = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(b, loc, widen(b, loc, lhs), widen(b, loc, rhs), contract);
  return arith::AddFOp::create(b, loc, acc, product, contract);
}

Value lowerContract(KernelLowering &lowering, ContractOp op) {
  auto lhsType = cast<RankedTensorType>(op.getLhs().getType()), rhsType = cast<RankedTensorType>(op.getRhs().getType());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Location loc = op.getLoc();
  int64_t loops = type.getRank() + op.getLhsContracting().size();
  SmallVector<AffineExpr> lhs(lhsType.getRank()), rhs(rhsType.getRank());
  int64_t next = 0;
  auto loop = [&] { return getAffineDimExpr(next++, op.getContext()); };
  for (auto [l, r] : llvm::zip(op.getLhsBatch(), op.getRhsBatch()))
    lhs[l] = rhs[r] = loop();
  int64_t contractingLoop = type.getRank();
  for (auto [l, r] : llvm::zip(op.getLhsContracting(), op.getRhsContracting()))
    lhs[l] = rhs[r] = getAffineDimExpr(contractingLoop++, op.getContext());
  for (AffineExpr &expr : lhs)
    if (!expr)
      expr = loop();
  for (AffineExpr &expr : rhs)
    if (!expr)
      expr = loop();
  SmallVector<AffineMap> maps = {
      AffineMap::get(loops, 0, lhs, op.getContext()), AffineMap::get(loops, 0, rhs, op.getContext()),
      AffineMap::getMultiDimIdentityMap(loops, op.getContext()).getSliceMap(0, type.getRank())};
  SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::parallel);
  std::fill(iterators.begin() + type.getRank(), iterators.end(), utils::IteratorType::reduction);
  // Integers are accumulated in the result's type, to which the operands are extended.
  Type vxResult = type.getElementType();
  Type accumulator = getAccumulatorType(getBodyType(vxResult));
  Value init = lowering.filled(loc, type, getIdentity(ReduceKind::sum, vxResult, accumulator));
  auto generic = linalg::GenericOp::create(
      lowering.builder, loc, init.getType(), ValueRange{lowering.get(op.getLhs()), lowering.get(op.getRhs())}, init,
      maps, iterators, [&](OpBuilder &b, Location l, ValueRange args) {
        Value left = args[0], right = args[1];
        if (isa<FloatType>(vxResult)) {
          left = widen(b, l, left);
          right = widen(b, l, right);
          if (left.getType() != accumulator) {
            left = convertScalar(b, l, left, left.getType(), accumulator);
            right = convertScalar(b, l, right, right.getType(), accumulator);
          }
        } else {
          left = convertScalar(b, l, left, lhsType.getElementType(), vxResult);
          right = convertScalar(b, l, right, rhsType.getElementType(), vxResult);
        }
        linalg::YieldOp::create(b, l, multiplyAdd(b, l, left, right, args[2], vxResult));
      });
  lowering.markAnchor(op, generic);
  if (op->hasAttr(kBlockSumsAttr))
    generic->setAttr(vxk::kBlockSumsAttr, lowering.builder.getUnitAttr());
  if (op.getFactors())
    generic->setAttr(vxk::kTF32Attr, lowering.builder.getUnitAttr());
  return roundTo(lowering, loc, generic.getResult(0), type);
}

/// The element of `input`, or 0 where a window reaches beyond it.
Value readOrZero(OpBuilder &b, Location loc, ArrayRef<Value> conditions, Value input, ArrayRef<Value> indices) {
  Type element = cast<RankedTensorType>(input.getType()).getElementType();
  return guardedRead(
      b, loc, conditions, [&](OpBuilder &inner) { return tensor::ExtractOp::create(inner, loc, input, indices); },
      [&](OpBuilder &inner) { return constantScalar(inner, loc, element, 0); }, element);
}

Value lowerConv(KernelLowering &lowering, ConvOp op) {
  auto filterType = cast<RankedTensorType>(op.getFilter().getType());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Location loc = op.getLoc();
  OpBuilder &builder = lowering.builder;
  int64_t spatial = type.getRank() - 2;
  // Loops: the result's dimensions, then c and k... (the filter's without m); the one along which the input lies in
  // memory is the innermost.
  int64_t loops = type.getRank() + 1 + spatial, channelDim = op.getChannelDim();
  int64_t channelLoop = op.getChannelsLast() ? loops - 1 : type.getRank();
  int64_t kernelLoop = op.getChannelsLast() ? type.getRank() : type.getRank() + 1;
  SmallVector<AffineExpr> filter = {getAffineDimExpr(channelDim, op.getContext()),
                                    getAffineDimExpr(channelLoop, op.getContext())};
  for (int64_t d = 0; d < spatial; ++d)
    filter.push_back(getAffineDimExpr(kernelLoop + d, op.getContext()));
  SmallVector<AffineMap> maps = {
      AffineMap::get(loops, 0, filter, op.getContext()),
      AffineMap::getMultiDimIdentityMap(loops, op.getContext()).getSliceMap(0, type.getRank())};
  SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::parallel);
  std::fill(iterators.begin() + type.getRank(), iterators.end(), utils::IteratorType::reduction);

  Type vxElement = type.getElementType();
  Type accumulator = getAccumulatorType(getBodyType(vxElement));
  Value init = lowering.filled(loc, type, getIdentity(ReduceKind::sum, vxElement, accumulator));
  Value input = lowering.get(op.getInput());
  int64_t groups = op.getGroups();
  Value channelsOfGroup = lowering.size(loc, op.getFilter(), 1);
  Value filtersOfGroup;
  if (groups != 1)
    filtersOfGroup =
        lowering.dim(loc, DimAttr::floorDiv(getDim(filterType, 0), DimAttr::constant(op.getContext(), groups)));
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < spatial; ++d)
    sizes.push_back(lowering.size(loc, op.getInput(), op.getSpatialDim(d)));
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), lowering.get(op.getFilter()), init, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        SmallVector<Value> at;
        for (int64_t d = 0; d < loops; ++d)
          at.push_back(linalg::IndexOp::create(b, l, d));
        SmallVector<Value> indices(type.getRank()), conditions;
        indices[0] = at[0];
        indices[channelDim] = at[channelLoop];
        if (groups != 1) {
          // With one filter for each channel the filter's number is the channel's.
          bool isDepthwise =
              getDim(filterType, 1).asConstant() == 1 && getDim(filterType, 0).asConstant() == std::optional(groups);
          Value first = isDepthwise
                            ? at[channelDim]
                            : arith::MulIOp::create(b, l, arith::DivUIOp::create(b, l, at[channelDim], filtersOfGroup),
                                                    channelsOfGroup)
                                  .getResult();
          indices[channelDim] = isDepthwise ? first : arith::AddIOp::create(b, l, first, at[channelLoop]).getResult();
        }
        for (int64_t d = 0; d < spatial; ++d) {
          Value inWindow = getDim(filterType, 2 + d).asConstant() == 1 ? Value() : at[kernelLoop + d];
          indices[op.getSpatialDim(d)] =
              getWindowPlace(b, l, {op.getStrides()[d], op.getDilations()[d], op.getPadsLow()[d], op.getPadsHigh()[d]},
                             at[op.getSpatialDim(d)], inWindow, sizes[d], conditions);
        }
        Value element = readOrZero(b, l, conditions, input, indices), weight = args[0];
        if (!isa<FloatType>(vxElement)) {
          element = convertScalar(b, l, element, op.getInput().getType().getElementType(), vxElement);
          weight = convertScalar(b, l, weight, filterType.getElementType(), vxElement);
        }
        linalg::YieldOp::create(b, l, multiplyAdd(b, l, element, weight, args[1], vxElement));
      });
  lowering.markAnchor(op, generic);
  generic->setAttr(vxk::kWindowAttr,
                   vxk::WindowAttr::get(op.getContext(), op.getStrides(), op.getDilations(), op.getPadsLow(),
                                        op.getPadsHigh(), op.getGroups(), op.getChannelsLast()));
  if (op.getFactors())
    generic->setAttr(vxk::kTF32Attr, builder.getUnitAttr());
  return roundTo(lowering, loc, generic.getResult(0), type);
}

Value lowerConvFilter(KernelLowering &lowering, ConvFilterOp op) {
  RankedTensorType inputType = op.getInput().getType(), gradientType = op.getGradient().getType(),
                   type = op.getResult().getType();
  Location loc = op.getLoc();
  OpBuilder &builder = lowering.builder;
  int64_t rank = type.getRank(), spatial = rank - 2, groups = op.getGroups();
  // Loops: the result's dimensions, then n and o...
  int64_t loops = rank + 1 + spatial;
  SmallVector<AffineExpr> gradient(rank);
  gradient[0] = getAffineDimExpr(rank, op.getContext());
  gradient[op.getChannelDim()] = getAffineDimExpr(op.getFilterDim(), op.getContext());
  for (int64_t d = 0; d < spatial; ++d)
    gradient[op.getSpatialDim(d)] = getAffineDimExpr(rank + 1 + d, op.getContext());
  SmallVector<AffineMap> maps = {AffineMap::get(loops, 0, gradient, op.getContext()),
                                 AffineMap::getMultiDimIdentityMap(loops, op.getContext()).getSliceMap(0, rank)};
  SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::parallel);
  std::fill(iterators.begin() + rank, iterators.end(), utils::IteratorType::reduction);

  Type vxElement = type.getElementType();
  Value init = lowering.filled(loc, type, getIdentity(ReduceKind::sum, vxElement, getAccumulatorType(vxElement)));
  Value input = lowering.get(op.getInput());
  Value channelsOfGroup, filtersOfGroup;
  if (groups != 1) {
    DimAttr divisor = DimAttr::constant(op.getContext(), groups);
    channelsOfGroup = lowering.dim(loc, DimAttr::floorDiv(getDim(inputType, op.getChannelDim()), divisor));
    filtersOfGroup = lowering.dim(loc, DimAttr::floorDiv(getDim(gradientType, op.getChannelDim()), divisor));
  }
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < spatial; ++d)
    sizes.push_back(lowering.size(loc, op.getInput(), op.getSpatialDim(d)));
  // How many places the windows reach beyond the end; 1 where that is not known.
  auto reachBeyond = [&](int64_t d) -> int64_t {
    DimAttr size = getDim(inputType, op.getSpatialDim(d)), places = getDim(gradientType, op.getSpatialDim(d)),
            kernel = getDim(type, op.getKernelDim(d));
    if (!size || !places || !kernel)
      return 1;
    DimAttr beyond = (kernel + (-1)) * op.getDilations()[d] + (places + (-1)) * op.getStrides()[d] + 1 - size +
                     (-op.getPadsLow()[d]);
    return std::max<int64_t>(beyond.asConstant().value_or(1), 0);
  };
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), lowering.get(op.getGradient()), init, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange args) {
        SmallVector<Value> at;
        for (int64_t d = 0; d < loops; ++d)
          at.push_back(linalg::IndexOp::create(b, l, d));
        SmallVector<Value> indices(rank), conditions;
        indices[0] = at[rank];
        Value channel = at[op.getFilterChannelDim()];
        if (groups != 1) {
          Value group = arith::DivUIOp::create(b, l, at[op.getFilterDim()], filtersOfGroup);
          channel = arith::AddIOp::create(b, l, arith::MulIOp::create(b, l, group, channelsOfGroup), channel);
        }
        indices[op.getChannelDim()] = channel;
        for (int64_t d = 0; d < spatial; ++d) {
          Value inWindow = getDim(type, op.getKernelDim(d)).asConstant() == 1 ? Value() : at[op.getKernelDim(d)];
          WindowDim window = {op.getStrides()[d], op.getDilations()[d], op.getPadsLow()[d], reachBeyond(d)};
          indices[op.getSpatialDim(d)] = getWindowPlace(b, l, window, at[rank + 1 + d], inWindow, sizes[d], conditions);
        }
        Value element = readOrZero(b, l, conditions, input, indices);
        linalg::YieldOp::create(b, l, multiplyAdd(b, l, element, args[0], args[1], vxElement));
      });
  lowering.markAnchor(op, generic);
  if (op.getFactors())
    generic->setAttr(vxk::kTF32Attr, builder.getUnitAttr());
  return roundTo(lowering, loc, generic.getResult(0), type);
}

} // namespace

void addContractionLowerings(LoweringTable &table) {
  table.add<ContractOp, lowerContract>();
  table.add<ConvOp, lowerConv>();
  table.add<ConvFilterOp, lowerConvFilter>();
}

} // namespace vx

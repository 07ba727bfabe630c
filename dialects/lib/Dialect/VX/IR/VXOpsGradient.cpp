#include "VXOpFamilies.h"

#include "vx/Dialect/DescribeEnd.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"

#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsGradient.cpp.inc"

namespace vx {

LogicalResult GradientOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getWrt().getTypes());
  return success();
}

LogicalResult GradientOp::verify() {
  if (getSeed() && !areCompatibleTypes(getSeed().getType(), getValue().getType())) // C2
    return emitOpError() << "expects 'seed' of the type of 'value': " << getValue().getType() << ", got "
                         << getSeed().getType();
  if (getWrt().empty()) // C3
    return emitOpError() << "expects at least 1 value in 'wrt', got 0";
  return success();
}

void GradientOp::collectConstraints(ConstraintCollector &collector) {
  if (getSeed())
    collector.wantEqualShapes(getSeed().getType(), getValue().getType());
}

static LogicalResult verifyRegion(CustomGradientOp op, Block &block, StringRef name, TypeRange arguments,
                                  TypeRange yields) {
  auto check = [&](StringRef what, TypeRange want, TypeRange got) -> LogicalResult {
    if (want.size() != got.size())
      return op.emitOpError() << "expects " << want.size() << " " << what << " of '" << name << "', got " << got.size();
    for (auto [index, pair] : llvm::enumerate(llvm::zip(want, got)))
      if (auto [wanted, type] = pair; !areCompatibleTypes(wanted, type))
        return op.emitOpError() << "expects " << wanted << " as number " << index << " of the " << what << " of '"
                                << name << "', got " << type;
    return success();
  };
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op.emitOpError() << "expects '" << name << "' to end with 'vx.yield', got " << describeEnd(block);
  if (failed(check("arguments", arguments, block.getArgumentTypes())))
    return failure();
  return check("values", yields, yield.getValues().getTypes());
}

LogicalResult CustomGradientOp::verify() {
  SmallVector<Type> arguments(getInputs().getTypes()), gradients;
  if (failed(verifyRegion(*this, getForward().front(), "forward", arguments, getResultTypes()))) // C1
    return failure();
  llvm::append_range(arguments, getResultTypes());
  llvm::copy_if(getResultTypes(), std::back_inserter(arguments), isDifferentiable);
  llvm::copy_if(getInputs().getTypes(), std::back_inserter(gradients), isDifferentiable);
  return verifyRegion(*this, getPullback().front(), "pullback", arguments, gradients); // C2
}

//===-- Training --------------------------------------------------------------------------------===//

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  types.push_back(input);
  types.push_back(input.clone(IntegerType::get(context, 1)));
  return success();
}

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1)) // C1
    return emitOpError() << "expects 'ratio' to be at least 0 and below 1, got " << ratio;
  return success();
}

SmallVector<Value> DropoutOp::decompose(GraphBuilder &g) {
  RankedTensorType type = getInput().getType();
  Type word = IntegerType::get(g.context, 32, IntegerType::Unsigned);
  double ratio = getRatio().convertToDouble();
  if (!getKey() || ratio == 0)
    return {getInput(), g.splat(1, type.clone(g.builder.getI1Type()))};
  Value bits = g.emitAs<RandomBitsOp>(type.clone(word), getKey(), getNumber());
  double limit = std::min(std::nearbyint(std::ldexp(ratio, 32)), std::ldexp(1, 32) - 1);
  Value mask = g.emit<CompareOp>(ComparePredicate::ge, bits, g.splatLike(limit, bits));
  Value scaled = g.emit<MulOp>(getInput(), g.splatLike(1 / (1 - ratio), getInput()));
  return {g.emit<SelectOp>(mask, scaled, g.splatLike(0, getInput())), mask};
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, ValueRange({adaptor.getInput(), adaptor.getMean(), adaptor.getVariance()}).getTypes());
  return success();
}

LogicalResult BatchNormOp::verify() {
  RankedTensorType input = getInput().getType();
  if (input.getRank() < 2) // C1
    return emitOpError() << "expects 'input' of 2 or more dimensions, got " << input;
  for (auto [name, value] : {std::pair<StringRef, Value>("scale", getScale()),
                             {"bias", getBias()},
                             {"mean", getMean()},
                             {"variance", getVariance()}})
    if (auto type = cast<RankedTensorType>(value.getType());
        type.getRank() != 1 || !mayBeEqual(getDim(type, 0), getDim(input, 1))) // C2
      return emitOpError() << "expects one number for each channel of " << input << " as '" << name << "', got "
                           << type;
  if (!getEpsilon().isFinite() || getEpsilon().isNegative()) // C3
    return emitOpError() << "expects 'epsilon' to be finite and at least 0, got " << getEpsilon().convertToFloat();
  float momentum = getMomentum().convertToFloat();
  if (!(momentum >= 0 && momentum <= 1)) // C4
    return emitOpError() << "expects 'momentum' to be at least 0 and at most 1, got " << momentum;
  if (getMean().getType().getElementType() != getVariance().getType().getElementType()) // C5
    return emitOpError() << "expects 'mean' and 'variance' of one element type, got " << getMean().getType() << " and "
                         << getVariance().getType();
  return success();
}

void BatchNormOp::collectConstraints(ConstraintCollector &collector) {
  for (Value value : getOperands().drop_front())
    collector.wantEqual(getDim(getInput().getType(), 1), getDim(cast<RankedTensorType>(value.getType()), 0));
}

SmallVector<Value> BatchNormOp::decompose(GraphBuilder &g) {
  SmallVector<DimAttr> dims = getDims(getInput().getType());
  auto repeat = [&](Value channels) { return g.broadcastInDim(channels, dims, 1); };
  if (!getOfBatch()) {
    // As input * factor + offset: the two follow from constants, and fold into a convolution before.
    Type element = getInput().getType().getElementType(), statistic = getMean().getType().getElementType();
    Value variance = getVariance();
    Value deviation = g.emit<SqrtOp>(g.emit<AddOp>(variance, g.splatLike(getEpsilon().convertToFloat(), variance)));
    Value factor = g.emit<DivOp>(g.cast(getScale(), statistic), deviation);
    Value offset = g.emit<SubOp>(g.cast(getBias(), statistic), g.emit<MulOp>(getMean(), factor));
    Value scaled = g.emit<MulOp>(getInput(), repeat(g.cast(factor, element)));
    return {g.emit<AddOp>(scaled, repeat(g.cast(offset, element))), getMean(), getVariance()};
  }
  SmallVector<int64_t> axes;
  DimAttr count = g.dim(1);
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (d != 1) {
      axes.push_back(d);
      count = count * dims[d];
    }
  Value input = g.widen(getInput());
  Value mean = g.mean(input, axes);
  Value centred = g.emit<SubOp>(input, repeat(mean));
  Value variance = g.mean(g.emit<MulOp>(centred, centred), axes);
  Value root = g.emit<SqrtOp>(g.emit<AddOp>(variance, g.splatLike(getEpsilon().convertToFloat(), variance)));
  Type wide = g.typeOf(input).getElementType();
  Value normal = g.emit<DivOp>(centred, repeat(root));
  Value scaled = g.emit<MulOp>(normal, repeat(g.cast(getScale(), wide)));
  Value result = g.emit<AddOp>(scaled, repeat(g.cast(getBias(), wide)));
  double momentum = getMomentum().convertToFloat();
  auto collect = [&](Value before, Value own) -> Value {
    Value now = g.cast(own, g.typeOf(before).getElementType());
    Value after = g.emit<AddOp>(g.emit<MulOp>(before, g.splatLike(momentum, before)),
                                g.emit<MulOp>(now, g.splatLike(1 - momentum, now)));
    if (count.asConstant().value_or(0) > 0)
      return after;
    Value number = g.emitDim(count, g.builder.getI64Type());
    Value isEmpty = g.emit<CompareOp>(ComparePredicate::eq, number, g.splatLike(0, number));
    return g.emit<SelectOp>(g.broadcast(isEmpty, getDims(g.typeOf(before))), before, after);
  };
  return {g.cast(result, getInput().getType().getElementType()), collect(getMean(), mean),
          collect(getVariance(), variance)};
}

void registerGradientOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsGradient.cpp.inc"
      >(dialect);
}

} // namespace vx

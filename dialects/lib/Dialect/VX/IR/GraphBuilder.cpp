#include "vx/Dialect/VX/IR/GraphBuilder.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/UserText.h"

#include <cmath>

using namespace mlir;

namespace vx {

static std::string describe(Type type) { return "'" + describeType(type) + "'"; }

void GraphBuilder::refuse(Refusal, const Twine &message) {
  emitError(location) << message;
  isRefused = true;
}

bool GraphBuilder::checkSizes(ArrayRef<DimAttr> dims) {
  for (auto [index, dim] : llvm::enumerate(dims))
    if (std::optional<int64_t> size = dim ? dim.asConstant() : std::nullopt; size && *size < 0) {
      refuse(Refusal::Invalid, "expects sizes of at least 0, got " + Twine(*size) + " as dimension " + Twine(index));
      return false;
    }
  return true;
}

//===-- Any op ------------------------------------------------------------------------------------===//

Operation *GraphBuilder::finish(OperationState &state) {
  if (llvm::is_contained(state.operands, Value()))
    return nullptr;
  for (Type type : state.types)
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !checkSizes(getDims(tensor)))
      return nullptr;
  Operation *op = builder.create(state);
  OperationName name = op->getName();
  if (succeeded(name.verifyInvariants(op)) && succeeded(name.verifyRegionInvariants(op)))
    return op;
  op->erase();
  refuseDiagnosed();
  return nullptr;
}

//===-- Types and sizes ---------------------------------------------------------------------------===//

ArrayAttr GraphBuilder::toArray(ArrayRef<DimAttr> dims) {
  return builder.getArrayAttr(SmallVector<Attribute>(dims.begin(), dims.end()));
}

RankedTensorType GraphBuilder::makeType(ArrayRef<DimAttr> dims, Type elementType) {
  return checkSizes(dims) ? getTensorType(dims, elementType) : RankedTensorType();
}

RankedTensorType GraphBuilder::typeOf(Value value) {
  if (!value)
    return {};
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    refuse(Refusal::Invalid, "expects a tensor, got " + describe(value.getType()));
  return type;
}

SmallVector<DimAttr> GraphBuilder::broadcastShapes(ArrayRef<DimAttr> lhs, ArrayRef<DimAttr> rhs) {
  SmallVector<DimAttr> result;
  size_t rank = std::max(lhs.size(), rhs.size());
  for (size_t i = 0; i < rank; ++i) {
    DimAttr l = i + lhs.size() >= rank ? lhs[i + lhs.size() - rank] : DimAttr();
    DimAttr r = i + rhs.size() >= rank ? rhs[i + rhs.size() - rank] : DimAttr();
    if (!l || !r || l == r) {
      result.push_back(l ? l : r);
      continue;
    }
    std::optional<int64_t> leftSize = l.asConstant(), rightSize = r.asConstant();
    if (leftSize == 1 || rightSize == 1) {
      result.push_back(leftSize == 1 ? r : l);
      continue;
    }
    if (!mayBeEqual(l, r))
      refuse(Refusal::Invalid, "expects shapes that broadcast together, got the sizes " + l.str() + " and " + r.str());
    result.push_back(DimAttr::broadcast(l, r));
    (void)checkSizes(result.back());
  }
  return result;
}

void GraphBuilder::require(ConstraintKind kind, DimAttr lhs, DimAttr rhs) {
  Constraint constraint{kind, lhs, rhs};
  std::optional<bool> isTrue = decide(constraint, SymbolRanges());
  if (isTrue == false)
    return refuse(Refusal::Invalid, "needs " + describeWant(constraint) + ", got " + lhs.str() + " and " + rhs.str());
  if (isTrue == true)
    return;
  OperationState state(location, ConstraintOp::getOperationName());
  ConstraintOp::build(builder, state, kind, lhs, rhs, describeWant(constraint));
  finish(state);
}

//===-- Constants ---------------------------------------------------------------------------------===//

Value GraphBuilder::emitConstant(ElementsAttr elements) { return emitAs<ConstantOp>(elements.getType(), elements); }

Value GraphBuilder::emitScalar(double value, Type elementType) {
  auto type = RankedTensorType::get({}, elementType);
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    APFloat number(value);
    bool losesInfo;
    number.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return emitConstant(DenseElementsAttr::get(type, number));
  }
  auto integerType = dyn_cast<IntegerType>(elementType);
  if (!integerType)
    return refuse(Refusal::Invalid, "expects numbers or bools, got " + describe(elementType)), Value();
  unsigned width = integerType.getWidth();
  bool isUnsigned = integerType.isUnsigned() || width == 1;
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1), high = std::ldexp(1.0, isUnsigned ? width : width - 1);
  if (!(value >= low && value < high) || value != std::trunc(value))
    return refuse(Refusal::Unsupported,
                  "expects a number that " + describe(elementType) + " can hold, got " + std::to_string(value)),
           Value();
  APInt number = isUnsigned ? APInt(width, uint64_t(value)) : APInt(width, int64_t(value), /*isSigned=*/true);
  return emitConstant(DenseElementsAttr::get(type, number));
}

Value GraphBuilder::emitDim(DimAttr value, Type elementType) {
  auto i64 = builder.getI64Type();
  if (std::optional<int64_t> constant = value.asConstant()) {
    if (elementType == i64)
      return emitConstant(DenseElementsAttr::get(RankedTensorType::get({}, i64), *constant));
    return emitScalar(double(*constant), elementType);
  }
  return cast(emitAs<DimValueOp>(RankedTensorType::get({}, i64), value), elementType);
}

Value GraphBuilder::splat(double value, RankedTensorType type) {
  return type ? broadcastInDim(emitScalar(value, type.getElementType()), getDims(type), {}) : Value();
}

Value GraphBuilder::splatLike(double value, Value like) { return splat(value, typeOf(like)); }

//===-- Element types -----------------------------------------------------------------------------===//

Value GraphBuilder::cast(Value value, Type elementType) {
  RankedTensorType type = typeOf(value);
  if (!type || type.getElementType() == elementType)
    return type ? value : Value();
  return emitAs<CastOp>(makeType(getDims(type), elementType), value);
}

Value GraphBuilder::widen(Value value) {
  RankedTensorType type = typeOf(value);
  auto element = type ? dyn_cast<FloatType>(type.getElementType()) : FloatType();
  return element && element.getWidth() < 32 ? cast(value, builder.getF32Type()) : value;
}

//===-- Shapes ------------------------------------------------------------------------------------===//

Value GraphBuilder::reshape(Value value, ArrayRef<DimAttr> dims) {
  RankedTensorType from = typeOf(value), to = from ? makeType(dims, from.getElementType()) : from;
  return to && to == from ? value : emitAs<ReshapeOp>(to, value);
}

Value GraphBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  return emit<TransposeOp>(value, permutation);
}

Value GraphBuilder::slice(Value value, ArrayRef<DimAttr> starts, ArrayRef<DimAttr> sizes, ArrayRef<int64_t> strides) {
  RankedTensorType from = typeOf(value), to = from ? makeType(sizes, from.getElementType()) : from;
  bool isWhole = to && to == from && llvm::all_of(strides, [](int64_t s) { return s == 1; }) &&
                 llvm::all_of(starts, [](DimAttr start) { return start.asConstant() == 0; });
  return isWhole ? value : emitAs<SliceOp>(to, value, toArray(starts), strides);
}

Value GraphBuilder::pad(Value value, ArrayRef<DimAttr> low, ArrayRef<DimAttr> high) {
  auto isZero = [](DimAttr dim) { return dim && dim.asConstant() == 0; };
  RankedTensorType type = typeOf(value);
  if (!type || (llvm::all_of(low, isZero) && llvm::all_of(high, isZero)))
    return type ? value : Value();
  return emit<PadOp>(value, emitScalar(0, type.getElementType()), toArray(low), toArray(high));
}

Value GraphBuilder::spreadPlaces(Value value, ArrayRef<int64_t> steps) {
  RankedTensorType type = typeOf(value);
  if (!type || llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    return type ? value : Value();
  // Each place becomes a row of its own, which is filled up.
  SmallVector<DimAttr> split, joined, low, high;
  for (auto [d, step] : llvm::enumerate(steps)) {
    DimAttr size = getDim(type, d);
    split.push_back(size);
    low.push_back(dim(0));
    high.push_back(dim(0));
    if (step != 1) {
      split.push_back(dim(1));
      low.push_back(dim(0));
      high.push_back(dim(step - 1));
    }
    joined.push_back(size * step);
  }
  return reshape(pad(reshape(value, split), low, high), joined);
}

Value GraphBuilder::broadcastInDim(Value value, ArrayRef<DimAttr> dims, ArrayRef<int64_t> dimensions) {
  RankedTensorType from = typeOf(value), to = from ? makeType(dims, from.getElementType()) : from;
  return to && to == from ? value : emitAs<BroadcastOp>(to, value, dimensions);
}

Value GraphBuilder::broadcast(Value value, ArrayRef<DimAttr> dims) {
  RankedTensorType type = typeOf(value);
  if (!type)
    return {};
  int64_t rank = type.getRank(), offset = static_cast<int64_t>(dims.size()) - rank;
  if (offset < 0)
    return refuse(Refusal::Invalid,
                  "expects a shape that broadcasts to " + Twine(dims.size()) + " dimensions, got " + describe(type)),
           Value();
  auto dimensions = llvm::to_vector(llvm::seq<int64_t>(offset, offset + rank));
  return broadcastInDim(value, dims, dimensions);
}

Value GraphBuilder::broadcastAlong(Value value, ArrayRef<DimAttr> dims, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> dimensions;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (!llvm::is_contained(axes, d))
      dimensions.push_back(d);
  return broadcastInDim(value, dims, dimensions);
}

void GraphBuilder::broadcastTogether(MutableArrayRef<Value> values) {
  SmallVector<DimAttr> dims;
  for (Value value : values)
    if (RankedTensorType type = typeOf(value))
      dims = broadcastShapes(dims, getDims(type));
  for (Value &value : values)
    value = broadcast(value, dims);
}

//===-- Reductions --------------------------------------------------------------------------------===//

Value GraphBuilder::reduce(ReduceKind kind, Value value, ArrayRef<int64_t> axes) {
  return axes.empty() ? value : emit<ReduceOp>(kind, value, axes);
}

Value GraphBuilder::mean(Value value, ArrayRef<int64_t> axes) {
  Value sum = reduce(ReduceKind::sum, value, axes);
  RankedTensorType type = typeOf(value), sumType = typeOf(sum);
  if (!type || !sumType)
    return {};
  DimAttr count = dim(1);
  for (int64_t axis : axes) {
    DimAttr size = getDim(type, axis);
    if (!size)
      return refuse(Refusal::Invalid, "expects an expression for each size, got " + describe(type)), Value();
    count = count * size;
    if (!checkSizes(count))
      return {};
  }
  return emit<DivOp>(sum, broadcastInDim(emitDim(count, type.getElementType()), getDims(sumType), {}));
}

} // namespace vx

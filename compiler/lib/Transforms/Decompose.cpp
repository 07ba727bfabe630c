#include "vx/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// Builds the ops that stand for one op, which computes along some dimensions of its input.
class Expansion {
public:
  Expansion(Operation *op, Value input) : builder(op), location(op->getLoc()) {
    auto type = cast<RankedTensorType>(input.getType());
    narrow = type.getElementType();
    wide = narrow.isF64() ? narrow : Type(builder.getF32Type());
    dims = getDims(type);
    fullType = getTensorType(dims, wide);
  }

  RankedTensorType getFullType() const { return fullType; }

  /// `value` in the type that is computed in.
  Value widen(Value value) { return convert(value, wide); }
  Value narrowed(Value value) { return convert(value, narrow); }

  template <typename Op>
  Value binary(Value lhs, Value rhs) {
    return Op::create(builder, location, lhs.getType(), lhs, rhs);
  }
  template <typename Op>
  Value unary(Value value) {
    return Op::create(builder, location, value.getType(), value);
  }

  Value reduce(ReduceKind kind, Value value, ArrayRef<int64_t> axes) {
    SmallVector<DimAttr> kept;
    for (auto [index, dim] : llvm::enumerate(dims))
      if (!llvm::is_contained(axes, static_cast<int64_t>(index)))
        kept.push_back(dim);
    return ReduceOp::create(builder, location, getTensorType(kept, wide), kind, value, axes);
  }

  /// Repeats a reduced value along the dimensions that it lost.
  Value spread(Value value, ArrayRef<int64_t> axes) {
    SmallVector<int64_t> dimensions;
    for (int64_t d = 0; d < fullType.getRank(); ++d)
      if (!llvm::is_contained(axes, d))
        dimensions.push_back(d);
    return BroadcastOp::create(builder, location, fullType, value, dimensions);
  }

  /// Repeats a row along the dimensions before it.
  Value spreadRow(Value row) {
    int64_t rank = getTensor(row).getRank();
    auto dimensions = llvm::to_vector(llvm::seq<int64_t>(fullType.getRank() - rank, fullType.getRank()));
    return BroadcastOp::create(builder, location, fullType, row, dimensions);
  }

  /// A number in the shape of `like`.
  Value splat(double number, Value like) {
    auto scalar = RankedTensorType::get({}, wide);
    Value value = ConstantOp::create(builder, location, scalar,
                                     DenseElementsAttr::get(scalar, builder.getFloatAttr(wide, number)));
    return BroadcastOp::create(builder, location, like.getType(), value, ArrayRef<int64_t>());
  }

  /// sum / number of elements that it sums, also when that is known at the call only.
  Value mean(Value sum, ArrayRef<int64_t> axes) {
    DimAttr count = DimAttr::constant(builder.getContext(), 1);
    for (int64_t axis : axes)
      count = count * dims[axis];
    if (count.asConstant())
      return binary<DivOp>(sum, splat(static_cast<double>(*count.asConstant()), sum));
    Value size = convert(DimValueOp::create(builder, location, count), wide);
    return binary<DivOp>(sum, BroadcastOp::create(builder, location, sum.getType(), size, ArrayRef<int64_t>()));
  }

  /// sqrt(meanSquare + epsilon)
  Value root(Value meanSquare, double epsilon) {
    return unary<SqrtOp>(binary<AddOp>(meanSquare, splat(epsilon, meanSquare)));
  }

private:
  static RankedTensorType getTensor(Value value) { return cast<RankedTensorType>(value.getType()); }

  Value convert(Value value, Type elementType) {
    RankedTensorType type = getTensor(value);
    if (type.getElementType() == elementType)
      return value;
    return CastOp::create(builder, location, getTensorType(getDims(type), elementType), value);
  }

  OpBuilder builder;
  Location location;
  Type narrow, wide;
  SmallVector<DimAttr> dims;
  RankedTensorType fullType;
};

Value expandSoftmax(SoftmaxOp op) {
  Expansion e(op, op.getInput());
  SmallVector<int64_t> axes = {static_cast<int64_t>(op.getAxis())};
  Value input = e.widen(op.getInput());
  Value shifted = e.binary<SubOp>(input, e.spread(e.reduce(ReduceKind::max, input, axes), axes));
  Value exponentials = e.unary<ExpOp>(shifted);
  Value sum = e.reduce(ReduceKind::sum, exponentials, axes);
  if (op.getLog())
    return e.narrowed(e.binary<SubOp>(shifted, e.spread(e.unary<LogOp>(sum), axes)));
  return e.narrowed(e.binary<DivOp>(exponentials, e.spread(sum, axes)));
}

Value expandLayerNorm(LayerNormOp op) {
  Expansion e(op, op.getInput());
  auto axes = llvm::to_vector(llvm::seq<int64_t>(op.getAxis(), e.getFullType().getRank()));
  Value input = e.widen(op.getInput());
  Value mean = e.mean(e.reduce(ReduceKind::sum, input, axes), axes);
  Value centred = e.binary<SubOp>(input, e.spread(mean, axes));
  Value variance = e.mean(e.reduce(ReduceKind::sum, e.binary<MulOp>(centred, centred), axes), axes);
  Value deviation = e.root(variance, op.getEpsilon().convertToFloat());
  Value normal = e.binary<DivOp>(centred, e.spread(deviation, axes));
  Value scaled = e.binary<MulOp>(normal, e.spreadRow(e.widen(op.getScale())));
  return e.narrowed(e.binary<AddOp>(scaled, e.spreadRow(e.widen(op.getBias()))));
}

Value expandRmsNorm(RmsNormOp op) {
  Expansion e(op, op.getInput());
  SmallVector<int64_t> axes = {e.getFullType().getRank() - 1};
  Value input = e.widen(op.getInput());
  Value square = e.mean(e.reduce(ReduceKind::sum, e.binary<MulOp>(input, input), axes), axes);
  Value scaled = e.binary<MulOp>(input, e.spreadRow(e.widen(op.getScale())));
  return e.narrowed(e.binary<DivOp>(scaled, e.spread(e.root(square, op.getEpsilon().convertToFloat()), axes)));
}

struct DecomposePass : impl::DecomposePassBase<DecomposePass> {
  using DecomposePassBase::DecomposePassBase;

  void runOnOperation() override {
    for (const std::string &name : ops)
      if (name != "softmax" && name != "layer_norm" && name != "rms_norm") {
        getOperation().emitError() << "vx-decompose expects softmax, layer_norm or rms_norm in 'ops', got '" << name
                                   << "'";
        return signalPassFailure();
      }
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isa<SoftmaxOp, LayerNormOp, RmsNormOp>(op) && llvm::is_contained(ops, op->getName().stripDialect()))
        found.push_back(op);
    });
    for (Operation *op : found) {
      auto type = cast<RankedTensorType>(op->getOperand(0).getType());
      if (llvm::is_contained(getDims(type), DimAttr())) {
        op->emitOpError() << "expects an expression for each dimension of its input, got " << type;
        return signalPassFailure();
      }
      Value value = TypeSwitch<Operation *, Value>(op)
                        .Case([](SoftmaxOp o) { return expandSoftmax(o); })
                        .Case([](LayerNormOp o) { return expandLayerNorm(o); })
                        .Case([](RmsNormOp o) { return expandRmsNorm(o); });
      op->replaceAllUsesWith(ValueRange(value));
      op->erase();
    }
  }
};

} // namespace
} // namespace vx

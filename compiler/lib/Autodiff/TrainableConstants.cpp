// A weight is a constant in the place of a parameter: a factor of a product or a convolution, the table of a gather,
// the scale or bias of a norm, or what is added to what the model computes.
#include "TrainableConstants.h"

#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;

namespace vx {

namespace {

/// A value that follows from the constant alone, and from other constants.
struct Derived {
  Value value;
  bool isScaled = false; // divided by a root, as the scale of a norm whose statistics are constants
  bool isRow = false;    // a row of a table

  bool operator==(const Derived &) const = default;
};

bool isConstant(Value value) {
  for (int depth = 0; depth < 32; ++depth) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<ConstantOp, IotaOp, DimValueOp>(op))
      return true;
    if (op->getNumOperands() == 0 || op->getNumRegions() > 0)
      return false;
    for (Value other : op->getOperands().drop_front())
      if (!isConstant(other))
        return false;
    value = op->getOperand(0);
  }
  return false;
}

/// The value that this one moves, repeats or holds in another type, whether or not a dropout leaves some of it out.
Value skipMoves(Value value) {
  for (Operation *op = value.getDefiningOp();
       op && op->getNumOperands() == 1 && (op->hasTrait<OpTrait::Moves>() || isa<CastOp, ReshapeOp, DropoutOp>(op));
       op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

bool isRoot(Value value) {
  value = skipMoves(value);
  if (value.getDefiningOp<SqrtOp>())
    return true;
  auto power = value.getDefiningOp<PowOp>();
  return power && std::abs(getFloatSplat(power.getRhs()).value_or(0)) == 0.5;
}

/// True for what a norm gives before its scale: divided by a root, or by what is one over it.
bool isNormalised(Value value) {
  value = skipMoves(value);
  Operation *op = value.getDefiningOp();
  if (isa_and_present<LayerNormOp, RmsNormOp, BatchNormOp>(op))
    return true;
  if (auto div = dyn_cast_or_null<DivOp>(op))
    return isRoot(div.getRhs());
  auto mul = dyn_cast_or_null<MulOp>(op);
  return mul && llvm::any_of(mul->getOperands(), [](Value factor) {
           factor = skipMoves(factor);
           auto inverse = factor.getDefiningOp<DivOp>();
           return isRoot(factor) || (inverse && isRoot(inverse.getRhs()));
         });
}

InitAttr makeStart(MLIRContext *context, InitKind kind, double a, double b) {
  Builder builder(context);
  return InitAttr::get(context, kind, builder.getF64FloatAttr(a), builder.getF64FloatAttr(b));
}

/// How many numbers an output of the product sums, of which `weight` are the factors.
int64_t countInputs(OpOperand &weight) {
  auto type = cast<RankedTensorType>(weight.get().getType());
  auto sizeOf = [&](int64_t dim) { return type.isDynamicDim(dim) ? int64_t(1) : type.getDimSize(dim); };
  int64_t count = 1;
  if (auto contract = dyn_cast<ContractOp>(weight.getOwner())) {
    for (int64_t dim : weight.getOperandNumber() ? contract.getRhsContracting() : contract.getLhsContracting())
      count *= sizeOf(dim);
    return count;
  }
  for (int64_t dim = 1; dim < type.getRank(); ++dim) // those of a convolution's first dimension are its outputs
    count *= sizeOf(dim);
  return count;
}

/// The weight of the product or convolution that gives this, before or behind what is added to it; null for what is
/// none.
OpOperand *findFactor(Value value, int depth = 0) {
  value = skipMoves(value);
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  if (op->hasTrait<OpTrait::Product>()) // a contraction's may be either
    return &op->getOpOperand(isConstant(op->getOperand(0)) ? 0 : 1);
  if (depth < 4 && isa<AddOp>(op))
    for (Value part : op->getOperands())
      if (OpOperand *factor = findFactor(part, depth + 1))
        return factor;
  return nullptr;
}

class UseFinder {
public:
  explicit UseFinder(ConstantOp constant) : constant(constant) { work.push_back({constant.getResult()}); }

  ConstantUse run() {
    for (size_t i = 0; i < work.size() && !isFactor; ++i)
      for (OpOperand &read : work[i].value.getUses())
        visit(read, Derived(work[i]));
    if (use.what.empty())
      use.what = "read by nothing";
    return use;
  }

private:
  void follow(Value value, const Derived &from, bool isScaled = false, bool isRow = false) {
    Derived next{value, from.isScaled || isScaled, from.isRow || isRow};
    if (!llvm::is_contained(work, next))
      work.push_back(next);
  }

  /// The first of several is told.
  void setWeight(StringRef what, InitAttr start) {
    if (use.isWeight)
      return;
    use.isWeight = true;
    use.what = what.str();
    use.start = start;
  }
  /// A table that is a factor as well starts as one: what it gives is as large as what other products give.
  void setFactor(StringRef what, OpOperand &read) {
    isFactor = true;
    InitAttr start = startOf(countInputs(read));
    setWeight(what, start);
    use.start = start;
  }
  /// As PyTorch's layers start: weight and bias between -1 and 1 by the root of how many inputs an output has.
  InitAttr startOf(int64_t inputs) {
    double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(inputs, 1)));
    return makeStart(constant.getContext(), InitKind::uniform, -bound, bound);
  }
  InitAttr spread(double deviation) { return makeStart(constant.getContext(), InitKind::normal, 0, deviation); }
  /// As what it is added to; a table of places as those of transformers, and what follows the scale of a norm at 0.
  InitAttr findStartOfBias(Value other) {
    if (OpOperand *factor = findFactor(other))
      return startOf(countInputs(*factor));
    auto type = cast<RankedTensorType>(constant.getType());
    return llvm::count_if(type.getShape(), [](int64_t size) { return size != 1; }) > 1 ? spread(0.02) : startAs(0);
  }
  InitAttr startAs(double number) { return makeStart(constant.getContext(), InitKind::uniform, number, number); }
  /// The first of several is told.
  void setOther(const Twine &what) {
    if (use.what.empty())
      use.what = what.str();
  }

  bool isScalar() { return constant.getType().getRank() == 0; }
  bool hasOneElement() {
    auto type = cast<RankedTensorType>(constant.getType());
    return type.hasStaticShape() && type.getNumElements() == 1;
  }

  /// True for -inf and numbers like it, which take places out of a softmax.
  bool isMask() {
    if (!isa<FloatType>(constant.getType().getElementType()))
      return false;
    auto isFar = [](double number) { return !(number > -1e4); };
    if (auto splat = getFloatSplat(constant.getResult()))
      return isFar(*splat);
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (elements)
      return llvm::any_of(elements.getValues<APFloat>(),
                          [&](const APFloat &number) { return isFar(number.convertToDouble()); });
    auto resource = dyn_cast<DenseF32ResourceElementsAttr>(constant.getValue());
    std::optional<ArrayRef<float>> numbers = resource ? resource.tryGetAsArrayRef() : std::nullopt;
    return numbers && llvm::any_of(*numbers, [&](float number) { return isFar(number); });
  }

  void visit(OpOperand &read, Derived from) {
    Operation *op = read.getOwner();
    unsigned number = read.getOperandNumber();
    if (isa<ConvOp>(op))
      return number == 1 ? setFactor("weight of a convolution", read) : setOther("the data of a convolution");
    if (isa<ContractOp>(op))
      return isConstant(op->getOperand(1 - number)) ? setOther("a factor of constants")
                                                    : setFactor("weight of a product", read);
    if (isa<BatchNormOp>(op) && number > 2)
      return setOther("a statistic of a batch norm");
    if (isa<LayerNormOp, RmsNormOp, BatchNormOp>(op) && number > 0)
      return number == 1 ? setWeight("scale of a norm", startAs(1)) : setWeight("bias of a norm", startAs(0));
    if (isa<GatherOp>(op) && number == 0)
      return isFactorOnly(op->getResult(0)) ? setOther("a table of factors") : setWeight("a table of rows", spread(1));
    bool isMove = op->hasTrait<OpTrait::Moves>() && op->getNumOperands() == 1;
    // A model's own gradient is that of rounding to integers and back.
    bool isRounded = isa<CustomGradientOp>(op) && number == 0;
    if (isa<DequantizeOp, CustomGradientOp>(op) && !isRounded)
      return setOther("the scale of integers");
    if (isMove || isRounded || isa<CastOp, ReshapeOp, DropoutOp>(op))
      return follow(op->getResult(0), from);
    // The gates of a recurrent layer: PyTorch's exporter writes them in another order.
    if ((isa<SliceOp>(op) && number == 0) || (isa<ConcatOp>(op) && llvm::all_of(op->getOperands(), isConstant)))
      return follow(op->getResult(0), from);
    if (isa<AddOp, SubOp, MulOp, DivOp>(op))
      return visitArithmetic(op, number, from);
    if (isa<SqrtOp>(op))
      return setOther("a statistic or scale: its root is taken");
    setOther("operand " + Twine(number) + " of " + op->getName().getStringRef());
  }

  void visitArithmetic(Operation *op, unsigned number, const Derived &from) {
    Value other = op->getOperand(1 - number);
    bool isAlone = isConstant(other);
    if (isa<DivOp>(op) && number == 1)
      return setOther("a divisor");
    if (isa<DivOp>(op))
      return isAlone ? follow(op->getResult(0), from, isRoot(other)) : setOther("a dividend");
    if (isa<SubOp>(op) && number == 1)
      return setOther("a statistic or offset: it is subtracted");
    if (isAlone)
      return follow(op->getResult(0), from);
    if (isScalar())
      return setOther("a scalar");
    if (isa<MulOp>(op))
      return from.isScaled || isNormalised(other) ? setWeight("scale of a norm", startAs(1))
                                                  : setOther("a factor that is no scale of a norm");
    if (isa<SubOp>(op))
      return setOther("something is subtracted from it");
    if (isMask())
      return setOther("a mask");
    if (hasOneElement() && !findFactor(other))
      return setOther("a scalar");
    setWeight("an added bias", findStartOfBias(other));
  }

  /// True where nothing but products of elements read the rows, as those of rotary tables.
  static bool isFactorOnly(Value rows) {
    SmallVector<Value> all = {rows};
    for (size_t i = 0; i < all.size(); ++i)
      for (Operation *user : all[i].getUsers()) {
        if ((user->hasTrait<OpTrait::Moves>() || isa<CastOp, ReshapeOp>(user)) && user->getNumOperands() == 1)
          all.push_back(user->getResult(0));
        else if (!isa<MulOp>(user))
          return false;
      }
    return true;
  }

  ConstantOp constant;
  SmallVector<Derived> work;
  ConstantUse use;
  bool isFactor = false; // the weight of a product or convolution
};

} // namespace

ConstantUse findUse(ConstantOp constant) { return UseFinder(constant).run(); }

} // namespace vx

// A weight is a constant in the place of a parameter: a factor of a product or a convolution, the table of a gather,
// the scale or bias of a norm, or what is added to what the model computes.
#include "TrainableConstants.h"

#include "llvm/ADT/SetVector.h"

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

/// True for what a product or convolution gives, before or behind what is added to it.
bool isProduct(Value value, int depth = 0) {
  value = skipMoves(value);
  Operation *op = value.getDefiningOp();
  return op && (op->hasTrait<OpTrait::Product>() ||
                (depth < 4 && isa<AddOp>(op) &&
                 llvm::any_of(op->getOperands(), [&](Value part) { return isProduct(part, depth + 1); })));
}

class UseFinder {
public:
  explicit UseFinder(ConstantOp constant) : constant(constant) { work.push_back({constant.getResult()}); }

  ConstantUse run() {
    for (size_t i = 0; i < work.size() && !use.isWeight; ++i)
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

  void setWeight(StringRef what) {
    use.isWeight = true;
    use.what = what.str();
  }
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
      return number == 1 ? setWeight("weight of a convolution") : setOther("the data of a convolution");
    if (isa<ContractOp>(op))
      return isConstant(op->getOperand(1 - number)) ? setOther("a factor of constants")
                                                    : setWeight("weight of a product");
    if (isa<BatchNormOp>(op) && number > 2)
      return setOther("a statistic of a batch norm");
    if (isa<LayerNormOp, RmsNormOp, BatchNormOp>(op) && number > 0)
      return setWeight(number == 1 ? "scale of a norm" : "bias of a norm");
    if (isa<GatherOp>(op) && number == 0)
      return isFactorOnly(op->getResult(0)) ? setOther("a table of factors") : setWeight("a table of rows");
    bool isMove = op->hasTrait<OpTrait::Moves>() && op->getNumOperands() == 1;
    if (isMove || isa<CastOp, ReshapeOp, DropoutOp>(op))
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
      return from.isScaled || isNormalised(other) ? setWeight("scale of a norm")
                                                  : setOther("a factor that is no scale of a norm");
    if (isa<SubOp>(op))
      return setOther("something is subtracted from it");
    if (isMask())
      return setOther("a mask");
    if (hasOneElement() && !isProduct(other))
      return setOther("a scalar");
    setWeight("an added bias");
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
};

} // namespace

ConstantUse findUse(ConstantOp constant) { return UseFinder(constant).run(); }

} // namespace vx

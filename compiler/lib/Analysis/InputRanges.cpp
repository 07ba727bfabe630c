#include "vx/Analysis/InputRanges.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace vx {

namespace {

/// A value whose elements are those of the argument plus `offset`; none: they are something else that follows from
/// them. An element that is `dropped`, before the offset, is not among them: another value stands in its place.
struct Reached {
  Value value;
  std::optional<int64_t> offset;
  std::optional<int64_t> dropped;
};

bool isInteger(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element = tensor ? dyn_cast<IntegerType>(tensor.getElementType()) : IntegerType();
  return element && element.getWidth() > 1;
}

/// The number in every place of an integer constant, where it is a small one.
std::optional<int64_t> getIntegerSplat(Value value) {
  auto number = dyn_cast_or_null<IntegerAttr>(getSplatNumber(value));
  return number && number.getValue().getSignificantBits() <= 32 ? std::optional(number.getValue().getSExtValue())
                                                                : std::nullopt;
}

class InputRange {
public:
  explicit InputRange(BlockArgument argument) : context(argument.getContext()) { reach(argument, {argument, 0, {}}); }

  /// Null when the argument indexes nothing.
  DictionaryAttr run() {
    while (!work.empty()) {
      Reached next = work.pop_back_val();
      for (OpOperand &use : next.value.getUses())
        visit(use, next);
    }
    if (!isIndex)
      return {};
    Builder builder(context);
    SmallVector<NamedAttribute> entries = {builder.getNamedAttr("lower", builder.getI64IntegerAttr(lower))};
    if (isKnown)
      entries.push_back(builder.getNamedAttr("upper", upper));
    if (isKnown && also)
      entries.push_back(builder.getNamedAttr("also", builder.getI64IntegerAttr(*also)));
    return builder.getDictionaryAttr(entries);
  }

private:
  void reach(Value value, const Reached &from) {
    if (seen.insert({value, {from.offset.value_or(INT64_MIN), from.dropped.value_or(INT64_MIN)}}).second)
      work.push_back({value, from.offset, from.dropped});
  }
  void setUnknown() {
    isIndex = true;
    isKnown = false;
    lower = 0;
  }

  /// What is an integer, or holds integers, goes on; floats and bools index nothing.
  void follow(Operation *op, const Reached &from) {
    for (Value result : op->getResults())
      if (isInteger(result.getType()) || isa<SequenceType, OptionalType>(result.getType()))
        reach(result, from);
  }

  void visit(OpOperand &use, const Reached &from) {
    Operation *op = use.getOwner();
    auto indexing = dyn_cast<IndexingOpInterface>(op);
    if (SmallVector<DimAttr> sizes =
            indexing ? indexing.getIndexedSizes(use.getOperandNumber()) : SmallVector<DimAttr>();
        !sizes.empty()) {
      // A negative index counts from the end, but nobody means that by a random one.
      for (DimAttr size : sizes)
        index(size, from);
      return;
    }
    // What moves elements, or holds them in another type; or one of several values in each place: the range holds for
    // those that come from here.
    if (op->hasTrait<OpTrait::Moves>() || isa<CastOp>(op))
      return follow(op, from);
    if (op->hasTrait<OpTrait::Chooses>() && isInteger(use.get().getType()))
      return follow(op, {from.value, from.offset, from.offset ? getDropped(use, from) : std::nullopt});
    if (isa<AddOp, SubOp>(op) && from.offset) {
      std::optional<int64_t> constant = getIntegerSplat(op->getOperand(1 - use.getOperandNumber()));
      if (constant && isa<AddOp>(op))
        return follow(op, {from.value, *from.offset + *constant, from.dropped});
      if (constant && use.getOperandNumber() == 0)
        return follow(op, {from.value, *from.offset - *constant, from.dropped});
    }
    if (isa<HostScalarOpInterface>(op))
      return carried(op, use, from);
    if (isa<YieldOp>(op) && isa<IfOp>(op->getParentOp()))
      return reach(op->getParentOp()->getResult(use.getOperandNumber()), from);
    if (isa<YieldOp>(op))
      return setUnknown();
    follow(op, {from.value, std::nullopt, std::nullopt});
  }

  /// The value that does not pass a `vx.select` which tells it by a comparison with a constant.
  std::optional<int64_t> getDropped(OpOperand &use, const Reached &from) {
    auto select = dyn_cast<SelectOp>(use.getOwner());
    auto compare = select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
    if (!compare || compare.getLhs() != use.get() || select.getOnTrue() == select.getOnFalse())
      return from.dropped;
    bool passes = compare.getPredicate() == ComparePredicate::ne && select.getOnTrue() == use.get();
    passes |= compare.getPredicate() == ComparePredicate::eq && select.getOnFalse() == use.get();
    std::optional<int64_t> constant = getIntegerSplat(compare.getRhs());
    return passes && constant ? std::optional(*constant - *from.offset) : from.dropped;
  }

  /// As a part of a sequence, a size, a position, or a value that a loop changes.
  void carried(Operation *op, OpOperand &use, const Reached &from) {
    auto insert = dyn_cast<SequenceInsertOp>(op);
    bool isPart = isa<SequenceType>(use.get().getType()) || (insert && use.get() != insert.getPosition());
    if (isPart && !isa<LoopOp>(op))
      return follow(op, {from.value, std::nullopt, std::nullopt});
    setUnknown();
  }

  void index(DimAttr size, const Reached &from) {
    if (!size || !from.offset)
      return setUnknown();
    int64_t offset = *from.offset;
    DimAttr end = DimAttr::sub(size, DimAttr::constant(context, offset));
    lower = isIndex ? std::max(lower, -offset) : -offset;
    upper = upper ? DimAttr::min(upper, end) : end;
    // Only what no index is made of may be anything.
    also = !isIndex || also == from.dropped ? from.dropped : std::nullopt;
    isIndex = true;
  }

  MLIRContext *context;
  SmallVector<Reached> work;
  llvm::DenseSet<std::pair<Value, std::pair<int64_t, int64_t>>> seen;
  bool isIndex = false;
  bool isKnown = true;
  int64_t lower = 0;
  DimAttr upper;
  std::optional<int64_t> also;
};

} // namespace

DictionaryAttr getInputRange(BlockArgument argument) {
  return isInteger(argument.getType()) ? InputRange(argument).run() : DictionaryAttr();
}

void setInputRanges(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (DictionaryAttr range = getInputRange(argument))
      function.setArgAttr(argument.getArgNumber(), kRangeAttr, range);
}

} // namespace vx

#include "vx/Analysis/InputRanges.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace vx {

namespace {

/// A value whose elements are those of the argument plus `offset`; none: they are something else that follows from
/// them.
struct Reached {
  Value value;
  std::optional<int64_t> offset;
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
  explicit InputRange(BlockArgument argument) : context(argument.getContext()) { reach(argument, 0); }

  /// Null when the argument indexes nothing.
  DictionaryAttr run() {
    while (!work.empty()) {
      Reached next = work.pop_back_val();
      for (OpOperand &use : next.value.getUses())
        visit(use, next.offset);
    }
    if (!isIndex)
      return {};
    Builder builder(context);
    SmallVector<NamedAttribute> entries = {builder.getNamedAttr("lower", builder.getI64IntegerAttr(lower))};
    if (isKnown)
      entries.push_back(builder.getNamedAttr("upper", upper));
    return builder.getDictionaryAttr(entries);
  }

private:
  void reach(Value value, std::optional<int64_t> offset) {
    if (seen.insert({value, offset.value_or(INT64_MIN)}).second)
      work.push_back({value, offset});
  }
  void setUnknown() {
    isIndex = true;
    isKnown = false;
    lower = 0;
  }

  /// What is an integer, or holds integers, goes on; floats and bools index nothing.
  void follow(Operation *op, std::optional<int64_t> offset) {
    for (Value result : op->getResults())
      if (isInteger(result.getType()) || isa<SequenceType, OptionalType>(result.getType()))
        reach(result, offset);
  }

  void visit(OpOperand &use, std::optional<int64_t> offset) {
    Operation *op = use.getOwner();
    auto indexing = dyn_cast<IndexingOpInterface>(op);
    if (SmallVector<DimAttr> sizes =
            indexing ? indexing.getIndexedSizes(use.getOperandNumber()) : SmallVector<DimAttr>();
        !sizes.empty()) {
      // A negative index counts from the end, but nobody means that by a random one.
      for (DimAttr size : sizes)
        index(size, offset);
      return;
    }
    // What moves elements, or holds them in another type; or one of several values in each place: the range holds for
    // those that come from here.
    if (op->hasTrait<OpTrait::Moves>() || isa<CastOp>(op) ||
        (op->hasTrait<OpTrait::Chooses>() && isInteger(use.get().getType())))
      return follow(op, offset);
    if (isa<AddOp, SubOp>(op) && offset) {
      std::optional<int64_t> constant = getIntegerSplat(op->getOperand(1 - use.getOperandNumber()));
      if (constant && isa<AddOp>(op))
        return follow(op, *offset + *constant);
      if (constant && use.getOperandNumber() == 0)
        return follow(op, *offset - *constant);
    }
    if (isa<HostScalarOpInterface>(op))
      return carried(op, use);
    if (isa<YieldOp>(op) && isa<IfOp>(op->getParentOp()))
      return reach(op->getParentOp()->getResult(use.getOperandNumber()), offset);
    if (isa<YieldOp>(op))
      return setUnknown();
    follow(op, std::nullopt);
  }

  /// As a part of a sequence, a size, a position, or a value that a loop changes.
  void carried(Operation *op, OpOperand &use) {
    auto insert = dyn_cast<SequenceInsertOp>(op);
    bool isPart = isa<SequenceType>(use.get().getType()) || (insert && use.get() != insert.getPosition());
    if (isPart && !isa<LoopOp>(op))
      return follow(op, std::nullopt);
    setUnknown();
  }

  void index(DimAttr size, std::optional<int64_t> offset) {
    if (!size || !offset)
      return setUnknown();
    DimAttr end = DimAttr::sub(size, DimAttr::constant(context, *offset));
    lower = isIndex ? std::max(lower, -*offset) : -*offset;
    upper = upper ? DimAttr::min(upper, end) : end;
    isIndex = true;
  }

  MLIRContext *context;
  SmallVector<Reached> work;
  llvm::DenseSet<std::pair<Value, int64_t>> seen;
  bool isIndex = false;
  bool isKnown = true;
  int64_t lower = 0;
  DimAttr upper;
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

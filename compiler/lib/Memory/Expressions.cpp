#include "vx/Memory/Expressions.h"

using namespace mlir;

namespace vx {

NamedMaxima::NamedMaxima(vxrt::ProgramOp program) : context(program.getContext()), prefix("max ") {
  if (auto module = dyn_cast_or_null<ModuleOp>(program->getParentOp())) {
    ranges = SymbolRanges(module);
    areRangesNarrow = llvm::any_of(program.getSymbols().getAsRange<StringAttr>(), [&](StringAttr name) {
      SymbolRange range = ranges.lookup(name);
      return range.min > 0 || range.max != INT64_MAX;
    });
  }
  while (llvm::any_of(program.getSymbols().getAsRange<StringAttr>(),
                      [&](StringAttr name) { return name.getValue().starts_with(prefix); }))
    prefix += ' ';
}

DimAttr NamedMaxima::get(ArrayRef<DimAttr> of) {
  SmallVector<Attribute> distinct;
  for (DimAttr part : of)
    if (!llvm::is_contained(distinct, part))
      distinct.push_back(part);
  ArrayAttr key = ArrayAttr::get(context, distinct);
  DimAttr &symbol = symbols[key];
  if (!symbol) {
    symbol = DimAttr::symbolNamed(context, prefix + std::to_string(parts.size()));
    parts[symbol] = key;
  }
  return symbol;
}

ArrayRef<DimAttr> NamedMaxima::getParts(DimAttr symbol) const {
  ArrayAttr all = parts.lookup(symbol);
  if (!all)
    return {};
  return ArrayRef(static_cast<const DimAttr *>(all.getValue().data()), all.size());
}

bool NamedMaxima::isAtMost(DimAttr lhs, DimAttr rhs) const {
  // A chain of names is followed only so far.
  int steps = 64;
  auto prove = [&](DimAttr part, auto &&self) -> bool {
    if (--steps < 0)
      return false;
    return lhs.isAtMost(part) || (areRangesNarrow && isNeverNegative(part - lhs, ranges)) ||
           llvm::any_of(getParts(part), [&](DimAttr inner) { return self(inner, self); });
  };
  return prove(rhs, prove);
}

DimAttr EntryExpressions::get(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  DimAttr result = compute(value);
  known[value] = result;
  return result;
}

DimAttr EntryExpressions::compute(Value value) {
  MLIRContext *context = value.getContext();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto program = dyn_cast<vxrt::ProgramOp>(argument.getOwner()->getParentOp());
    if (!program || argument.getArgNumber() >= program.getSymbols().size())
      return {};
    return DimAttr::symbolNamed(cast<StringAttr>(program.getSymbols()[argument.getArgNumber()]));
  }
  if (auto constant = value.getDefiningOp<vxrt::ConstOp>())
    return DimAttr::constant(context, constant.getValue());
  if (auto read = value.getDefiningOp<vxrt::ReadInputOp>())
    return read.getSymbol() ? DimAttr::symbolNamed(read.getSymbolAttr()) : DimAttr();
  // A size of what is repeated: lhs == 1 ? rhs : lhs.
  if (auto select = value.getDefiningOp<vxrt::SelectOp>()) {
    auto isOne = select.getCondition().getDefiningOp<vxrt::CalcOp>();
    auto one = isOne ? isOne.getRhs().getDefiningOp<vxrt::ConstOp>() : vxrt::ConstOp();
    if (!one || isOne.getKind() != vxrt::CalcKind::eq || one.getValue() != 1 || isOne.getLhs() != select.getOnFalse())
      return {};
    DimAttr lhs = get(select.getOnFalse()), rhs = lhs ? get(select.getOnTrue()) : DimAttr();
    return rhs ? DimAttr::broadcast(lhs, rhs) : DimAttr();
  }
  auto calc = value.getDefiningOp<vxrt::CalcOp>();
  if (!calc)
    return {};
  DimAttr lhs = get(calc.getLhs()), rhs = lhs ? get(calc.getRhs()) : DimAttr();
  if (!rhs)
    return {};
  switch (calc.getKind()) {
  case vxrt::CalcKind::add:
    return lhs + rhs;
  case vxrt::CalcKind::sub:
    return lhs - rhs;
  case vxrt::CalcKind::mul:
    return lhs * rhs;
  case vxrt::CalcKind::floordiv:
    return DimAttr::floorDiv(lhs, rhs);
  case vxrt::CalcKind::ceildiv:
    return DimAttr::ceilDiv(lhs, rhs);
  case vxrt::CalcKind::mod:
    return DimAttr::mod(lhs, rhs);
  case vxrt::CalcKind::max:
    if (!maxima)
      return DimAttr::max(lhs, rhs);
    return maxima->isAtMost(lhs, rhs) ? rhs : maxima->isAtMost(rhs, lhs) ? lhs : maxima->get({lhs, rhs});
  case vxrt::CalcKind::min:
    return DimAttr::min(lhs, rhs);
  default:
    return {};
  }
}

Value emitExpression(OpBuilder &builder, Location location, DimAttr dim, llvm::function_ref<Value(DimAttr)> known,
                     llvm::function_ref<void(DimAttr, Value)> made) {
  Value value = known(dim);
  if (value || dim.getKind() == DimKind::Symbol)
    return value;
  auto emit = [&](DimAttr part) { return emitExpression(builder, location, part, known, made); };
  auto combine = [&](vxrt::CalcKind kind, Value lhs, Value rhs) -> Value {
    return lhs && rhs ? vxrt::CalcOp::create(builder, location, builder.getI64Type(), kind, lhs, rhs) : Value();
  };
  auto fold = [&](vxrt::CalcKind kind) {
    Value result = emit(dim.getOperands().front());
    for (DimAttr operand : dim.getOperands().drop_front())
      result = combine(kind, result, emit(operand));
    return result;
  };
  switch (dim.getKind()) {
  case DimKind::Constant:
    value = vxrt::ConstOp::create(builder, location, builder.getI64Type(), builder.getI64IntegerAttr(dim.getValue()));
    break;
  case DimKind::Symbol:
    llvm_unreachable("only a known symbol has a value");
  case DimKind::Sum:
    value = fold(vxrt::CalcKind::add);
    break;
  case DimKind::Product:
    value = fold(vxrt::CalcKind::mul);
    if (value && dim.getValue() != 1)
      value = combine(vxrt::CalcKind::mul, value, emit(DimAttr::constant(dim.getContext(), dim.getValue())));
    break;
  case DimKind::FloorDiv:
    value = fold(vxrt::CalcKind::floordiv);
    break;
  case DimKind::CeilDiv:
    value = fold(vxrt::CalcKind::ceildiv);
    break;
  case DimKind::Mod:
    value = fold(vxrt::CalcKind::mod);
    break;
  case DimKind::Max:
    value = fold(vxrt::CalcKind::max);
    break;
  case DimKind::Min:
    value = fold(vxrt::CalcKind::min);
    break;
  case DimKind::Broadcast: {
    Value lhs = emit(dim.getOperands()[0]), rhs = emit(dim.getOperands()[1]);
    Value isOne = lhs ? combine(vxrt::CalcKind::eq, lhs, emit(DimAttr::constant(dim.getContext(), 1))) : Value();
    if (isOne && rhs)
      value = vxrt::SelectOp::create(builder, location, builder.getI64Type(), isOne, rhs, lhs);
    break;
  }
  }
  if (value)
    made(dim, value);
  return value;
}

} // namespace vx

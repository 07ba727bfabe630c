#include "vx/Memory/Expressions.h"

using namespace mlir;

namespace vx {

DimAttr getEntryExpression(Value value) {
  MLIRContext *context = value.getContext();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto program = dyn_cast<vxrt::ProgramOp>(argument.getOwner()->getParentOp());
    if (!program || argument.getArgNumber() >= program.getSymbols().size())
      return {};
    return DimAttr::symbolNamed(cast<StringAttr>(program.getSymbols()[argument.getArgNumber()]));
  }
  if (auto constant = value.getDefiningOp<vxrt::ConstOp>())
    return DimAttr::constant(context, constant.getValue());
  auto calc = value.getDefiningOp<vxrt::CalcOp>();
  if (!calc)
    return {};
  DimAttr lhs = getEntryExpression(calc.getLhs()), rhs = lhs ? getEntryExpression(calc.getRhs()) : DimAttr();
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
    return DimAttr::max(lhs, rhs);
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
  }
  if (value)
    made(dim, value);
  return value;
}

} // namespace vx

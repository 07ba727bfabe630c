#include "vx/Memory/Passes.h"

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

} // namespace vx

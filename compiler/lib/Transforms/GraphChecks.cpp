#include "GraphChecks.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace vx {

Declarations getDeclarations(ModuleOp module) {
  Declarations declarations;
  for (auto symbol : module.getOps<SymbolOp>())
    declarations[symbol.getName()] = symbol;
  return declarations;
}

LogicalResult checkKind(Operation *op, StringRef phase) {
  bool isKnown = isa<func::FuncOp, func::ReturnOp>(op) || isa_and_present<VXDialect>(op->getDialect()) ||
                 (isa<ModuleOp>(op) && !op->getParentOp());
  if (!isKnown || isa<FusionOp, KernelOp, DispatchOp>(op) || (phase != "import" && isa<CallOp>(op)))
    return op->emitError() << "'" << op->getName() << "' does not belong to the '" << phase << "' phase";
  auto function = dyn_cast<func::FuncOp>(op);
  if (function &&
      (!function.getBody().hasOneBlock() || !isa<func::ReturnOp>(function.getBody().front().getTerminator())))
    return op->emitError() << "expects function '" << function.getName()
                           << "' to have a body of one block that ends with 'func.return'";
  return success();
}

LogicalResult checkSymbols(Operation *op, const Declarations &declarations) {
  SetVector<StringAttr> names;
  AttrTypeWalker walker;
  walker.addWalk([&](DimAttr dim) {
    dim.collectSymbols(names);
    return WalkResult::skip();
  });
  walker.walk(op->getAttrDictionary());
  for (Type type : op->getResultTypes())
    walker.walk(type);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        walker.walk(type);
  for (StringAttr name : names)
    if (!declarations.contains(name.getValue()))
      return op->emitError() << "dimension symbol '" << name.getValue() << "' is not declared by a 'vx.symbol'";
  if (auto bind = dyn_cast<BindSymbolOp>(op)) {
    SymbolOp symbol = declarations.lookup(bind.getSymbol());
    if (!symbol || !symbol.getDataDependent())
      return op->emitOpError() << "expects the symbol '" << bind.getSymbol() << "' to be declared as data-dependent";
  }
  return success();
}

LogicalResult checkValues(Operation *op, function_ref<LogicalResult(Type)> check) {
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        if (failed(check(type)))
          return failure();
  return success();
}

} // namespace vx

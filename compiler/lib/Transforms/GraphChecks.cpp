#include "GraphChecks.h"

#include "vx/Dialect/VX/IR/SourceLocation.h"

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
  // Gradients are taken in the grad phase.
  bool isPast =
      isa<CallOp>(op) ? phase != "import" : getRole(op) == Role::Directive && phase != "import" && phase != "graph";
  bool isKnown = isa<func::FuncOp, func::ReturnOp>(op) || isa_and_present<VXDialect>(op->getDialect()) ||
                 (isa<ModuleOp>(op) && !op->getParentOp());
  if (!isKnown || isa<FusionOp, KernelOp, DispatchOp>(op) || isPast)
    return op->emitError() << "expected ops of the '" << phase << "' phase, got '" << op->getName() << "'";
  if (auto function = dyn_cast<func::FuncOp>(op)) {
    auto error = [&] {
      return op->emitError() << "expects function '" << function.getName()
                             << "' to have a body of one block that ends with 'func.return', got ";
    };
    if (!function.getBody().hasOneBlock())
      return error() << function.getBlocks().size() << " blocks";
    if (Operation *end = function.getBody().front().getTerminator(); !isa<func::ReturnOp>(end))
      return error() << "'" << end->getName() << "' at its end";
  }
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
      return op->emitError() << "expected a 'vx.symbol' that declares dimension symbol '" << name.getValue()
                             << "', got none";
  if (auto bind = dyn_cast<BindSymbolOp>(op)) {
    SymbolOp symbol = declarations.lookup(bind.getSymbol());
    if (!symbol || !symbol.getDataDependent())
      return op->emitOpError() << "expects the symbol '" << bind.getSymbol()
                               << "' to be declared as data-dependent, got "
                               << (!symbol                ? "no declaration"
                                   : symbol.getInstance() ? "a symbol of the instance"
                                                          : "a symbol of an input's size");
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

namespace {

/// The graph phase's C3.
LogicalResult checkSizes(Operation *op) {
  return checkValues(op, [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !llvm::is_contained(getDims(tensor), DimAttr()))
      return success();
    return op->emitError() << "'" << op->getName() << "' of " << describeSource(op->getLoc())
                           << ": expected an expression for each dimension of a value, got " << type;
  });
}

/// The graph phase's C4.
LogicalResult checkBindings(func::FuncOp function, const Declarations &declarations) {
  SetVector<StringAttr> bound, used;
  for (Type type : function.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (DimAttr dim : getDims(tensor))
        if (dim && dim.asSymbol())
          bound.insert(dim.asSymbol());
  AttrTypeWalker walker;
  walker.addWalk([&](DimAttr dim) {
    dim.collectSymbols(used);
    return WalkResult::skip();
  });
  function->walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
  });
  for (StringAttr name : used) {
    SymbolOp symbol = declarations.lookup(name.getValue());
    if (symbol && !symbol.getDataDependent() && !symbol.getInstance() && !bound.contains(name))
      return function.emitError() << "expected an input of '" << function.getName() << "' with the size '"
                                  << name.getValue() << "', so that a call binds it, got none";
  }
  return success();
}

} // namespace

LogicalResult checkGraph(ModuleOp module, StringRef phase) {
  Declarations declarations = getDeclarations(module);
  WalkResult result = module.walk([&](Operation *op) {
    return WalkResult(success(succeeded(checkKind(op, phase)) && succeeded(checkSymbols(op, declarations)) &&
                              succeeded(checkSizes(op))));
  });
  if (result.wasInterrupted())
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(checkBindings(function, declarations)))
      return failure();
  return success();
}

} // namespace vx

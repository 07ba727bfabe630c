// What holds after the `import` and the `graph` phase, as checks.
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYIMPORTPASS
#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

using Declarations = llvm::StringMap<SymbolOp>;

Declarations getDeclarations(ModuleOp module) {
  Declarations declarations;
  for (auto symbol : module.getOps<SymbolOp>())
    declarations[symbol.getName()] = symbol;
  return declarations;
}

/// Both phases' C1.
LogicalResult checkKind(Operation *op, StringRef phase) {
  bool isKnown = isa<ModuleOp>(op) || isa_and_present<VXDialect, func::FuncDialect>(op->getDialect());
  if (!isKnown || isa<FusionOp, KernelOp, DispatchOp>(op))
    return op->emitError() << "'" << op->getName() << "' does not belong to the '" << phase << "' phase";
  return success();
}

/// Both phases' C2.
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

/// The graph phase's C3.
LogicalResult checkSizes(Operation *op) {
  auto check = [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !llvm::is_contained(getDims(tensor), DimAttr()))
      return success();
    return op->emitError() << "'" << op->getName() << "' of " << describeSource(op->getLoc())
                           << " has a value of unknown size, want an expression for each dimension: " << type;
  };
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
    if (symbol && !symbol.getDataDependent() && !bound.contains(name))
      return function.emitError() << "no input of '" << function.getName() << "' has the size '" << name.getValue()
                                  << "', so that a call does not bind it";
  }
  return success();
}

struct VerifyImportPass : impl::VerifyImportPassBase<VerifyImportPass> {
  using VerifyImportPassBase::VerifyImportPassBase;

  void runOnOperation() override {
    Declarations declarations = getDeclarations(getOperation());
    WalkResult result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (failed(checkKind(op, "import")) || failed(checkSymbols(op, declarations)))
        return WalkResult::interrupt();
      bool computes = op->getParentOfType<func::FuncOp>() && !op->hasTrait<mlir::OpTrait::IsTerminator>();
      if (computes && getSourceNodes(op->getLoc()).empty()) { // C3
        op->emitError() << "'" << op->getName() << "' has a location that names no source";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

struct VerifyGraphPass : impl::VerifyGraphPassBase<VerifyGraphPass> {
  using VerifyGraphPassBase::VerifyGraphPassBase;

  void runOnOperation() override {
    Declarations declarations = getDeclarations(getOperation());
    WalkResult result = getOperation().walk([&](Operation *op) {
      return WalkResult(success(succeeded(checkKind(op, "graph")) && succeeded(checkSymbols(op, declarations)) &&
                                succeeded(checkSizes(op))));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkBindings(function, declarations)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace vx

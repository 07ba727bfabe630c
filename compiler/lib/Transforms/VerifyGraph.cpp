// vx-verify-graph: what holds after the `graph` phase.
#include "GraphChecks.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// The graph phase's C3.
LogicalResult checkSizes(Operation *op) {
  return checkValues(op, [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !llvm::is_contained(getDims(tensor), DimAttr()))
      return success();
    return op->emitError() << "'" << op->getName() << "' of " << describeSource(op->getLoc())
                           << " has a value of unknown size, want an expression for each dimension: " << type;
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
      return function.emitError() << "no input of '" << function.getName() << "' has the size '" << name.getValue()
                                  << "', so that a call does not bind it";
  }
  return success();
}

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

// vx-verify-optimised: what holds after the `optimised` phase.
#include "GraphChecks.h"
#include "vx/Analysis/InputRanges.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Transforms/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYOPTIMISEDPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// The optimised phase's C5.
LogicalResult checkPrecision(Operation *op, Precision wanted, StringRef name) {
  if (wanted == Precision::F32 || !op->hasTrait<OpTrait::Product>() ||
      !getElementTypeOrSelf(op->getOperand(0).getType()).isF32())
    return success();
  auto factors = op->getAttrOfType<TypeAttr>("factors");
  if (wanted == Precision::TF32 && factors && isa<FloatTF32Type>(factors.getValue()))
    return success();
  return op->emitError() << "after 'optimised' '" << op->getName() << "' of " << describeSource(op->getLoc())
                         << " multiplies in " << name << ", got factors of f32";
}

/// The optimised phase's C6.
LogicalResult checkRanges(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto stated = function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), kRangeAttr);
    DictionaryAttr range = getInputRange(argument);
    if (stated == range)
      continue;
    auto describe = [](DictionaryAttr attribute) {
      std::string text = "none";
      if (attribute) {
        text.clear();
        llvm::raw_string_ostream(text) << attribute;
      }
      return text;
    };
    return function.emitError() << "after 'optimised' input " << argument.getArgNumber() << " of '"
                                << function.getName() << "' states the range that the graph takes: expected "
                                << describe(range) << ", got " << describe(stated);
  }
  return success();
}

struct VerifyOptimisedPass : impl::VerifyOptimisedPassBase<VerifyOptimisedPass> {
  using VerifyOptimisedPassBase::VerifyOptimisedPassBase;

  void runOnOperation() override {
    std::optional<Precision> wanted = parsePrecision(precision);
    if (!wanted) {
      getOperation().emitError() << "'precision': expected f32, tf32, f16 or bf16, got '" << precision << "'";
      return signalPassFailure();
    }
    if (failed(checkGraph(getOperation(), "optimised")))
      return signalPassFailure();
    WalkResult result = getOperation().walk(
        [&](Operation *op) { return WalkResult(checkPrecision(op, *wanted, StringRef(precision))); });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkRanges(function)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace vx

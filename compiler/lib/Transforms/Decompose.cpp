#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_DECOMPOSEPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// The ops that say how they are decomposed, without the dialect's name and sorted.
SmallVector<StringRef> getDecomposableNames(MLIRContext *context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName op : context->getRegisteredOperationsByDialect(VXDialect::getDialectNamespace()))
    if (op.hasInterface<DecomposableOpInterface>())
      names.push_back(op.stripDialect());
  llvm::sort(names);
  return names;
}

struct DecomposePass : impl::DecomposePassBase<DecomposePass> {
  using DecomposePassBase::DecomposePassBase;
  explicit DecomposePass(std::function<bool(Operation *)> isWanted) : isWanted(std::move(isWanted)) {}

  void runOnOperation() override {
    SmallVector<StringRef> known = getDecomposableNames(&getContext());
    for (const std::string &name : ops)
      if (!llvm::is_contained(known, name)) {
        getOperation().emitError() << "vx-decompose expects " << llvm::join(ArrayRef(known).drop_back(), ", ") << " or "
                                   << known.back() << " in 'ops', got '" << name << "'";
        return signalPassFailure();
      }
    // What stands for an op may hold others that are wanted.
    for (bool isDone = false; !isDone;) {
      SmallVector<DecomposableOpInterface> found;
      getOperation().walk([&](DecomposableOpInterface op) {
        if (isWanted ? isWanted(op) : llvm::is_contained(ops, op->getName().stripDialect()))
          found.push_back(op);
      });
      for (DecomposableOpInterface op : found)
        if (failed(decompose(op)))
          return signalPassFailure();
      isDone = found.empty();
    }
  }

  static LogicalResult decompose(DecomposableOpInterface op) {
    for (Type operand : op->getOperandTypes())
      if (llvm::is_contained(getDims(cast<RankedTensorType>(operand)), DimAttr()))
        return op->emitOpError() << "expects an expression for each dimension of its input, got " << operand;
    OpBuilder builder(op);
    const CopyNumbering numbering(builder, op);
    GraphBuilder graph(builder, op->getLoc());
    SmallVector<Value> results = op.decompose(graph);
    if (graph.hasRefused())
      return failure();
    op->replaceAllUsesWith(ValueRange(results));
    op->erase();
    return success();
  }

  std::function<bool(Operation *)> isWanted; // instead of `ops`
};

} // namespace

std::unique_ptr<Pass> createDecomposePass(std::function<bool(Operation *)> isWanted) {
  return std::make_unique<DecomposePass>(std::move(isWanted));
}

} // namespace vx

#include "vx/Dialect/VX/Utils/RewriteGreedily.h"

#include "vx/Dialect/VX/IR/RecomputedOps.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace vx {

namespace {
/// Remembers where the last op was made. What reads a replaced op is changed too, and says less. What a pattern makes
/// in the place of a copy is a copy.
struct LastRewrite : RewriterBase::Listener {
  explicit LastRewrite(Location location) : location(location) {}
  void notifyPatternBegin(const Pattern &, Operation *) override { made.clear(); }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    location = op->getLoc();
    isMade = true;
    made.insert(op);
  }
  void notifyOperationErased(Operation *op) override { made.erase(op); }
  void notifyOperationReplaced(Operation *op, ValueRange) override {
    if (IntegerAttr number = getCopyNumber(op))
      for (Operation *other : made)
        other->setAttr(kCopyAttr, number);
  }
  void notifyOperationModified(Operation *op) override {
    if (!isMade)
      location = op->getLoc();
  }

  Location location;
  llvm::DenseSet<Operation *> made; // by the pattern
  bool isMade = false;
};
} // namespace

LogicalResult rewriteGreedily(Operation *root, RewritePatternSet patterns, StringRef pass) {
  int64_t ops = 0;
  root->walk([&](Operation *) { ++ops; });
  LastRewrite last(root->getLoc());
  GreedyRewriteConfig config;
  config.setListener(&last);
  // Rounds and rewrites that no chain of useful rewrites comes near.
  config.setMaxIterations(32);
  config.setMaxNumRewrites(1000 + 64 * ops);
  if (succeeded(applyPatternsGreedily(root, std::move(patterns), config)))
    return success();
  return emitError(last.location) << "the rewrites of '" << pass << "' do not come to an end, the last one is in "
                                  << describeSource(last.location);
}

} // namespace vx

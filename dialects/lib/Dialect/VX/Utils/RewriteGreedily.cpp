#include "vx/Dialect/VX/Utils/RewriteGreedily.h"

#include "vx/Dialect/VX/IR/SourceLocation.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace vx {

namespace {
/// Remembers where the last op was made. What reads a replaced op is changed too, and says less.
struct LastRewrite : RewriterBase::Listener {
  explicit LastRewrite(Location location) : location(location) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    location = op->getLoc();
    isMade = true;
  }
  void notifyOperationModified(Operation *op) override {
    if (!isMade)
      location = op->getLoc();
  }

  Location location;
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

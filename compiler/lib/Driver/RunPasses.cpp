#include "vx/Driver/RunPasses.h"

#include "vx/Dialect/VX/IR/SourceLocation.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include <atomic>
#include <mutex>
#include <optional>

using namespace mlir;

namespace vx {

namespace {

struct FailedPass {
  std::string name;
  Location location;
};

/// Remembers the first pass that fails. Passes on functions run on several threads.
class FirstFailure : public PassInstrumentation {
public:
  explicit FirstFailure(std::optional<FailedPass> &failed) : failed(failed) {}

  void runAfterPassFailed(Pass *pass, Operation *op) override {
    std::lock_guard lock(mutex);
    // What runs passes on nested ops fails after the one of them that did, and has no argument.
    if (!failed && !pass->getArgument().empty())
      failed = FailedPass{pass->getArgument().str(), op->getLoc()};
  }

private:
  std::mutex mutex;
  std::optional<FailedPass> &failed;
};

} // namespace

#ifdef NDEBUG
static constexpr bool hasAssertions = false;
#else
static constexpr bool hasAssertions = true;
#endif

LogicalResult runPasses(PassManager &manager, ModuleOp module, Verification verification) {
  const bool isVerifiedLast = verification == Verification::AtTheEnd && !hasAssertions;
  manager.enableVerifier(!isVerifiedLast);
  std::optional<FailedPass> failedPass;
  manager.addInstrumentation(std::make_unique<FirstFailure>(failedPass));
  std::atomic<unsigned> errors = 0;
  ScopedDiagnosticHandler counter(module.getContext(), [&](Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return failure(); // for the handlers before this one
  });
  if (succeeded(manager.run(module)))
    return isVerifiedLast ? verify(module) : success();
  if (errors == 0) {
    Location location = failedPass ? failedPass->location : module.getLoc();
    emitError(location) << "pass '" << (failedPass ? failedPass->name : "unknown") << "' failed and gave no reason, at "
                        << describeSource(location);
  }
  return failure();
}

} // namespace vx

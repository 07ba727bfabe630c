// vx-verify-kernels: what holds after the `kernels` phase.
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Pipelines/Pipelines.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "vx/Pipelines/Passes.h.inc"

namespace {

struct VerifyKernelsPass : impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    llvm::StringMap<KernelOp> keys;
    llvm::DenseSet<StringAttr> dispatched;
    getOperation().walk([&](Operation *op) {
      if (isa<FusionOp>(op)) {
        op->emitError() << "after 'kernels' no fusion region is left, got one of " << describeSource(op->getLoc());
        signalPassFailure();
      }
      if (auto dispatch = dyn_cast<DispatchOp>(op))
        dispatched.insert(dispatch.getKernelAttr().getAttr());
    });
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      auto [it, isNew] = keys.try_emplace(kernel.getKey(), kernel);
      if (!isNew) {
        kernel.emitError() << "after 'kernels' equal kernels are one, got the key '" << kernel.getKey() << "' for '"
                           << it->second.getSymName() << "' and '" << kernel.getSymName() << "'";
        signalPassFailure();
      }
      if (!dispatched.contains(kernel.getSymNameAttr())) {
        kernel.emitError() << "after 'kernels' every kernel is dispatched, got none for '" << kernel.getSymName()
                           << "'";
        signalPassFailure();
      }
    }
  }
};

} // namespace
} // namespace vx

// The promises of the fused, kernels and schedule phases, checked. Those of import and graph are in Transforms.

#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "vx/Memory/VariableWrites.h"
#include "vx/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_VERIFYFUSEDPASS
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "vx/Pipelines/Passes.h.inc"

namespace {

/// What the host program runs or reads itself.
bool isHostOp(Operation *op) { return isa<ModuleOp, func::FuncOp, func::ReturnOp>(op) || getRole(op) == Role::Host; }

struct VerifyFusedPass : impl::VerifyFusedPassBase<VerifyFusedPass> {
  void runOnOperation() override {
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<FusionOp>(op))
        return WalkResult::skip();
      if (!isHostOp(op)) {
        op->emitError() << "after 'fused' every op of a device stands in a fusion region, got '" << op->getName()
                        << "' of " << describeSource(op->getLoc()) << " outside";
        signalPassFailure();
      }
      return WalkResult::advance();
    });
  }
};

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

struct VerifySchedulePass : impl::VerifySchedulePassBase<VerifySchedulePass> {
  void runOnOperation() override {
    for (Operation &top : getOperation().getOps()) {
      if (isa<KernelOp, SymbolOp, VariableOp>(top))
        continue;
      top.walk([&](Operation *op) {
        if (!isa<vxrt::VXRTDialect>(op->getDialect())) {
          op->emitError() << "after 'schedule' programs hold vxrt ops only, got '" << op->getName() << "' of "
                          << describeSource(op->getLoc());
          signalPassFailure();
        }
      });
      checkBeforeWrites(&top);
    }
  }

  /// A call that fails changes no variable: what may refuse it stands before the first command that writes one.
  void checkBeforeWrites(Operation *program) {
    bool writes = false;
    program->walk<WalkOrder::PreOrder>([&](Operation *op) {
      writes |= writesVariable(op);
      if (!writes || !mayFailCall(op))
        return;
      op->emitError()
          << "after 'schedule' nothing may fail a call from the first command on that writes a variable, got '"
          << op->getName() << "' of " << describeSource(op->getLoc());
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace vx

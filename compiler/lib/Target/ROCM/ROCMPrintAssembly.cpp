// vx-rocm-print-assembly: shows what a module in the LLVM dialect compiles to.
#include "ROCMVariants.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Pass/Pass.h"
#include "vx/Target/ROCM.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_ROCMPRINTASSEMBLYPASS
#include "vx/Target/ROCM/Passes.h.inc"

namespace {

class ROCMPrintAssemblyPass : public impl::ROCMPrintAssemblyPassBase<ROCMPrintAssemblyPass> {
public:
  using ROCMPrintAssemblyPassBase::ROCMPrintAssemblyPassBase;

  void getDependentDialects(DialectRegistry &registry) const override { registerROCMTargetDialects(registry); }

  void runOnOperation() override {
    std::string error;
    FailureOr<std::vector<TargetSpec>> specs = rocm::variants({variant}, error);
    if (failed(specs)) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    FailureOr<SmallVector<char, 0>> text =
        compileLLVMGPU(getOperation(), rocm::getMachineOptions(specs->front(), /*isAssembly=*/true));
    if (failed(text))
      return signalPassFailure();
    llvm::outs() << StringRef(text->data(), text->size());
  }
};

} // namespace
} // namespace vx

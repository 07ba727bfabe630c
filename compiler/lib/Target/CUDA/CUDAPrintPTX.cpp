// vx-cuda-print-ptx: shows what a module in the LLVM dialect compiles to.
#include "CUDAVariants.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "vx/Target/CUDA.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CUDAPRINTPTXPASS
#include "vx/Target/CUDA/Passes.h.inc"

namespace {

class CUDAPrintPTXPass : public impl::CUDAPrintPTXPassBase<CUDAPrintPTXPass> {
public:
  using CUDAPrintPTXPassBase::CUDAPrintPTXPassBase;

  void getDependentDialects(DialectRegistry &registry) const override { registerCUDATargetDialects(registry); }

  void runOnOperation() override {
    std::string error;
    FailureOr<std::vector<TargetSpec>> specs = cuda::variants({variant}, error);
    if (failed(specs)) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    FailureOr<SmallVector<char, 0>> text = compileLLVMGPU(getOperation(), cuda::getMachineOptions(specs->front()));
    if (failed(text))
      return signalPassFailure();
    llvm::outs() << StringRef(text->data(), text->size());
  }
};

} // namespace
} // namespace vx

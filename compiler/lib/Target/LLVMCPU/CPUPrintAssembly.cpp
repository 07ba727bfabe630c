// vx-cpu-print-assembly: shows what a module in the LLVM dialect compiles to.
#include "CPUTargetImpl.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "vx/Target/LLVMCPU/Passes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CPUPRINTASSEMBLYPASS
#include "vx/Target/LLVMCPU/Passes.h.inc"

namespace {

class CPUPrintAssemblyPass : public impl::CPUPrintAssemblyPassBase<CPUPrintAssemblyPass> {
public:
  using CPUPrintAssemblyPassBase::CPUPrintAssemblyPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
  }

  void runOnOperation() override {
    std::string error;
    FailureOr<std::vector<TargetSpec>> specs = cpu::variants({variant}, error);
    if (failed(specs)) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    auto text = cpu::compile(getOperation(), specs->front(), emitLLVM ? cpu::Output::LLVM : cpu::Output::Assembly);
    if (failed(text))
      return signalPassFailure();
    llvm::outs() << llvm::StringRef(text->data(), text->size());
  }
};

} // namespace
} // namespace vx

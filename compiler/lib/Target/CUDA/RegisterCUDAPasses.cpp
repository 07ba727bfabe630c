#include "CUDAVariants.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "vx/Codegen/GPU.h"
#include "vx/Target/CUDA.h"

using namespace mlir;

namespace vx {

namespace {

struct CodegenOptions : PassPipelineOptions<CodegenOptions> {
  Option<std::string> variant{*this, "variant", llvm::cl::desc("CUDA variant"), llvm::cl::init("sm_80")};
};

} // namespace

#define GEN_PASS_REGISTRATION
#include "vx/Target/CUDA/Passes.h.inc"

void registerCUDAPasses() {
  registerTargetCUDAPasses();
  PassPipelineRegistration<>("vx-cuda-pipeline",
                             "From a kernel of memref, scf, arith and vxk ops to the LLVM dialect for CUDA",
                             [](OpPassManager &pm) { buildCUDALoweringPipeline(pm); });
  PassPipelineRegistration<CodegenOptions>(
      "vx-cuda-codegen", "From a vx.kernel to the input of vx-cuda-pipeline, with what the GPU has",
      [](OpPassManager &pm, const CodegenOptions &options) {
        std::string error;
        FailureOr<std::vector<TargetSpec>> specs = cuda::variants({options.variant}, error);
        if (failed(specs))
          llvm::report_fatal_error(llvm::StringRef(error), /*gen_crash_diag=*/false);
        buildGPUCodegenPipeline(pm, specs->front());
      });
}

} // namespace vx

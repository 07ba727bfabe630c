#include "ROCMVariants.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "vx/Codegen/GPU.h"
#include "vx/Target/ROCM.h"

using namespace mlir;

namespace vx {

namespace {

struct LoweringOptions : PassPipelineOptions<LoweringOptions> {
  Option<std::string> variant{*this, "variant", llvm::cl::desc("ROCm variant"), llvm::cl::init("gfx942")};
};

TargetSpec getSpec(const std::string &variant) {
  std::string error;
  FailureOr<std::vector<TargetSpec>> specs = rocm::variants({variant}, error);
  if (failed(specs))
    llvm::report_fatal_error(llvm::StringRef(error), /*gen_crash_diag=*/false);
  return specs->front();
}

} // namespace

#define GEN_PASS_REGISTRATION
#include "vx/Target/ROCM/Passes.h.inc"

void registerROCMPasses() {
  registerTargetROCMPasses();
  PassPipelineRegistration<LoweringOptions>(
      "vx-rocm-pipeline", "From a kernel of memref, scf, arith and vxk ops to the LLVM dialect for ROCm",
      [](OpPassManager &pm, const LoweringOptions &options) {
        buildROCMLoweringPipeline(pm, getSpec(options.variant));
      });
  PassPipelineRegistration<LoweringOptions>(
      "vx-rocm-codegen", "From a vx.kernel to the input of vx-rocm-pipeline, with what the GPU has",
      [](OpPassManager &pm, const LoweringOptions &options) { buildGPUCodegenPipeline(pm, getSpec(options.variant)); });
}

} // namespace vx

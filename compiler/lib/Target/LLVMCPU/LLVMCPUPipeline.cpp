// The order of the CPU target's passes.
#include "CPUTargetImpl.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "vx/Codegen/Common/Passes.h"
#include "vx/Target/LLVMCPU/Passes.h"

using namespace mlir;

namespace vx {

void buildCPULoweringPipeline(OpPassManager &pm, const TargetSpec &spec) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  function.addPass(createExpandMathPass({/*hasScale=*/spec.vectorBits == 512}));
  CPULowerVectorsPassOptions vectors;
  vectors.vectorBits = spec.vectorBits;
  function.addPass(createCPULowerVectorsPass(vectors));
  CPUExpandMasksPassOptions masks;
  masks.maskedBits = spec.maskedBits;
  function.addPass(createCPUExpandMasksPass(masks));
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  pm.addPass(createCPULowerKernelInterfacePass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(arith::createArithExpandOpsPass(arith::ArithExpandOpsPassOptions{.includeBf16 = true}));
  CPUConvertToLLVMPassOptions conversion;
  conversion.hasByteDots = spec.hasByteDots;
  pm.addPass(createCPUConvertToLLVMPass(conversion));
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

namespace {
struct LoweringOptions : PassPipelineOptions<LoweringOptions> {
  Option<std::string> variant{*this, "variant", llvm::cl::desc("CPU variant"), llvm::cl::init("x86-64-v3")};
};
} // namespace

void registerCPUTargetPasses() {
  registerPass([] { return createCPULowerVectorsPass(); });
  registerPass([] { return createCPUExpandMasksPass(); });
  registerPass([] { return createCPULowerKernelInterfacePass(); });
  registerPass([] { return createCPUConvertToLLVMPass(); });
  registerPass([] { return createCPUPrintAssemblyPass(); });
  PassPipelineRegistration<LoweringOptions>(
      "vx-cpu-lowering", "From a kernel of memref, vector, scf, arith and vxk ops to the LLVM dialect for the CPU",
      [](OpPassManager &pm, const LoweringOptions &options) {
        std::string error;
        FailureOr<std::vector<TargetSpec>> specs = cpu::variants({options.variant}, error);
        if (failed(specs))
          llvm::report_fatal_error(llvm::StringRef(error), /*gen_crash_diag=*/false);
        buildCPULoweringPipeline(pm, specs->front());
      });
}

} // namespace vx

#include "vx/Target/ROCM.h"

#include "ROCMVariants.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "vx/Codegen/Common/MachineCode.h"
#include "vx/Codegen/GPU.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Codegen/Linker.h"
#include "vx/Target/GPUBackend.h"

using namespace mlir;

namespace vx {

namespace {

class ROCMBackend final : public GPUBackend {
public:
  StringRef name() const override { return "rocm"; }

  FailureOr<std::vector<TargetSpec>> variants(ArrayRef<std::string> request, std::string &error) const override {
    return rocm::variants(request, error);
  }

  LogicalResult checkSupported(Operation *op, const TargetSpec &spec) const override {
    return checkLLVMGPUSupported(op, spec.target);
  }

  void buildPipeline(OpPassManager &pm, const TargetSpec &spec) const override {
    buildGPUCodegenPipeline(pm, spec);
    buildROCMLoweringPipeline(pm, spec);
  }

  FailureOr<KernelBinary> serialize(ModuleOp module, const TargetSpec &spec, std::string &error) const override {
    FailureOr<std::string> entry = getLLVMGPUEntry(module);
    if (failed(entry))
      return failure();
    FailureOr<SmallVector<char, 0>> object =
        compileLLVMGPU(module, rocm::getMachineOptions(spec, /*isAssembly=*/false));
    if (failed(object))
      return failure();
    // A code object of its own for each: what the driver reads of one names the kernels of one object file.
    KernelBinary binary;
    binary.entry = *entry;
    const std::string exports[] = {*entry, *entry + ".kd"}; // the kernel, and the descriptor by which it is found
    if (failed(linkImage({"-shared", "--no-undefined"}, {ArrayRef<char>(*object)}, exports, binary.code, error)))
      return failure();
    return binary;
  }

  FailureOr<LinkedImage> link(ArrayRef<KernelBinary> kernels, const TargetSpec &, std::string &) const override {
    return joinKernels(kernels, /*alignment=*/64, /*fill=*/0);
  }
};

} // namespace

std::unique_ptr<TargetBackend> createROCMBackend() { return std::make_unique<ROCMBackend>(); }

void buildROCMLoweringPipeline(OpPassManager &pm, const TargetSpec &spec) {
  // The loads of several steps at once, moved to the front, take more registers than there are.
  int64_t wavefront = rocm::getWavefrontSize(spec);
  buildLLVMGPUPipeline(pm, wavefront, /*keepStepsRolled=*/true,
                       createConvertToROCDLPass(ConvertToROCDLPassOptions{spec.cpu, wavefront}));
}

void registerROCMTargetDialects(DialectRegistry &registry) {
  registerLLVMGPUDialects(registry);
  registry.insert<ROCDL::ROCDLDialect>();
  registerROCDLDialectTranslation(registry);
}

} // namespace vx

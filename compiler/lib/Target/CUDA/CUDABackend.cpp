#include "vx/Target/CUDA.h"

#include "CUDAVariants.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "vx/Codegen/Common/MachineCode.h"
#include "vx/Codegen/GPU.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Target/GPUBackend.h"

using namespace mlir;

namespace vx {
namespace {

class CUDABackend final : public GPUBackend {
public:
  StringRef name() const override { return "cuda"; }

  FailureOr<std::vector<TargetSpec>> variants(ArrayRef<std::string> request, std::string &error) const override {
    return cuda::variants(request, error);
  }

  LogicalResult checkSupported(Operation *op, const TargetSpec &spec) const override {
    return checkLLVMGPUSupported(op, spec.target);
  }

  void buildPipeline(OpPassManager &pm, const TargetSpec &spec) const override {
    buildGPUCodegenPipeline(pm, spec);
    buildCUDALoweringPipeline(pm);
  }

  FailureOr<KernelBinary> serialize(ModuleOp module, const TargetSpec &spec, std::string &) const override {
    FailureOr<std::string> entry = getLLVMGPUEntry(module);
    if (failed(entry))
      return failure();
    FailureOr<SmallVector<char, 0>> text = compileLLVMGPU(module, cuda::getMachineOptions(spec));
    if (failed(text))
      return failure();
    KernelBinary binary;
    binary.entry = *entry;
    binary.code.assign(text->begin(), text->end());
    return binary;
  }

  /// One text after the other, each of whole words; what fills them up is white space.
  FailureOr<LinkedImage> link(ArrayRef<KernelBinary> kernels, const TargetSpec &, std::string &) const override {
    return joinKernels(kernels, /*alignment=*/4, /*fill=*/'\n');
  }
};

} // namespace

std::unique_ptr<TargetBackend> createCUDABackend() { return std::make_unique<CUDABackend>(); }

void buildCUDALoweringPipeline(OpPassManager &pm) {
  buildLLVMGPUPipeline(pm, /*subgroupSize=*/32, /*keepStepsRolled=*/false, createConvertToNVVMPass());
}

void registerCUDATargetDialects(DialectRegistry &registry) {
  registerLLVMGPUDialects(registry);
  registry.insert<NVVM::NVVMDialect>();
  registerNVVMDialectTranslation(registry);
}

} // namespace vx

#include "vx/Target/CUDA.h"

#include "CUDAVariants.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "vx/Codegen/GPU.h"
#include "vx/Codegen/LLVMGPU.h"

using namespace mlir;

namespace vx {
namespace {

class CUDABackend final : public TargetBackend {
public:
  StringRef name() const override { return "cuda"; }

  FailureOr<std::vector<TargetSpec>> variants(ArrayRef<std::string> request, std::string &error) const override {
    return cuda::variants(request, error);
  }

  LogicalResult checkSupported(Operation *op, const TargetSpec &spec) const override {
    return checkLLVMGPUSupported(op, spec.target);
  }

  bool decomposes(Operation *composite, const TargetSpec &spec) const override {
    return decomposesOnGPU(composite, spec);
  }

  LayoutPolicy layouts(const TargetSpec &spec) const override { return chooseGPULayouts(spec); }

  StrategyAttr chooseStrategy(FusionOp region, const TargetSpec &spec) const override {
    return chooseGPUStrategy(region, spec);
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
    constexpr size_t word = 4;
    LinkedImage image;
    image.offsets.push_back(0);
    for (const KernelBinary &kernel : kernels) {
      image.bytes.insert(image.bytes.end(), kernel.code.begin(), kernel.code.end());
      image.bytes.resize((image.bytes.size() + word - 1) / word * word, '\n');
      image.offsets.push_back(image.bytes.size());
    }
    return image;
  }
};

} // namespace

std::unique_ptr<TargetBackend> createCUDABackend() { return std::make_unique<CUDABackend>(); }

void buildCUDALoweringPipeline(OpPassManager &pm) {
  buildLLVMGPUPipeline(pm, /*subgroupSize=*/32, /*keepStepsRolled=*/false);
  pm.addPass(createConvertToNVVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void registerCUDATargetDialects(DialectRegistry &registry) {
  registerLLVMGPUDialects(registry);
  registry.insert<NVVM::NVVMDialect>();
  registerNVVMDialectTranslation(registry);
}

} // namespace vx

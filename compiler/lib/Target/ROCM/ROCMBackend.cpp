#include "vx/Target/ROCM.h"

#include "ROCMVariants.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "vx/Codegen/GPU.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Codegen/Linker.h"

using namespace mlir;

namespace vx {

namespace {

class ROCMBackend final : public TargetBackend {
public:
  StringRef name() const override { return "rocm"; }

  FailureOr<std::vector<TargetSpec>> variants(ArrayRef<std::string> request, std::string &error) const override {
    return rocm::variants(request, error);
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
    constexpr size_t alignment = 64;
    LinkedImage image;
    image.offsets.push_back(0);
    for (const KernelBinary &kernel : kernels) {
      image.bytes.insert(image.bytes.end(), kernel.code.begin(), kernel.code.end());
      image.bytes.resize(llvm::alignTo(image.bytes.size(), alignment), 0);
      image.offsets.push_back(image.bytes.size());
    }
    return image;
  }
};

} // namespace

std::unique_ptr<TargetBackend> createROCMBackend() { return std::make_unique<ROCMBackend>(); }

void buildROCMLoweringPipeline(OpPassManager &pm, const TargetSpec &spec) {
  // The loads of several steps at once, moved to the front, take more registers than there are.
  buildLLVMGPUPipeline(pm, rocm::getWavefrontSize(spec), /*keepStepsRolled=*/true);
  pm.addPass(createConvertToROCDLPass(ConvertToROCDLPassOptions{spec.cpu, rocm::getWavefrontSize(spec)}));
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void registerROCMTargetDialects(DialectRegistry &registry) {
  registerLLVMGPUDialects(registry);
  registry.insert<ROCDL::ROCDLDialect>();
  registerROCDLDialectTranslation(registry);
}

} // namespace vx

#include "vx/Target/LLVMCPU/CPUTarget.h"

#include "CPUTargetImpl.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "vx/Codegen/CPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Target/LLVMCPU/Passes.h"

using namespace mlir;

namespace vx {

namespace {

class CPUTarget final : public TargetBackend {
public:
  llvm::StringRef name() const override { return "cpu"; }

  FailureOr<std::vector<TargetSpec>> variants(llvm::ArrayRef<std::string> request, std::string &error) const override {
    return cpu::variants(request, error);
  }

  bool needsVariant(llvm::ArrayRef<KernelOp> kernels, const TargetSpec &spec) const override {
    auto hasBytes = [](KernelOp kernel) {
      return kernel.walk([](Operation *op) { return WalkResult(failure(cpu::multipliesBytes(op))); }).wasInterrupted();
    };
    return !spec.hasByteDots || llvm::any_of(kernels, hasBytes);
  }

  LogicalResult checkSupported(Operation *op, const TargetSpec &) const override { return cpu::checkSupported(op); }

  bool decomposes(Operation *composite, const TargetSpec &) const override {
    if (auto filter = llvm::dyn_cast<ConvFilterOp>(composite))
      return filter.getGroups() != 1;
    if (llvm::isa<DecodeBlocksOp>(composite))
      return true;
    auto attention = llvm::dyn_cast<AttentionOp>(composite);
    return attention && !cpu::hasKernelFor(attention);
  }

  bool masksPaddedWindows() const override { return true; }

  llvm::SmallVector<ProductCandidate> chooseProduct(Operation *product, const ProductFacts &facts,
                                                    const TargetSpec &) const override {
    return cpu::chooseProduct(product, facts);
  }

  double estimateMove(Value tensor, const TargetSpec &) const override { return cpu::estimateMove(tensor); }

  int64_t packedRowBytes(const TargetSpec &) const override { return 64; }

  StrategyAttrInterface chooseStrategy(FusionOp region, const TargetSpec &) const override {
    return cpu::chooseStrategy(region);
  }

  void buildPipeline(OpPassManager &pm, const TargetSpec &spec) const override {
    buildCPUCodegenPipeline(pm, spec);
    buildCPULoweringPipeline(pm, spec);
  }

  FailureOr<KernelBinary> serialize(ModuleOp module, const TargetSpec &spec, std::string &) const override {
    KernelBinary binary;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function.getLinkage() != LLVM::Linkage::External || function.isExternal())
        continue;
      if (!binary.entry.empty())
        return function.emitOpError() << "is a second entry of one kernel, the first is '" << binary.entry << "'";
      binary.entry = function.getName().str();
    }
    if (binary.entry.empty())
      return module.emitError("kernel module has no entry");
    FailureOr<llvm::SmallVector<char, 0>> object = cpu::compile(module, spec, cpu::Output::Object);
    if (failed(object))
      return failure();
    binary.code.assign(object->begin(), object->end());
    return binary;
  }

  FailureOr<LinkedImage> link(llvm::ArrayRef<KernelBinary> kernels, const TargetSpec &spec,
                              std::string &error) const override {
    return cpu::link(kernels, spec, error);
  }
};

} // namespace

std::unique_ptr<TargetBackend> createCPUTarget() { return std::make_unique<CPUTarget>(); }

void registerCPUTargetDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect, index::IndexDialect,
                  math::MathDialect, func::FuncDialect, LLVM::LLVMDialect, memref::MemRefDialect, scf::SCFDialect,
                  ub::UBDialect, vector::VectorDialect, vxk::VXKDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

} // namespace vx

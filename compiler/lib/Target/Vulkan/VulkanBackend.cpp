#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/Passes.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Target/GPUBackend.h"
#include "vx/Target/Vulkan.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace mlir;

namespace vx {
namespace {

/// The first element type of `op` that no shader can hold is an error.
LogicalResult checkElementTypes(Operation *op) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      auto tensor = dyn_cast<TensorType>(type);
      if (!tensor)
        continue;
      Type element = tensor.getElementType();
      if (!element.isIntOrFloat())
        return op->emitOpError() << "of " << describeSource(op->getLoc())
                                 << " expects element types that target 'vulkan' knows, got " << element;
    }
  return success();
}

/// The device's feature that TargetSpec::hasByteDots needs, as the runtime spells it.
constexpr StringLiteral kIntegerDot = "integer_dot";

class VulkanBackend final : public GPUBackend {
public:
  StringRef name() const override { return "vulkan"; }

  FailureOr<std::vector<TargetSpec>> variants(ArrayRef<std::string> request, std::string &error) const override {
    TargetSpec baseline;
    baseline.target = "vulkan";
    baseline.variant = "baseline";
    // What every kernel needs; others are added when the kernels are linked.
    baseline.requires_ = {"bda", "int64", "workgroup_memory_32k"};
    baseline.maxThreads = 256;
    // Vulkan promises 16 KiB only; devices that have no more are refused at load by this name.
    baseline.workgroupMemory = 32 << 10;
    TargetSpec dots = baseline;
    dots.variant = "integer-dot";
    dots.requires_.push_back(kIntegerDot.str());
    dots.hasByteDots = true;
    std::vector<TargetSpec> chosen;
    for (const TargetSpec &known : {dots, baseline})
      if (request.empty() || llvm::is_contained(request, known.variant))
        chosen.push_back(known);
    for (const std::string &wanted : request)
      if (wanted != baseline.variant && wanted != dots.variant) {
        error = "unknown variant '" + wanted + "' of target 'vulkan', known are: integer-dot, baseline";
        return failure();
      }
    return chosen;
  }

  bool needsVariant(ArrayRef<KernelOp> kernels, const TargetSpec &spec) const override {
    auto isByte = [](Value factor) { return getElementTypeOrSelf(factor.getType()).isInteger(8); };
    auto multipliesBytes = [&](Operation *op) {
      return WalkResult(failure(isa<ContractOp, ConvOp>(op) && llvm::all_of(op->getOperands(), isByte)));
    };
    return !spec.hasByteDots || llvm::any_of(kernels, [&](KernelOp kernel) {
      return kernel.walk([&](Operation *op) { return multipliesBytes(op); }).wasInterrupted();
    });
  }

  LogicalResult checkSupported(Operation *op, const TargetSpec &spec) const override { return checkElementTypes(op); }

  void buildPipeline(OpPassManager &pm, const TargetSpec &spec) const override {
    buildGPUCodegenPipeline(pm, spec);
    buildVulkanPipeline(pm);
  }

  FailureOr<KernelBinary> serialize(ModuleOp kernel, const TargetSpec &spec, std::string &) const override {
    auto shaders = kernel.getOps<spirv::ModuleOp>();
    if (!llvm::hasSingleElement(shaders))
      return kernel.emitError() << "expects one 'spirv.module', got " << std::distance(shaders.begin(), shaders.end()),
             failure();
    spirv::ModuleOp shader = *shaders.begin();
    auto entries = shader.getOps<spirv::EntryPointOp>();
    if (!llvm::hasSingleElement(entries))
      return shader.emitError() << "expects one entry point, got " << std::distance(entries.begin(), entries.end()),
             failure();
    SmallVector<uint32_t, 0> words;
    spirv::SerializationOptions options;
    options.emitSymbolName = false;
    if (failed(spirv::serialize(shader, words, options)))
      return failure();
    KernelBinary binary;
    binary.entry = (*entries.begin()).getFn().str();
    binary.code.resize(words.size() * sizeof(uint32_t));
    std::memcpy(binary.code.data(), words.data(), binary.code.size());
    return binary;
  }

  FailureOr<LinkedImage> link(ArrayRef<KernelBinary> kernels, const TargetSpec &spec,
                              std::string &error) const override {
    LinkedImage image;
    image.offsets.push_back(0);
    for (const KernelBinary &kernel : kernels) {
      if (kernel.code.empty() || kernel.code.size() % sizeof(uint32_t)) {
        error = "kernel '" + kernel.entry + "' expects SPIR-V of whole words, got " +
                std::to_string(kernel.code.size()) + " bytes";
        return failure();
      }
      image.bytes.insert(image.bytes.end(), kernel.code.begin(), kernel.code.end());
      image.offsets.push_back(image.bytes.size());
      for (const std::string &feature : getVulkanFeatures(kernel.code))
        if (!llvm::is_contained(spec.requires_, feature) && !llvm::is_contained(image.requires_, feature))
          image.requires_.push_back(feature);
    }
    llvm::sort(image.requires_);
    return image;
  }
};

} // namespace

std::unique_ptr<TargetBackend> createVulkanBackend() { return std::make_unique<VulkanBackend>(); }

void buildVulkanPipeline(OpPassManager &pm) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createFlattenMemrefsPass());
  functions.addPass(createLowerAffinePass());
  arith::ArithEmulateUnsupportedFloatsOptions wide;
  wide.sourceTypeStrs = {"bf16"};
  functions.addPass(arith::createArithEmulateUnsupportedFloats(wide));
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  functions.addPass(arith::createArithExpandOpsPass(expand));
  functions.addPass(createStoreBF16AsBitsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createVectorizeAccessesPass());
  functions.addPass(createLoopInvariantCodeMotionPass());
  // Index arithmetic in 32 bits where its range is known: 64-bit division is slow on a GPU.
  arith::ArithIntRangeNarrowingOptions narrowing;
  narrowing.bitwidthsSupported = {32};
  functions.addPass(arith::createArithIntRangeNarrowing(narrowing));
  functions.addPass(createBoundShiftsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  pm.addPass(createConvertToSPIRVPass());
}

std::vector<std::string> getVulkanFeatures(ArrayRef<char> code) {
  std::vector<std::string> features;
  size_t words = code.size() / sizeof(uint32_t);
  auto word = [&](size_t index) {
    uint32_t value;
    std::memcpy(&value, code.data() + index * sizeof(uint32_t), sizeof(value));
    return value;
  };
  constexpr size_t headerWords = 5;
  constexpr uint32_t magic = 0x07230203, opExecutionMode = 16, opCapability = 17, opFunction = 54;
  if (words < headerWords || word(0) != magic)
    return features;
  static constexpr std::pair<spirv::Capability, StringLiteral> names[] = {
      {spirv::Capability::PhysicalStorageBufferAddresses, "bda"},
      {spirv::Capability::Int64, "int64"},
      {spirv::Capability::Int16, "int16"},
      {spirv::Capability::Int8, "int8"},
      {spirv::Capability::Float64, "float64"},
      {spirv::Capability::Float16, "float16"},
      {spirv::Capability::StorageBuffer16BitAccess, "storage16"},
      {spirv::Capability::StorageBuffer8BitAccess, "storage8"},
      {spirv::Capability::GroupNonUniform, "subgroup_basic"},
      {spirv::Capability::GroupNonUniformShuffle, "subgroup_shuffle"},
      {spirv::Capability::DotProduct, kIntegerDot}};
  llvm::SmallDenseSet<uint32_t> present, preserved;
  // Capabilities come first in a module, execution modes before its functions.
  for (size_t at = headerWords; at + 1 < words;) {
    uint32_t opcode = word(at) & 0xffff, length = word(at) >> 16;
    if (length == 0 || opcode == opFunction)
      break;
    if (opcode == opCapability)
      present.insert(word(at + 1));
    if (opcode == opExecutionMode && length == 4 && at + 3 < words &&
        word(at + 2) == static_cast<uint32_t>(spirv::ExecutionMode::SignedZeroInfNanPreserve))
      preserved.insert(word(at + 3));
    at += length;
  }
  for (auto [capability, name] : names)
    if (present.contains(static_cast<uint32_t>(capability)))
      features.push_back(name.str());
  for (uint32_t width : {16, 32, 64})
    if (preserved.contains(width))
      features.push_back("nan_preserve_" + std::to_string(width));
  return features;
}

} // namespace vx

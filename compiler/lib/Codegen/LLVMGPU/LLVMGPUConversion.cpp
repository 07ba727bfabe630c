// Conversion to the LLVM dialect: the part that GPU targets share.
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace vx {

void populateLLVMGPUConversion(LLVMTypeConverter &converter, RewritePatternSet &patterns, unsigned privateSpace) {
  populateGpuMemorySpaceAttributeConversions(converter, [privateSpace](gpu::AddressSpace space) -> unsigned {
    switch (space) {
    case gpu::AddressSpace::Global:
      return kGlobalAddressSpace;
    case gpu::AddressSpace::Workgroup:
      return kWorkgroupAddressSpace;
    case gpu::AddressSpace::Private:
      return privateSpace;
    }
    return kGlobalAddressSpace;
  });
  populateFuncToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  // Before those of a vendor, which call its library.
  populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false, /*benefit=*/2);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  // vx-vectorize-accesses joins only what lies at a multiple of the vector's size.
  populateVectorToLLVMConversionPatterns(converter, patterns, /*reassociateFPReductions=*/false,
                                         /*force32BitVectorIndices=*/false, /*useVectorAlignment=*/true);
}

LogicalResult convertToLLVMGPU(ModuleOp module, LLVMTypeConverter &converter, RewritePatternSet &&patterns,
                               ConversionTarget &target, function_ref<void(Operation *, int64_t)> markKernel) {
  llvm::StringMap<int64_t> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto threads = function->getAttrOfType<IntegerAttr>(kGPUEntryAttr))
      entries[function.getName()] = threads.getInt();

  // Folding may have made vectors of many dimensions whole again.
  RewritePatternSet elements(module.getContext());
  vector::populateVectorFromElementsUnrollPatterns(elements);
  vector::populateVectorToElementsUnrollPatterns(elements);
  if (failed(applyPatternsGreedily(module, std::move(elements))))
    return failure();

  target.addLegalOp<ModuleOp, UnrealizedConversionCastOp>();
  if (failed(applyFullConversion(module, target, std::move(patterns))))
    return failure();

  module.walk([](LLVM::BrOp branch) {
    if (auto annotation = branch->getAttrOfType<LLVM::LoopAnnotationAttr>(kLoopAnnotationAttr)) {
      branch->removeAttr(kLoopAnnotationAttr);
      branch.setLoopAnnotationAttr(annotation);
    }
  });
  auto unit = UnitAttr::get(module.getContext());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (auto entry = entries.find(function.getName()); entry != entries.end()) {
      function->removeAttr(kGPUEntryAttr);
      markKernel(function, entry->second);
    } else if (!function.isExternal()) {
      function.setLinkage(LLVM::Linkage::Internal);
      function.setAlwaysInlineAttr(unit);
    }
  }
  return success();
}

LogicalResult checkLLVMGPUSupported(Operation *op, StringRef target) {
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor)
      continue;
    Type element = tensor.getElementType();
    if (!element.isIntOrFloat())
      return op->emitOpError() << "of " << describeSource(op->getLoc()) << " expects element types that target '"
                               << target << "' knows, got " << element;
  }
  return success();
}

FailureOr<std::string> getLLVMGPUEntry(ModuleOp module) {
  std::string name;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.getLinkage() != LLVM::Linkage::External || function.isExternal())
      continue;
    if (!name.empty())
      return function.emitOpError() << "is a second entry of one kernel, the first is '" << name << "'";
    name = function.getName().str();
  }
  if (name.empty())
    return module.emitError("kernel module has no entry");
  return name;
}

} // namespace vx

// vx-cpu-convert-to-llvm: what is left of a kernel becomes the LLVM dialect, in one conversion.
#include "CPUDotPatterns.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "vx/Target/LLVMCPU/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CPUCONVERTTOLLVMPASS
#include "vx/Target/LLVMCPU/Passes.h.inc"

namespace {

class CPUConvertToLLVMPass : public impl::CPUConvertToLLVMPassBase<CPUConvertToLLVMPass> {
public:
  using CPUConvertToLLVMPassBase::CPUConvertToLLVMPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    llvm::StringSet<> entries;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("vxk.entry"))
        entries.insert(function.getName());

    // Folding may have made vectors of many dimensions whole again.
    RewritePatternSet elements(context);
    vector::populateVectorFromElementsUnrollPatterns(elements);
    vector::populateVectorToElementsUnrollPatterns(elements);
    if (failed(applyPatternsGreedily(module, std::move(elements))))
      return signalPassFailure();

    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns, /*reassociateFPReductions=*/false);
    cpu::populateDotPatterns(converter, patterns, hasByteDots);

    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp, UnrealizedConversionCastOp>();
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();

    // Entries alone are seen from outside; what an entry calls is joined to it.
    auto unit = UnitAttr::get(context);
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal() || entries.empty())
        continue;
      if (entries.contains(function.getName())) {
        function->removeAttr("vxk.entry");
        continue;
      }
      function.setLinkage(LLVM::Linkage::Internal);
      if (!function.getNoInlineAttr())
        function.setAlwaysInlineAttr(unit);
    }
  }
};

} // namespace
} // namespace vx

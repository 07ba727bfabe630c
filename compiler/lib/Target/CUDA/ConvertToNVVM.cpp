// vx-convert-to-nvvm: what is left of a kernel becomes the LLVM dialect, in one conversion.
#include "CUDAFragmentPatterns.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Target/CUDA.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CONVERTTONVVMPASS
#include "vx/Target/CUDA/Passes.h.inc"

namespace {

/// Four products of bytes are one instruction, dp4a.
struct DotOfBytes : ConvertOpToLLVMPattern<vxk::DotOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::DotOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (op.getType().getNumElements() != 1)
      return rewriter.notifyMatchFailure(op, "a thread adds up one sum at a time");
    auto kindOf = [](bool isSigned) {
      return isSigned ? NVVM::DotAccumulateType::SIGNED : NVVM::DotAccumulateType::UNSIGNED;
    };
    Value zero = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32Type(), 0);
    Value sum = LLVM::ExtractElementOp::create(rewriter, loc, adaptor.getSum(), zero);
    Value dot =
        NVVM::DotAccumulate4WayOp::create(rewriter, loc, sum.getType(), adaptor.getLhs(), kindOf(op.getLhsSigned()),
                                          adaptor.getRhs(), kindOf(op.getRhsSigned()), sum);
    rewriter.replaceOpWithNewOp<LLVM::InsertElementOp>(op, adaptor.getSum(), dot, zero);
    return success();
  }
};

class ConvertToNVVMPass : public impl::ConvertToNVVMPassBase<ConvertToNVVMPass> {
public:
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    configureGpuToNVVMTypeConverter(converter);
    populateLLVMGPUConversion(converter, patterns, /*privateSpace=*/0);
    populateGpuToNVVMConversionPatterns(converter, patterns);
    cuda::populateFragmentConversion(converter, patterns);
    patterns.add<DotOfBytes>(converter);
    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addIllegalDialect<gpu::GPUDialect>();
    bool multipliesFragments = false;
    getOperation().walk([&](vxk::MultiplyAccumulateOp) { multipliesFragments = true; });
    auto mark = [&](Operation *kernel, int64_t threads) {
      kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), UnitAttr::get(context));
      kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      DenseI32ArrayAttr::get(context, {static_cast<int32_t>(threads), 1, 1}));
      // Without it the assembler keeps to few registers, and spills, so that more workgroups fit. Two large ones with
      // matrix instructions fit without spills: while one waits at its barrier the other multiplies.
      int64_t resident = multipliesFragments && threads >= 256 ? 2 : 1;
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      IntegerAttr::get(IntegerType::get(context, 32), resident));
    };
    if (failed(convertToLLVMGPU(getOperation(), converter, std::move(patterns), target, mark)))
      signalPassFailure();
  }
};

} // namespace
} // namespace vx

// vx-convert-to-rocdl: what is left of a kernel becomes the LLVM dialect, in one conversion.
#include "ROCMFragmentPatterns.h"

#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Conversion/GPUToROCDL/Runtimes.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/AMDGPU/Utils/Chipset.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/LLVMGPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "vx/Target/ROCM.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CONVERTTOROCDLPASS
#include "vx/Target/ROCM/Passes.h.inc"

namespace {

constexpr unsigned privateAddressSpace = 5;
/// 5: what drivers since ROCm 5.5 load; LLVM's own choice is one that only new ones do.
constexpr int32_t codeObjectVersion = 500;

/// A product of factors of few bits, and the sum that it is added to, are one instruction of the full rate. LLVM would
/// rather add two products at once, whose own instructions then have a register each.
struct MultiplyAddFewBits : ConvertOpToLLVMPattern<arith::AddIOp> {
  explicit MultiplyAddFewBits(LLVMTypeConverter &converter) : ConvertOpToLLVMPattern(converter, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(arith::AddIOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    for (auto [operand, other] : {std::pair(op.getLhs(), adaptor.getRhs()), std::pair(op.getRhs(), adaptor.getLhs())}) {
      auto product = operand.getDefiningOp<arith::MulIOp>();
      if (!product || !product->hasAttr(vxk::kFewBitsAttr) || !op.getType().isInteger(32))
        continue;
      SmallVector<Value> operands = {rewriter.getRemappedValue(product.getLhs()),
                                     rewriter.getRemappedValue(product.getRhs()), other};
      rewriter.replaceOpWithNewOp<LLVM::InlineAsmOp>(
          op, op.getType(), operands, "v_mad_i32_i24 $0, $1, $2, $3", "=v,v,v,v", /*has_side_effects=*/false,
          /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
          /*operand_attrs=*/ArrayAttr());
      return success();
    }
    return failure();
  }
};

class ConvertToROCDLPass : public impl::ConvertToROCDLPassBase<ConvertToROCDLPass> {
public:
  using ConvertToROCDLPassBase::ConvertToROCDLPassBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    FailureOr<amdgpu::Chipset> chipset = amdgpu::Chipset::parse(chip);
    if (failed(chipset)) {
      getOperation().emitError() << "expected a GPU that target 'rocm' knows, got '" << chip << "'";
      return signalPassFailure();
    }
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    populateLLVMGPUConversion(converter, patterns, privateAddressSpace);
    populateGpuToROCDLConversionPatterns(converter, patterns, gpu::amd::Runtime::Unknown, *chipset);
    rocm::populateFragmentConversion(converter, patterns, wavefront);
    patterns.add<MultiplyAddFewBits>(converter);
    LLVMConversionTarget target(*context);
    target.addLegalDialect<ROCDL::ROCDLDialect>();
    target.addIllegalDialect<gpu::GPUDialect>();
    OpBuilder builder(context);
    auto mark = [&](Operation *kernel, int64_t threads) {
      std::string size = std::to_string(threads);
      kernel->setAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName(), builder.getUnitAttr());
      kernel->setAttr("rocdl.flat_work_group_size", builder.getStringAttr(size + "," + size));
      kernel->setAttr("rocdl.reqd_work_group_size",
                      builder.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
      kernel->setAttr("rocdl.uniform_work_group_size", builder.getBoolAttr(true));
    };
    if (failed(convertToLLVMGPU(getOperation(), converter, std::move(patterns), target, mark)))
      return signalPassFailure();
    builder.setInsertionPointToStart(getOperation().getBody());
    Attribute version = LLVM::ModuleFlagAttr::get(context, LLVM::ModFlagBehavior::Error,
                                                  builder.getStringAttr("amdhsa_code_object_version"),
                                                  builder.getI32IntegerAttr(codeObjectVersion));
    LLVM::ModuleFlagsOp::create(builder, getOperation().getLoc(), builder.getArrayAttr({version}));
  }
};

} // namespace
} // namespace vx

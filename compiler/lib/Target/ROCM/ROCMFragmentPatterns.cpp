// A factor is one vector of each thread, of elements that are neighbours along the sum: thread t has some of row
// (column) t % 16. With WMMA (wavefronts of 32) these are all 16, and threads 16 apart have the same; with MFMA (64)
// there are 4, from t / 16 * 4 on. An accumulator is a vector as well, whose places a TargetSpec tells
// (ROCMVariants.cpp).
#include "ROCMFragmentPatterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx::rocm {

namespace {

constexpr int64_t kEdge = 16, kDepth = 16;

Value constant(OpBuilder &builder, Location loc, Type type, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
}

struct FillFragment : ConvertOpToLLVMPattern<vxk::FillFragmentOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::FillFragmentOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    Value filled = LLVM::PoisonOp::create(rewriter, op.getLoc(), type);
    for (int64_t k = 0; k < type.getNumElements(); ++k)
      filled = LLVM::InsertElementOp::create(rewriter, op.getLoc(), filled, adaptor.getValue(),
                                             constant(rewriter, op.getLoc(), rewriter.getI32Type(), k));
    rewriter.replaceOp(op, filled);
    return success();
  }
};

struct LoadFragment : ConvertOpToLLVMPattern<vxk::LoadFragmentOp> {
  LoadFragment(const LLVMTypeConverter &converter, int64_t wavefront)
      : ConvertOpToLLVMPattern(converter), wavefront(wavefront) {}

  LogicalResult matchAndRewrite(vxk::LoadFragmentOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getAlongSum())
      return rewriter.notifyMatchFailure(op, "a thread reads neighbours along the sum only");
    Location loc = op.getLoc();
    auto memory = cast<MemRefType>(op.getMemory().getType());
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    Type i64 = rewriter.getI64Type(), i32 = rewriter.getI32Type();
    Value lane = ROCDL::ThreadIdXOp::create(rewriter, loc, i32);
    lane = LLVM::AndOp::create(rewriter, loc, lane, constant(rewriter, loc, i32, wavefront - 1));
    lane = LLVM::ZExtOp::create(rewriter, loc, i64, lane);
    Value line = LLVM::AndOp::create(rewriter, loc, lane, constant(rewriter, loc, i64, kEdge - 1));
    Value place = LLVM::MulOp::create(rewriter, loc, line, constant(rewriter, loc, i64, op.getStride()));
    if (type.getNumElements() < kDepth) {
      Value part = LLVM::LShrOp::create(rewriter, loc, lane, constant(rewriter, loc, i64, llvm::Log2_64(kEdge)));
      part = LLVM::MulOp::create(rewriter, loc, part, constant(rewriter, loc, i64, type.getNumElements()));
      place = LLVM::AddOp::create(rewriter, loc, place, part);
    }
    place = LLVM::AddOp::create(rewriter, loc, place, adaptor.getAt());
    Value address = getStridedElementPtr(rewriter, loc, memory, adaptor.getMemory(), place);
    // Lines begin at multiples of 16 bytes.
    unsigned bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, type, address, std::min(bytes, 16u));
    return success();
  }

  int64_t wavefront;
};

struct MultiplyAccumulate : ConvertOpToLLVMPattern<vxk::MultiplyAccumulateOp> {
  MultiplyAccumulate(const LLVMTypeConverter &converter, int64_t wavefront)
      : ConvertOpToLLVMPattern(converter), wavefront(wavefront) {}

  LogicalResult matchAndRewrite(vxk::MultiplyAccumulateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    bool isF16 = op.getLhs().getType().getElementType().isF16();
    Type type = adaptor.getAccumulator().getType();
    SmallVector<Value> operands = {adaptor.getLhs(), adaptor.getRhs(), adaptor.getAccumulator()};
    if (wavefront == 32) {
      if (isF16)
        rewriter.replaceOpWithNewOp<ROCDL::wmma_f32_16x16x16_f16>(op, type, operands);
      else
        rewriter.replaceOpWithNewOp<ROCDL::wmma_f32_16x16x16_bf16>(op, type, operands);
      return success();
    }
    // No broadcast of blocks and no permutation.
    operands.append(3, constant(rewriter, loc, rewriter.getI32Type(), 0));
    if (isF16)
      rewriter.replaceOpWithNewOp<ROCDL::mfma_f32_16x16x16f16>(op, type, operands);
    else
      rewriter.replaceOpWithNewOp<ROCDL::mfma_f32_16x16x16bf16_1k>(op, type, operands);
    return success();
  }

  int64_t wavefront;
};

struct FragmentElements : ConvertOpToLLVMPattern<vxk::FragmentElementsOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::FragmentElementsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> elements;
    for (size_t k = 0; k < op.getNumResults(); ++k)
      elements.push_back(LLVM::ExtractElementOp::create(
          rewriter, op.getLoc(), adaptor.getFragment(),
          constant(rewriter, op.getLoc(), rewriter.getI32Type(), static_cast<int64_t>(k))));
    rewriter.replaceOp(op, elements);
    return success();
  }
};

} // namespace

void populateFragmentConversion(LLVMTypeConverter &converter, RewritePatternSet &patterns, int64_t wavefront) {
  converter.addConversion([wavefront](vxk::FragmentType type) -> Type {
    MLIRContext *context = type.getContext();
    if (type.getRole() == vxk::FragmentRole::accumulator)
      return VectorType::get(kEdge * kEdge / wavefront, Float32Type::get(context));
    // The instructions take bf16 as words of 16 bits.
    Type element = type.getElementType().isBF16() ? IntegerType::get(context, 16) : type.getElementType();
    return VectorType::get(wavefront == 32 ? kDepth : kDepth * kEdge / wavefront, element);
  });
  patterns.add<FillFragment, FragmentElements>(converter);
  patterns.add<LoadFragment, MultiplyAccumulate>(converter, wavefront);
}

} // namespace vx::rocm

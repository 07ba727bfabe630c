// Sums of products of bytes, lookups and powers of two as the instructions that the variant has.
#include "CPUDotPatterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx::cpu {

namespace {

/// A call of an LLVM intrinsic of 128, 256 or 512 bits, by the number of words of 32 bits that the result has.
Value callIntrinsic(OpBuilder &builder, Location loc, ArrayRef<StringRef> names, VectorType type, ValueRange operands) {
  StringRef name = names[llvm::Log2_64(type.getNumElements()) - 2];
  return LLVM::CallIntrinsicOp::create(builder, loc, type, builder.getStringAttr(name), operands).getResult(0);
}

/// An unsigned by a signed factor, four products at once: vpdpbusd.
struct DotOfBytes : ConvertOpToLLVMPattern<vxk::DotOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::DotOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    if (op.getLhsSigned() == op.getRhsSigned())
      return rewriter.notifyMatchFailure(op, "the instruction takes an unsigned and a signed factor");
    Value unsignedFactor = adaptor.getLhs(), signedFactor = adaptor.getRhs();
    if (op.getLhsSigned())
      std::swap(unsignedFactor, signedFactor);
    static constexpr StringRef names[] = {"llvm.x86.avx512.vpdpbusd.128", "llvm.x86.avx512.vpdpbusd.256",
                                          "llvm.x86.avx512.vpdpbusd.512"};
    rewriter.replaceOp(op, callIntrinsic(rewriter, op.getLoc(), names, op.getType(),
                                         {adaptor.getSum(), unsignedFactor, signedFactor}));
    return success();
  }
};

/// Any factors, widened to 16 bits, two products at once: pmaddwd of the bytes at even places, and of those at odd
/// ones. Neither a product nor the sum of two leaves 32 bits.
struct DotOfPairs : ConvertOpToLLVMPattern<vxk::DotOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::DotOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto words = VectorType::get(op.getLhs().getType().getNumElements() / 2, rewriter.getI16Type());
    Value eight =
        LLVM::ConstantOp::create(rewriter, loc, words, DenseElementsAttr::get(words, rewriter.getI16IntegerAttr(8)));
    auto getHalf = [&](Value bytes, bool isSigned, bool isOdd) -> Value {
      Value pairs = LLVM::BitcastOp::create(rewriter, loc, words, bytes);
      if (!isOdd)
        pairs = LLVM::ShlOp::create(rewriter, loc, pairs, eight);
      if (isSigned)
        return LLVM::AShrOp::create(rewriter, loc, pairs, eight);
      return LLVM::LShrOp::create(rewriter, loc, pairs, eight);
    };
    static constexpr StringRef names[] = {"llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
                                          "llvm.x86.avx512.pmaddw.d.512"};
    Value sum = adaptor.getSum();
    for (bool isOdd : {false, true}) {
      Value products = callIntrinsic(
          rewriter, loc, names, op.getType(),
          {getHalf(adaptor.getLhs(), op.getLhsSigned(), isOdd), getHalf(adaptor.getRhs(), op.getRhsSigned(), isOdd)});
      sum = LLVM::AddOp::create(rewriter, loc, sum, products);
    }
    rewriter.replaceOp(op, sum);
    return success();
  }
};

/// vpermps, which takes the lowest bits of an index.
struct LookupOfFloats : ConvertOpToLLVMPattern<vxk::LookupOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::LookupOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    static constexpr StringRef names[] = {"", "llvm.x86.avx2.permps", "llvm.x86.avx512.permvar.sf.512"};
    rewriter.replaceOp(op, callIntrinsic(rewriter, op.getLoc(), names, op.getResult().getType(),
                                         {adaptor.getTable(), adaptor.getIndices()}));
    return success();
  }
};

/// vscalefps, rounded as the thread rounds.
struct ScaleOfFloats : ConvertOpToLLVMPattern<vxk::ScaleOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(vxk::ScaleOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    VectorType type = op.getResult().getType();
    const int64_t count = type.getNumElements();
    auto maskType = rewriter.getIntegerType(count == 16 ? 16 : 8);
    Value all = LLVM::ConstantOp::create(rewriter, loc, maskType, rewriter.getIntegerAttr(maskType, -1));
    SmallVector<Value> operands = {adaptor.getNumber(), adaptor.getExponent(), adaptor.getNumber(), all};
    if (count == 16) { // The one of 512 bits takes the rounding, too.
      constexpr int32_t currentDirection = 4;
      operands.push_back(LLVM::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(currentDirection)));
    }
    static constexpr StringRef names[] = {"llvm.x86.avx512.mask.scalef.ps.128", "llvm.x86.avx512.mask.scalef.ps.256",
                                          "llvm.x86.avx512.mask.scalef.ps.512"};
    rewriter.replaceOp(op, callIntrinsic(rewriter, loc, names, type, operands));
    return success();
  }
};

} // namespace

void populateDotPatterns(const LLVMTypeConverter &converter, RewritePatternSet &patterns, bool hasByteDots) {
  patterns.add<DotOfPairs, LookupOfFloats, ScaleOfFloats>(converter);
  if (hasByteDots)
    patterns.add<DotOfBytes>(converter, /*benefit=*/2);
}

} // namespace vx::cpu

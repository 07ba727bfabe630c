// Division, square root and rounding. Vulkan promises 2.5 ulp for an f32 quotient whose divisor lies in [2^-126,
// 2^126], and less for a square root; a correctly rounded fused multiply-add is not promised either (some software
// drivers compute it as two operations). So each result is corrected once by its residual, computed from halves of the
// factors whose products are exact in any implementation.
#include "SPIRVPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace vx::vulkan {
namespace {

/// Emits arithmetic on one float type.
struct ArithEmitter {
  OpBuilder &builder;
  Location loc;
  FloatType type;
  IntegerType bits;

  ArithEmitter(OpBuilder &builder, Location loc, FloatType type)
      : builder(builder), loc(loc), type(type), bits(builder.getIntegerType(type.getWidth())) {}

  Value number(double value) {
    return spirv::ConstantOp::create(builder, loc, type, builder.getFloatAttr(type, value));
  }
  Value mask(uint64_t value) {
    return spirv::ConstantOp::create(builder, loc, bits,
                                     builder.getIntegerAttr(bits, APInt(bits.getWidth(), value, false, true)));
  }
  Value add(Value a, Value b) { return spirv::FAddOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return spirv::FSubOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return spirv::FMulOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return spirv::FDivOp::create(builder, loc, a, b); }
  Value abs(Value a) { return spirv::GLFAbsOp::create(builder, loc, a); }
  Value less(Value a, Value b) { return spirv::FOrdLessThanOp::create(builder, loc, a, b); }
  Value both(Value a, Value b) { return spirv::LogicalAndOp::create(builder, loc, a, b); }
  Value select(Value condition, Value yes, Value no) {
    return spirv::SelectOp::create(builder, loc, condition, yes, no);
  }

  /// `value` with the lower half of its significand cleared: products of two such are exact.
  Value upperHalf(Value value) {
    uint64_t clear = type.getWidth() == 64 ? ~uint64_t(0) << 27 : uint32_t(~uint32_t(0) << 12);
    Value pattern = spirv::BitcastOp::create(builder, loc, bits, value);
    Value cleared = spirv::BitwiseAndOp::create(builder, loc, pattern, mask(clear));
    return spirv::BitcastOp::create(builder, loc, type, cleared);
  }

  /// |value| with the sign of `sign`, zeros' too.
  Value copySign(Value value, Value sign) {
    uint64_t signBit = uint64_t(1) << (type.getWidth() - 1);
    Value magnitude = spirv::BitwiseAndOp::create(builder, loc, spirv::BitcastOp::create(builder, loc, bits, value),
                                                  mask(signBit - 1));
    Value negative =
        spirv::BitwiseAndOp::create(builder, loc, spirv::BitcastOp::create(builder, loc, bits, sign), mask(signBit));
    return spirv::BitcastOp::create(builder, loc, type, spirv::BitwiseOrOp::create(builder, loc, magnitude, negative));
  }

  /// value - a * b, with a relative error of 2^-10 or less when a * b is near `value`.
  Value residual(Value value, Value a, Value b) {
    Value ah = upperHalf(a), bh = upperHalf(b);
    Value al = sub(a, ah), bl = sub(b, bh);
    Value r = sub(value, mul(ah, bh));
    r = sub(r, mul(ah, bl));
    r = sub(r, mul(al, bh));
    return sub(r, mul(al, bl));
  }

  /// `corrected` where it is finite, else `value`: infinities, zeros and NaN are right already.
  Value ifFinite(Value value, Value corrected) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    Value infinity =
        spirv::ConstantOp::create(builder, loc, type, builder.getFloatAttr(type, APFloat::getInf(semantics)));
    return select(less(abs(corrected), infinity), corrected, value);
  }
};

struct DivFPattern : OpConversionPattern<arith::DivFOp> {
  DivFPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(arith::DivFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "only scalars are divided");
    Location loc = op.getLoc();
    if (type.getWidth() == 16) {
      // The f32 quotient rounds to the f16 one.
      Type f32 = rewriter.getF32Type();
      Value a = spirv::FConvertOp::create(rewriter, loc, f32, adaptor.getLhs());
      Value b = spirv::FConvertOp::create(rewriter, loc, f32, adaptor.getRhs());
      Value q = spirv::FDivOp::create(rewriter, loc, a, b);
      rewriter.replaceOpWithNewOp<spirv::FConvertOp>(op, type, q);
      return success();
    }
    ArithEmitter e(rewriter, loc, type);
    bool wide = type.getWidth() == 64;
    double small = wide ? 0x1p-900 : 0x1p-90;
    // A divisor near the largest number has a reciprocal that may flush to zero, and the halves of one near the least
    // number may flush: scale both operands. Where the dividend overflows or vanishes then, so does the quotient.
    Value size = e.abs(adaptor.getRhs());
    Value scale = e.select(e.less(size, e.number(wide ? 0x1p1022 : 0x1p126)), e.number(1), e.number(0.0625));
    scale = e.select(e.less(size, e.number(small)), e.number(wide ? 0x1p100 : 0x1p30), scale);
    Value a = e.mul(adaptor.getLhs(), scale);
    Value b = e.mul(adaptor.getRhs(), scale);
    Value q = e.div(a, b);
    // Below `small` halves and products may flush, and the correction would be wrong.
    Value safe = e.both(e.less(e.number(small), e.abs(a)), e.less(e.number(small), e.abs(q)));
    Value corrected = e.ifFinite(q, e.add(q, e.div(e.residual(a, q, b), b)));
    rewriter.replaceOp(op, e.select(safe, corrected, q));
    return success();
  }
};

struct SqrtPattern : OpConversionPattern<math::SqrtOp> {
  SqrtPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(math::SqrtOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "only scalars have a square root");
    Location loc = op.getLoc();
    if (type.getWidth() == 16) {
      Value x = spirv::FConvertOp::create(rewriter, loc, rewriter.getF32Type(), adaptor.getOperand());
      Value root = spirv::GLSqrtOp::create(rewriter, loc, x);
      rewriter.replaceOpWithNewOp<spirv::FConvertOp>(op, type, root);
      return success();
    }
    ArithEmitter e(rewriter, loc, type);
    Value x = adaptor.getOperand();
    Value root = spirv::GLSqrtOp::create(rewriter, loc, x);
    Value step = e.div(e.residual(x, root, root), e.add(root, root));
    double small = type.getWidth() == 64 ? 0x1p-900 : 0x1p-90;
    Value corrected = e.ifFinite(root, e.add(root, step));
    rewriter.replaceOp(op, e.select(e.less(e.number(small), x), corrected, root));
    return success();
  }
};

/// A sum or product whose author allows it to become part of a fused multiply-add.
template <typename Op, typename SPIRVOp>
struct ContractPattern : OpConversionPattern<Op> {
  ContractPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern<Op>(converter, context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::contract))
      return rewriter.notifyMatchFailure(op, "it may not be contracted");
    auto result = rewriter.replaceOpWithNewOp<SPIRVOp>(op, adaptor.getLhs(), adaptor.getRhs());
    result->setAttr(kContractAttr, rewriter.getUnitAttr());
    return success();
  }
};

/// Ordered and unordered: the opcodes of that name belong to OpenCL.
struct NaNComparePattern : OpConversionPattern<arith::CmpFOp> {
  NaNComparePattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(arith::CmpFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    bool unordered = op.getPredicate() == arith::CmpFPredicate::UNO;
    if (!unordered && op.getPredicate() != arith::CmpFPredicate::ORD)
      return rewriter.notifyMatchFailure(op, "the comparison has an opcode of its own");
    Location loc = op.getLoc();
    Value result = spirv::IsNanOp::create(rewriter, loc, adaptor.getLhs());
    if (op.getLhs() != op.getRhs())
      result =
          spirv::LogicalOrOp::create(rewriter, loc, result, spirv::IsNanOp::create(rewriter, loc, adaptor.getRhs()));
    if (!unordered)
      result = spirv::LogicalNotOp::create(rewriter, loc, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// The remainder takes the dividend's sign. The opcode for it is undefined for negative operands in Vulkan; the
/// quotient's is defined.
struct RemSIPattern : OpConversionPattern<arith::RemSIOp> {
  RemSIPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(arith::RemSIOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value quotient = spirv::SDivOp::create(rewriter, loc, adaptor.getLhs(), adaptor.getRhs());
    Value product = spirv::IMulOp::create(rewriter, loc, quotient, adaptor.getRhs());
    rewriter.replaceOpWithNewOp<spirv::ISubOp>(op, adaptor.getLhs(), product);
    return success();
  }
};

/// The dialect has no truncation: it is the floor above zero and the ceiling below, so -0 and NaN stay.
struct TruncPattern : OpConversionPattern<math::TruncOp> {
  TruncPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(math::TruncOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ArithEmitter e(rewriter, op.getLoc(), cast<FloatType>(adaptor.getOperand().getType()));
    Value x = adaptor.getOperand();
    Value below = spirv::GLCeilOp::create(rewriter, op.getLoc(), x);
    Value above = spirv::GLFloorOp::create(rewriter, op.getLoc(), x);
    rewriter.replaceOp(op, e.select(e.less(x, e.number(0)), below, above));
    return success();
  }
};

/// Some software drivers cut f64 off instead of rounding it to the nearest even integer. Adding 2^52 leaves no place
/// for a fraction, and sums are rounded right everywhere; beyond it all numbers are integers.
struct RoundEvenPattern : OpConversionPattern<math::RoundEvenOp> {
  RoundEvenPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(math::RoundEvenOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "narrower floats are rounded right as they are");
    ArithEmitter e(rewriter, op.getLoc(), cast<FloatType>(op.getType()));
    Value x = adaptor.getOperand(), size = e.abs(x), bound = e.number(0x1p52);
    Value rounded = e.sub(e.add(size, bound), bound);
    rewriter.replaceOp(op, e.select(e.less(size, bound), e.copySign(rounded, x), x));
    return success();
  }
};

} // namespace

void populateArithPatterns(const SPIRVTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<DivFPattern, SqrtPattern, TruncPattern, RoundEvenPattern, NaNComparePattern, RemSIPattern,
               ContractPattern<arith::AddFOp, spirv::FAddOp>, ContractPattern<arith::SubFOp, spirv::FSubOp>,
               ContractPattern<arith::MulFOp, spirv::FMulOp>>(converter, patterns.getContext());
}

} // namespace vx::vulkan

// vx-expand-math: math functions become arithmetic.
#include "MathFunctions.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "vx/Codegen/Common/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_EXPANDMATHPASS
#include "vx/Codegen/Common/Passes.h.inc"

namespace {

Type withElement(Type type, Type element) {
  if (auto shaped = llvm::dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

/// Replaces `Op` by `formula(numbers of its operands)`; f16 and bf16 go through f32.
template <typename Op>
struct Expand : OpRewritePattern<Op> {
  using Formula = Number (*)(MathBuilder &, ArrayRef<Number>);
  Expand(MLIRContext *context, Formula formula, bool hasScale)
      : OpRewritePattern<Op>(context), formula(formula), hasScale(hasScale) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    if (!element.isF16() && !element.isBF16() && !element.isF32() && !element.isF64())
      return rewriter.notifyMatchFailure(op, "only f16, bf16, f32 and f64 have formulas");
    bool narrow = element.getIntOrFloatBitWidth() < 32;
    Location location = op.getLoc();
    Type computed = narrow ? withElement(type, rewriter.getF32Type()) : type;
    MathBuilder builder(rewriter, location, computed, hasScale);
    SmallVector<Number> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          builder.number(narrow ? arith::ExtFOp::create(rewriter, location, computed, operand).getResult() : operand));
    Value result = formula(builder, operands).value;
    if (narrow)
      result = arith::TruncFOp::create(rewriter, location, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

  Formula formula;
  bool hasScale;
};

template <auto function>
Number unary(MathBuilder &builder, ArrayRef<Number> operands) {
  return function(builder, operands[0]);
}

Number pow(MathBuilder &builder, ArrayRef<Number> operands) { return mathlib::pow(builder, operands[0], operands[1]); }

Number rsqrt(MathBuilder &builder, ArrayRef<Number> operands) { return 1.0 / builder.sqrt(operands[0]); }

class ExpandMathPass : public impl::ExpandMathPassBase<ExpandMathPass> {
public:
  using ExpandMathPassBase::ExpandMathPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateExpandMathPatterns(patterns, hasScale);
    // No folding of constants: the host's own library must not decide a bit.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace

void populateExpandMathPatterns(RewritePatternSet &patterns, bool hasScale) {
  MLIRContext *context = patterns.getContext();
  patterns.add<Expand<math::ExpOp>>(context, unary<mathlib::exp>, hasScale);
  patterns.add<Expand<math::Exp2Op>>(context, unary<mathlib::exp2>, hasScale);
  patterns.add<Expand<math::ExpM1Op>>(context, unary<mathlib::expm1>, hasScale);
  patterns.add<Expand<math::LogOp>>(context, unary<mathlib::log>, hasScale);
  patterns.add<Expand<math::Log2Op>>(context, unary<mathlib::log2>, hasScale);
  patterns.add<Expand<math::Log10Op>>(context, unary<mathlib::log10>, hasScale);
  patterns.add<Expand<math::Log1pOp>>(context, unary<mathlib::log1p>, hasScale);
  patterns.add<Expand<math::PowFOp>>(context, pow, hasScale);
  patterns.add<Expand<math::TanhOp>>(context, unary<mathlib::tanh>, hasScale);
  patterns.add<Expand<math::SinhOp>>(context, unary<mathlib::sinh>, hasScale);
  patterns.add<Expand<math::CoshOp>>(context, unary<mathlib::cosh>, hasScale);
  patterns.add<Expand<math::ErfOp>>(context, unary<mathlib::erf>, hasScale);
  patterns.add<Expand<math::SinOp>>(context, unary<mathlib::sin>, hasScale);
  patterns.add<Expand<math::CosOp>>(context, unary<mathlib::cos>, hasScale);
  patterns.add<Expand<math::TanOp>>(context, unary<mathlib::tan>, hasScale);
  patterns.add<Expand<math::AsinOp>>(context, unary<mathlib::asin>, hasScale);
  patterns.add<Expand<math::AcosOp>>(context, unary<mathlib::acos>, hasScale);
  patterns.add<Expand<math::AtanOp>>(context, unary<mathlib::atan>, hasScale);
  patterns.add<Expand<math::RsqrtOp>>(context, rsqrt, hasScale);
}

} // namespace vx

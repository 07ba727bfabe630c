// Comparisons of a widened integer with a constant are done in the integer's own width. It saves 64-bit arithmetic, and
// it keeps clear of a fault of lavapipe 22.3, which finds a sign-extended value never less than a constant.
#include "SPIRVPatterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace vx::vulkan {
namespace {

struct NarrowComparison : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter &rewriter) const override {
    arith::CmpIPredicate predicate = op.getPredicate();
    Value wide = op.getLhs(), other = op.getRhs();
    APInt constant;
    if (matchPattern(wide, m_ConstantInt(&constant))) {
      std::swap(wide, other);
      predicate = swapped(predicate);
    }
    if (!matchPattern(other, m_ConstantInt(&constant)))
      return rewriter.notifyMatchFailure(op, "no operand is a constant");
    Operation *extension = wide.getDefiningOp();
    bool isEquality = predicate == arith::CmpIPredicate::eq || predicate == arith::CmpIPredicate::ne;
    bool isSigned = isa_and_nonnull<arith::ExtSIOp, arith::IndexCastOp>(extension);
    if (!isSigned && !isa_and_nonnull<arith::ExtUIOp, arith::IndexCastUIOp>(extension))
      return rewriter.notifyMatchFailure(op, "no operand is an extension");
    if (!isEquality && isSigned != isSignedPredicate(predicate))
      return rewriter.notifyMatchFailure(op, "the comparison and the extension differ in sign");
    auto narrow = dyn_cast<IntegerType>(extension->getOperand(0).getType());
    unsigned bits = constant.getBitWidth();
    if (!narrow || narrow.getWidth() >= bits || narrow.getWidth() == 1)
      return rewriter.notifyMatchFailure(op, "the operand is not widened");
    APInt truncated = constant.trunc(narrow.getWidth());
    APInt least = isSigned ? APInt::getSignedMinValue(narrow.getWidth()).sext(bits) : APInt::getZero(bits);
    if ((isSigned ? truncated.sext(bits) : truncated.zext(bits)) == constant) {
      Value number = arith::ConstantOp::create(rewriter, op.getLoc(), rewriter.getIntegerAttr(narrow, truncated));
      rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, predicate, extension->getOperand(0), number);
      return success();
    }
    // The constant lies outside of what the narrow type holds: any of its values compares the same.
    bool result = arith::applyCmpPredicate(predicate, least, constant);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, rewriter.getBoolAttr(result));
    return success();
  }

private:
  static bool isSignedPredicate(arith::CmpIPredicate predicate) {
    using P = arith::CmpIPredicate;
    return predicate == P::slt || predicate == P::sle || predicate == P::sgt || predicate == P::sge;
  }

  static arith::CmpIPredicate swapped(arith::CmpIPredicate predicate) {
    using P = arith::CmpIPredicate;
    switch (predicate) {
    case P::slt:
      return P::sgt;
    case P::sle:
      return P::sge;
    case P::sgt:
      return P::slt;
    case P::sge:
      return P::sle;
    case P::ult:
      return P::ugt;
    case P::ule:
      return P::uge;
    case P::ugt:
      return P::ult;
    case P::uge:
      return P::ule;
    case P::eq:
    case P::ne:
      return predicate;
    }
    llvm_unreachable("all predicates are listed");
  }
};

} // namespace

void populateNarrowComparisonPatterns(RewritePatternSet &patterns) {
  patterns.add<NarrowComparison>(patterns.getContext());
}

} // namespace vx::vulkan

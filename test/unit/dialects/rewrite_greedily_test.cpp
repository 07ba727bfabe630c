// Rewrites that do not come to an end are an error that says where, and not a hang.
#include "vx/Dialect/VX/Utils/RewriteGreedily.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include <gtest/gtest.h>

namespace vx {
namespace {

using namespace mlir;

/// x + y -> y + x, for ever
struct SwapOperands : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getResult().getType(), op.getRhs(), op.getLhs());
    return success();
  }
};

/// Leaves an op behind and does not match.
struct LeaveLitter : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    NegOp::create(rewriter, op.getLoc(), op.getLhs().getType(), op.getLhs());
    return failure();
  }
};

/// x - y -> x + y
struct TurnIntoSum : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getResult().getType(), op.getLhs(), op.getRhs());
    return success();
  }
};

template <typename Pattern>
std::vector<std::string> getErrors() {
  MLIRContext context;
  context.loadDialect<VXDialect, func::FuncDialect>();
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors.push_back(diagnostic.str());
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = vx.sub %x, %y : tensor<4xf32>, tensor<4xf32>
      %1 = vx.add %0, %y : tensor<4xf32>, tensor<4xf32>
      return %1 : tensor<4xf32>
    })",
                                                             ParserConfig(&context), "model.mlir");
  RewritePatternSet patterns(&context);
  patterns.add<Pattern>(&context);
  LogicalResult result = rewriteGreedily(*module, std::move(patterns), "vx-example");
  EXPECT_EQ(failed(result), !errors.empty());
  return errors;
}

TEST(RewriteGreedily, SaysWhereItDoesNotEnd) {
  std::vector<std::string> error = {
      "the rewrites of 'vx-example' do not come to an end, the last one is in model.mlir:4:12"};
  EXPECT_EQ(getErrors<SwapOperands>(), error);
  EXPECT_EQ(getErrors<LeaveLitter>(), error);
}

TEST(RewriteGreedily, ComesToAnEnd) { EXPECT_EQ(getErrors<TurnIntoSum>(), std::vector<std::string>()); }

} // namespace
} // namespace vx

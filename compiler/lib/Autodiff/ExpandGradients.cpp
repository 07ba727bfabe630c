#include "ModelOutput.h"
#include "vx/Autodiff/Passes.h"
#include "vx/Dialect/VX/Gradient/ReverseMode.h"
#include "vx/Dialect/VX/IR/GraphBuilder.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/UserText.h"
#include "vx/Dialect/VX/Utils/CloneWithFreshSymbols.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_EXPANDGRADIENTSPASS
#include "vx/Autodiff/Passes.h.inc"

namespace {

/// A value that a gradient is taken with respect to, as its user calls it.
std::string describeWatched(Value value) {
  while (auto watch = value.getDefiningOp<WatchOp>())
    value = watch.getInput();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr) : StringAttr();
    return name ? "'" + name.getValue().str() + "'" : "input " + std::to_string(argument.getArgNumber());
  }
  if (auto load = value.getDefiningOp<VariableLoadOp>())
    return "'" + load.getVariable().str() + "'";
  if (auto constant = value.getDefiningOp<ConstantOp>();
      constant && constant.getNames() && !constant.getNames()->empty())
    return "'" + cast<StringAttr>((*constant.getNames())[0]).getValue().str() + "'";
  return "what '" + describeSource(value.getLoc()) + "' makes";
}

LogicalResult expand(GradientOp op) {
  OpBuilder builder(op);
  GraphBuilder g(builder, op.getLoc());
  ReverseMode reverse(builder, op.getWrt());
  reverse.add(g, op.getValue(), op.getSeed() ? Value(op.getSeed()) : g.splatLike(1, op.getValue()));
  bool isComplete = succeeded(reverse.run(collectDependences(op.getValue())));
  SmallVector<Value> results;
  for (Value wrt : op.getWrt()) {
    Value gradient = reverse.get(wrt);
    if (!gradient && isComplete && !op.getZeroUnreached())
      emitNote(op.getLoc(), "the gradient with respect to " + describeWatched(wrt) +
                                " is 0: nothing that it is taken of depends on it, or its derivative is 0 everywhere");
    results.push_back(gradient ? gradient : g.splatLike(0, wrt));
  }
  if (g.hasRefused() || !isComplete)
    return failure();
  op.replaceAllUsesWith(results);
  op.erase();
  return success();
}

/// Puts what a directive stands for in its place.
void inlineForward(CustomGradientOp op) {
  OpBuilder builder(op);
  IRMapping mapping;
  SymbolMap symbols;
  Block &body = op.getForward().front();
  mapping.map(body.getArguments(), op.getInputs());
  cloneWithFreshSymbols(op.getForward(), builder, op.getLoc(), mapping, symbols);
  GraphBuilder g(builder, op.getLoc());
  for (auto [result, value] : llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(g.reshape(mapping.lookup(value), getDims(cast<RankedTensorType>(result.getType()))));
  op.erase();
}

struct ExpandGradientsPass : impl::ExpandGradientsPassBase<ExpandGradientsPass> {
  void runOnOperation() override {
    SmallVector<GradientOp> gradients;
    getOperation().walk<WalkOrder::PreOrder>([&](GradientOp op) { gradients.push_back(op); });
    bool hasFailed = false;
    for (GradientOp op : gradients)
      hasFailed |= failed(expand(op));
    if (hasFailed)
      return signalPassFailure();
    SmallVector<CustomGradientOp> customs;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<WatchOp, StopGradientOp>(op)) {
        op->replaceAllUsesWith(op->getOperands());
        op->erase();
        return WalkResult::skip();
      }
      return WalkResult::advance();
    });
    // Those inside of another one are found when that one is gone.
    do {
      customs.clear();
      getOperation().walk([&](CustomGradientOp op) {
        if (!op->getParentOfType<CustomGradientOp>())
          customs.push_back(op);
      });
      for (CustomGradientOp op : customs)
        inlineForward(op);
    } while (!customs.empty());
  }
};

} // namespace
} // namespace vx

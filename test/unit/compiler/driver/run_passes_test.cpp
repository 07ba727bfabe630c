// A pass that fails without a word is reported by its name and the node that it was at.
#include "vx/Driver/RunPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include <gtest/gtest.h>

namespace vx {
namespace {

using namespace mlir;

/// Fails at every function, with an error or without.
struct FailingPass : PassWrapper<FailingPass, OperationPass<func::FuncOp>> {
  explicit FailingPass(bool isSilent) : isSilent(isSilent) {}
  StringRef getArgument() const override { return "vx-failing"; }
  void runOnOperation() override {
    if (!isSilent)
      getOperation().emitError() << "the reason";
    signalPassFailure();
  }
  bool isSilent;
};

std::vector<std::string> getErrors(bool isSilent, unsigned functions) {
  MLIRContext context;
  context.loadDialect<VXDialect, func::FuncDialect>();
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors.push_back(diagnostic.str());
    return success();
  });
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder(module->getBodyRegion());
  for (unsigned i = 0; i < functions; ++i) {
    Location location = getSourceLocation(&context, "conv1", "Conv", "model.onnx");
    auto function = func::FuncOp::create(builder, location, "f" + std::to_string(i), builder.getFunctionType({}, {}));
    OpBuilder body(function.addEntryBlock(), function.front().begin());
    func::ReturnOp::create(body, location);
  }
  PassManager manager(&context);
  manager.addNestedPass<func::FuncOp>(std::make_unique<FailingPass>(isSilent));
  EXPECT_TRUE(failed(runPasses(manager, *module)));
  return errors;
}

TEST(RunPasses, NamesWhatFailsInSilence) {
  // Several functions are visited by several threads, whose errors come late.
  for (unsigned functions : {1u, 4u})
    EXPECT_EQ(getErrors(/*isSilent=*/true, functions),
              std::vector<std::string>{"pass 'vx-failing' failed and gave no reason, at conv1 (Conv)"});
}

TEST(RunPasses, LeavesReasonsAlone) {
  EXPECT_EQ(getErrors(/*isSilent=*/false, 1), std::vector<std::string>{"the reason"});
  for (const std::string &error : getErrors(/*isSilent=*/false, 4))
    EXPECT_EQ(error, "the reason");
}

} // namespace
} // namespace vx

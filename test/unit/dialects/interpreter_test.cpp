// What a caller from C++ can do wrong, and no command line.
#include "vx/Reference/Interpreter.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace vx::reference;

namespace {

TEST(InterpreterTest, WantsOneInputForEachArgument) {
  MLIRContext context;
  context.loadDialect<vx::VXDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "func.func @main(%x: tensor<i64>, %y: tensor<i64>) { return }", ParserConfig(&context));
  ASSERT_TRUE(module);
  ProgramState state;
  llvm::Expected<llvm::SmallVector<HostValue>> results =
      evaluateFunction(module->lookupSymbol<func::FuncOp>("main"), {HostTensor::scalar(int64_t(1))}, state);
  ASSERT_FALSE(bool(results));
  EXPECT_EQ(llvm::toString(results.takeError()), "function 'main' wants 2 inputs, got 1");
}

// What only who makes an instance knows.
TEST(InterpreterTest, WantsWhatAnInstanceHas) {
  MLIRContext context;
  context.loadDialect<vx::VXDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    vx.symbol instance "pages"
    vx.variable @cache : tensor<?xf32, #vx.enc<[pages]>>
    vx.variable @w init = <uniform(0.0, 1.0)> : tensor<2xf32>
    func.func @sized() -> tensor<?xf32, #vx.enc<[pages]>> {
      %0 = vx.variable_load @cache : tensor<?xf32, #vx.enc<[pages]>>
      return %0 : tensor<?xf32, #vx.enc<[pages]>>
    }
    func.func @random() -> tensor<2xf32> {
      %0 = vx.variable_load @w : tensor<2xf32>
      return %0 : tensor<2xf32>
    })",
                                                             ParserConfig(&context));
  ASSERT_TRUE(module);
  ProgramState state;
  auto message = [&](llvm::StringRef function) {
    llvm::Expected<llvm::SmallVector<HostValue>> results =
        evaluateFunction(module->lookupSymbol<func::FuncOp>(function), {}, state);
    return results ? "none" : llvm::toString(results.takeError());
  };
  EXPECT_TRUE(llvm::StringRef(message("sized")).contains("variable 'cache': symbol 'pages' has no value"))
      << message("sized");
  EXPECT_TRUE(
      llvm::StringRef(message("random")).contains("variable 'w' starts with random values, which are not given"))
      << message("random");
  state.symbols["pages"] = 3;
  state.variables.try_emplace("w", HostTensor(ElementType::F32, {2}));
  EXPECT_EQ(message("sized"), "none");
  EXPECT_EQ(message("random"), "none");
}

} // namespace

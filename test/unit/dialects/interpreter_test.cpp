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

} // namespace

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
  EXPECT_EQ(llvm::toString(results.takeError()), "function 'main' needs 2 inputs, got 1");
}

// Asked before a call, the evaluator names the first op that it would fail at whatever the inputs are.
TEST(InterpreterTest, SaysWhatItCannotEvaluate) {
  MLIRContext context;
  context.loadDialect<vx::VXDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @numbers(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = vx.if %c -> tensor<2xf32> {
        %1 = vx.neg %x : tensor<2xf32>
        vx.yield %1 : tensor<2xf32>
      } else {
        vx.yield %x : tensor<2xf32>
      }
      return %0 : tensor<2xf32>
    }
    func.func @unknown(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = vx.if %c -> tensor<2xf32> {
        %1 = vx.watch %x : tensor<2xf32>
        vx.yield %1 : tensor<2xf32>
      } else {
        vx.yield %x : tensor<2xf32>
      }
      return %0 : tensor<2xf32>
    }
    func.func @strings(%x: tensor<2x!vx.string>) -> tensor<2x!vx.string> {
      return %x : tensor<2x!vx.string>
    }
    func.func @sequences(%x: !vx.sequence<tensor<2x!vx.string>>) { return }
  )",
                                                             ParserConfig(&context));
  ASSERT_TRUE(module);
  auto message = [&](llvm::StringRef function) {
    return llvm::toString(checkEvaluable(module->lookupSymbol<func::FuncOp>(function)));
  };
  EXPECT_EQ(message("numbers"), "");
  EXPECT_TRUE(llvm::StringRef(message("unknown")).starts_with("the reference evaluator does not know 'vx.watch' in "))
      << message("unknown");
  EXPECT_TRUE(llvm::StringRef(message("strings")).contains("got 'tensor<2x!vx.string>'")) << message("strings");
  EXPECT_TRUE(llvm::StringRef(message("sequences")).contains("got '!vx.sequence<tensor<2x!vx.string>>'"))
      << message("sequences");
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

// The third iteration stores a number before it gathers by an index that is wrong.
TEST(InterpreterTest, KeepsWhatIterationsThatCommitHaveStored) {
  MLIRContext context;
  context.loadDialect<vx::VXDialect, func::FuncDialect>();
  std::string text = R"(
    vx.symbol data_dependent "i"
    vx.variable @called : tensor<i64>
    vx.variable @pool : tensor<20xi64>
    vx.variable @begun in @pool at 0 : tensor<1xi64>
    vx.variable @sum in @pool at 128 : tensor<1xi64>
    func.func @main(%k: tensor<i64>, %x: tensor<2xi64>, %at: tensor<4xi64>) {
      %one = vx.constant dense<1> : tensor<i64>
      vx.variable_store %one, @called : tensor<i64>
      vx.loop COMMITS "i" trip_count(%k) {
        %begun = vx.variable_load @begun : tensor<1xi64>
        %step = vx.constant dense<1> : tensor<1xi64>
        %more = vx.add %begun, %step : tensor<1xi64>, tensor<1xi64>
        vx.variable_store %more, @begun : tensor<1xi64>
        %place = vx.slice %at starts [#vx.dim<i>] strides [1] : tensor<4xi64> -> tensor<1xi64>
        %row = vx.gather %x, %place axis = 0 : tensor<2xi64>, tensor<1xi64>
        %sum = vx.variable_load @sum : tensor<1xi64>
        %next = vx.add %sum, %row : tensor<1xi64>, tensor<1xi64>
        vx.variable_store %next, @sum : tensor<1xi64>
        %true = vx.constant dense<true> : tensor<i1>
        vx.yield %true : tensor<i1>
      }
      return
    })";
  auto tensor = [](std::initializer_list<int64_t> elements) {
    HostTensor value(ElementType::I64, {int64_t(elements.size())});
    for (auto [index, element] : llvm::enumerate(elements))
      value.setInt(int64_t(index), element);
    return value;
  };
  auto number = [](const ProgramState &state, llvm::StringRef name, int64_t index) {
    auto variable = state.variables.find(name);
    return variable == state.variables.end() ? 0 : variable->second.getInt(index);
  };
  for (bool commits : {false, true}) {
    std::string source = text;
    source.replace(source.find("COMMITS"), 7, commits ? "commits" : "");
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, ParserConfig(&context));
    ASSERT_TRUE(module);
    ProgramState state;
    auto call = [&](int64_t rounds) {
      llvm::Expected<llvm::SmallVector<HostValue>> results =
          evaluateFunction(module->lookupSymbol<func::FuncOp>("main"),
                           {HostTensor::scalar(rounds), tensor({10, 300}), tensor({0, 1, 2, 0})}, state);
      return results ? "none" : llvm::toString(results.takeError());
    };
    EXPECT_NE(call(4), "none");
    EXPECT_EQ(number(state, "called", 0), 0);
    EXPECT_EQ(number(state, "pool", 0), commits ? 2 : 0);
    EXPECT_EQ(number(state, "pool", 16), commits ? 310 : 0);
    // The next call goes on from there.
    EXPECT_EQ(call(1), "none");
    EXPECT_EQ(number(state, "called", 0), 1);
    EXPECT_EQ(number(state, "pool", 0), commits ? 3 : 1);
    EXPECT_EQ(number(state, "pool", 16), commits ? 320 : 10);
  }
}

} // namespace

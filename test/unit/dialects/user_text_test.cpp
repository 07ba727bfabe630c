// What messages say about types, ops and names.
#include "vx/Dialect/VX/IR/UserText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include <gtest/gtest.h>

namespace vx {
namespace {

using namespace mlir;

TEST(UserText, DescribesTypes) {
  MLIRContext context;
  context.loadDialect<VXDialect>();
  Type f32 = Float32Type::get(&context);
  auto dim = [&](StringRef text) { return DimAttr::fromString(&context, text); };
  EXPECT_EQ(describeType(getTensorType({dim("N"), dim("3"), dim("past + 1")}, f32)), "f32[N,3,past + 1]");
  EXPECT_EQ(describeType(RankedTensorType::get({}, IntegerType::get(&context, 64))), "i64[]");
  EXPECT_EQ(describeType(RankedTensorType::get({2}, IntegerType::get(&context, 1))), "bool[2]");
  EXPECT_EQ(describeType(RankedTensorType::get({2}, IntegerType::get(&context, 8, IntegerType::Unsigned))), "u8[2]");
  EXPECT_EQ(describeType(RankedTensorType::get({ShapedType::kDynamic}, f32)), "f32[?]");
  EXPECT_EQ(describeType(RankedTensorType::get({2}, StringType::get(&context))), "string[2]");
  EXPECT_EQ(describeType(SequenceType::get(&context, UnrankedTensorType::get(f32))), "sequence of f32[...]");
  EXPECT_EQ(describeType(OptionalType::get(&context, RankedTensorType::get({4}, f32))), "optional f32[4]");
}

TEST(UserText, DescribesDiagnostics) {
  MLIRContext context;
  context.loadDialect<VXDialect, func::FuncDialect>();
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    text = describeDiagnostic(diagnostic);
    return success();
  });
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  Type type = RankedTensorType::get({4}, builder.getF32Type());
  module->emitOpError() << "expects " << type << ", got " << 3;
  EXPECT_EQ(text, "expects 'f32[4]', got 3");
  module->emitError() << "'x' op expects nothing";
  EXPECT_EQ(text, "expects nothing");
  module->emitError() << "'the name' of an op";
  EXPECT_EQ(text, "'the name' of an op");
  // What became text before it came here, an operation's name, and attributes.
  std::string printed;
  llvm::raw_string_ostream(printed) << "needs "
                                    << getTensorType({DimAttr::fromString(&context, "N")}, builder.getF32Type())
                                    << " or " << SequenceType::get(&context, cast<TensorType>(type))
                                    << ", not tensor<x or tensor<";
  module->emitError() << printed;
  EXPECT_EQ(text, "needs f32[N] or sequence of f32[4], not tensor<x or tensor<");
  module->emitError() << "no form of '" << OperationName("vx.reduce_window", &context) << "' of "
                      << builder.getI64ArrayAttr({2, -3}) << " and "
                      << Attribute(DimAttr::fromString(&context, "N + 1")) << " and " << TypeAttr::get(type);
  EXPECT_EQ(text, "no form of 'reduce_window' of [2, -3] and N + 1 and f32[4]");
}

TEST(UserText, EscapesControlCharacters) {
  EXPECT_EQ(escapeControlCharacters("a\x1b[31mb\n\t\x7f"), "a\\x1b[31mb\\x0a\\x09\\x7f");
  EXPECT_EQ(escapeControlCharacters(StringRef("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escapeControlCharacters("\xc2\x9b"
                                    "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(escapeControlCharacters("Größe \xe2\x88\x91"), "Größe \xe2\x88\x91");
}

} // namespace
} // namespace vx

// The checked creator of ops: makes none that does nothing, says why it refuses, and goes on with null.
#include "vx/Dialect/VX/IR/GraphBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vx {
namespace {

using namespace mlir;
using testing::ElementsAre;
using testing::IsEmpty;

class GraphBuilderTest : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<VXDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(R"(
      vx.symbol "n"
      vx.symbol "m"
      func.func @f(%x: tensor<2x?xf16, #vx.enc<[2, n]>>, %y: tensor<?xf16, #vx.enc<[m]>>, %s: !vx.sequence<tensor<4xf32>>) {
        return
      })",
                                         ParserConfig(&context));
    function = *module->getOps<func::FuncOp>().begin();
    builder.setInsertionPointToStart(&function.front());
  }

  Value getArgument(unsigned index) { return function.getArgument(index); }
  DimAttr parseDim(StringRef text) { return DimAttr::fromString(&context, text); }
  std::vector<std::string> getOps() {
    std::vector<std::string> names;
    for (Operation &op : function.front().without_terminator())
      names.push_back(op.getName().stripDialect().str());
    return names;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  OpBuilder builder{&context};
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler{&context, [this](Diagnostic &diagnostic) {
                                    errors.push_back(diagnostic.str());
                                    return success();
                                  }};
};

TEST_F(GraphBuilderTest, BuildsWhatVerifies) {
  GraphBuilder g(builder, builder.getUnknownLoc());
  Value x = g.widen(getArgument(0));
  SmallVector<DimAttr> dims = getDims(g.typeOf(x));
  Value centred = g.emit<SubOp>(x, g.broadcastAlong(g.mean(x, int64_t(1)), dims, int64_t(1)));
  Value values[] = {centred, g.cast(getArgument(1), builder.getF32Type())};
  g.broadcastTogether(values);
  Value sum = g.emit<AddOp>(values[0], values[1]);
  EXPECT_EQ(getDim(g.typeOf(sum), 1), parseDim("broadcast(n, m)"));
  g.require(ConstraintKind::at_least, parseDim("n"), parseDim("1"));
  g.slice(g.transpose(sum, {1, 0}), {g.dim(1), g.dim(0)}, {g.dim(1), g.dim(2)}, {1, 1});
  EXPECT_FALSE(g.hasRefused());
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_THAT(getOps(), ElementsAre("cast", "reduce", "dim_value", "cast", "broadcast", "div", "broadcast", "sub",
                                    "cast", "broadcast", "broadcast", "add", "constraint", "transpose", "slice"));
}

TEST_F(GraphBuilderTest, MakesNoOpThatDoesNothing) {
  GraphBuilder g(builder, builder.getUnknownLoc());
  Value x = getArgument(0);
  SmallVector<DimAttr> dims = getDims(g.typeOf(x));
  EXPECT_EQ(g.cast(x, builder.getF16Type()), x);
  EXPECT_EQ(g.reshape(x, dims), x);
  EXPECT_EQ(g.transpose(x, {0, 1}), x);
  EXPECT_EQ(g.slice(x, {g.dim(0), g.dim(0)}, dims, {1, 1}), x);
  EXPECT_EQ(g.broadcast(x, dims), x);
  EXPECT_EQ(g.reduce(ReduceKind::sum, x, {}), x);
  g.require(ConstraintKind::equal, dims[1], dims[1]);
  EXPECT_THAT(getOps(), IsEmpty());
}

TEST_F(GraphBuilderTest, SaysWhyItRefusesAndGoesOnWithNull) {
  GraphBuilder g(builder, builder.getUnknownLoc());
  Value sum = g.emit<AddOp>(getArgument(0), getArgument(1));
  EXPECT_TRUE(g.hasRefused());
  EXPECT_THAT(errors, ElementsAre("expects operands of one shape: 'tensor<2x?xf16, #vx.enc<[2, n]>>', got "
                                  "'tensor<?xf16, #vx.enc<[m]>>'"));
  // Nobody asks before the end.
  DimAttr dims[] = {g.dim(3), g.dim(2), parseDim("n")};
  Value values[] = {sum, getArgument(0)};
  g.broadcastTogether(values);
  for (Value value :
       {sum, g.emit<ExpOp>(sum), g.emitAs<ExpOp>(getArgument(0).getType(), sum), g.widen(sum), g.splatLike(1, sum),
        g.cast(sum, builder.getF32Type()), g.reshape(sum, dims), g.transpose(sum, {1, 0}), g.broadcast(sum, dims),
        g.broadcastAlong(sum, dims, int64_t(0)), g.slice(sum, dims, dims, {1, 1, 1}),
        g.reduce(ReduceKind::max, sum, int64_t(0)), g.mean(sum, int64_t(0)), values[0]})
    EXPECT_FALSE(value);
  EXPECT_EQ(errors.size(), 1u);
  EXPECT_THAT(getOps(), IsEmpty());
}

TEST_F(GraphBuilderTest, RefusesWhatNoGraphCanHold) {
  GraphBuilder g(builder, builder.getUnknownLoc());
  Value x = getArgument(0);
  EXPECT_FALSE(g.reshape(x, {g.dim(-1)}));
  EXPECT_TRUE(g.hasRefused());
  EXPECT_FALSE(g.typeOf(getArgument(2)));
  EXPECT_FALSE(g.broadcast(x, g.dim(2)));
  EXPECT_FALSE(g.emitScalar(300, builder.getIntegerType(8)));
  EXPECT_FALSE(g.emitScalar(0, StringType::get(&context)));
  g.broadcastShapes(g.dim(2), g.dim(3));
  g.require(ConstraintKind::equal, g.dim(2), g.dim(3));
  // An op that its own rules refuse is gone.
  EXPECT_FALSE(g.reshape(x, {g.dim(1), parseDim("2 * n + 1")}));
  EXPECT_THAT(errors, ElementsAre("expects sizes of at least 0, got -1 as dimension 0",
                                  "expects a tensor, got 'sequence of f32[4]'",
                                  "expects a shape that broadcasts to 1 dimensions, got 'f16[2,n]'",
                                  "expects a number that 'i8' can hold, got 300.000000",
                                  "expects numbers or bools, got 'string'",
                                  "expects shapes that broadcast together, got the sizes 2 and 3",
                                  "needs sizes '2' and '3' equal, got 2 and 3",
                                  testing::HasSubstr("'vx.reshape' op expects as many elements as 'input' has")));
  EXPECT_THAT(getOps(), IsEmpty());
}

// A frontend takes refusals its own way.
struct RecordingBuilder : GraphBuilder {
  using GraphBuilder::GraphBuilder;
  void refuse(Refusal kind, const Twine &message) override { refusals.emplace_back(kind, message.str()); }
  bool checkSizes(ArrayRef<DimAttr> dims) override {
    if (dims.size() <= 2)
      return true;
    refuse(Refusal::Unsupported, "too many");
    return false;
  }
  std::vector<std::pair<Refusal, std::string>> refusals;
};

TEST_F(GraphBuilderTest, RefusalsAndSizesAreForOverridesToTake) {
  RecordingBuilder g(builder, builder.getUnknownLoc());
  EXPECT_FALSE(g.reshape(getArgument(0), {g.dim(1), g.dim(2), parseDim("n")}));
  EXPECT_FALSE(g.emitAs<IotaOp>(RankedTensorType::get({1, 2, 3}, builder.getI64Type()), 0));
  EXPECT_FALSE(g.typeOf(getArgument(2)));
  EXPECT_THAT(g.refusals,
              ElementsAre(std::pair(Refusal::Unsupported, "too many"), std::pair(Refusal::Unsupported, "too many"),
                          std::pair(Refusal::Invalid, "expects a tensor, got 'sequence of f32[4]'")));
  EXPECT_THAT(errors, IsEmpty());
}

} // namespace
} // namespace vx

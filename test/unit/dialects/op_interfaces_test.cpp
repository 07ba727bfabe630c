// What ops say of themselves by interfaces: of each that has one, what it says is what the op does.
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace vx;

namespace {

class OpInterfacesTest : public testing::Test {
protected:
  void SetUp() override { context.loadDialect<VXDialect, func::FuncDialect>(); }

  /// The one op of `Interface` among `body`'s.
  template <typename Interface>
  Interface parse(const std::string &body) {
    module = parseSourceString<ModuleOp>(R"(
      vx.symbol "n"
      func.func @main(%x: tensor<2x3x?x5xf32, #vx.enc<[2, 3, n, 5]>>, %row: tensor<?x5xf32, #vx.enc<[n, 5]>>, %last: tensor<5xf32>,
                      %i: tensor<7x2xi64>, %j: tensor<4xi32>) { )" +
                                             body + " return }",
                                         ParserConfig(&context));
    EXPECT_TRUE(module && succeeded(verify(*module)));
    Interface found;
    if (module)
      module->walk([&](Interface op) { found = op; });
    EXPECT_TRUE(found);
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

using Axes = SmallVector<int64_t>;

// Where rows are kept the result has the operand's dims, else those that are not the row's: the ops' inference says so,
// too.
TEST_F(OpInterfacesTest, Rows) {
  struct Case {
    const char *name, *body;
    Axes axes;
    bool keeps, places;
  };
  std::map<std::string, bool> tested;
  for (const Case &test : {
           Case{"vx.reduce",
                "%0 = vx.reduce sum %x axes = [0, 2] : tensor<2x3x?x5xf32, #vx.enc<[2, 3, n, 5]>>",
                {0, 2},
                false,
                false},
           Case{"vx.arg_reduce",
                "%0 = vx.arg_reduce max %x axis = 1 : tensor<2x3x?x5xf32, #vx.enc<[2, 3, n, 5]>>",
                {1},
                false,
                true},
           Case{"vx.softmax",
                "%0 = vx.softmax %x axis = 2 : tensor<2x3x?x5xf32, #vx.enc<[2, 3, n, 5]>>",
                {2},
                true,
                false},
           Case{"vx.layer_norm",
                "%0 = vx.layer_norm %x, %row, %row axis = 2 epsilon = 1.0e-5 : tensor<2x3x?x5xf32, #vx.enc<[2, 3, n, "
                "5]>>, "
                "tensor<?x5xf32, #vx.enc<[n, 5]>>, tensor<?x5xf32, #vx.enc<[n, 5]>>",
                {2, 3},
                true,
                false},
           Case{"vx.rms_norm",
                "%0 = vx.rms_norm %x, %last, epsilon = 1.0e-5 : tensor<2x3x?x5xf32, #vx.enc<[2, 3, n, 5]>>, "
                "tensor<5xf32>",
                {3},
                true,
                false},
       }) {
    auto rows = parse<RowsOpInterface>(test.body);
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->getName().getStringRef(), test.name);
    EXPECT_EQ(rows.getRowAxes(), test.axes) << test.name;
    EXPECT_EQ(rows.keepsRows(), test.keeps) << test.name;
    EXPECT_EQ(rows.carriesPlaces(), test.places) << test.name;
    SmallVector<DimAttr> dims = getDims(cast<RankedTensorType>(rows->getOperand(0).getType())), left;
    for (auto [d, dim] : llvm::enumerate(dims))
      if (rows.keepsRows() || !llvm::is_contained(rows.getRowAxes(), static_cast<int64_t>(d)))
        left.push_back(dim);
    EXPECT_EQ(getDims(cast<RankedTensorType>(rows->getResult(0).getType())), left) << test.name;
    tested[test.name] = true;
  }
  for (RegisteredOperationName op : context.getRegisteredOperationsByDialect("vx"))
    if (op.hasInterface<RowsOpInterface>())
      EXPECT_TRUE(tested[op.getStringRef().str()]) << op.getStringRef().str() << " has no case here";
}

TEST_F(OpInterfacesTest, IndexedSizes) {
  auto number = [&](int64_t value) { return DimAttr::constant(&context, value); };
  using Sizes = SmallVector<DimAttr>;
  auto gather = parse<IndexingOpInterface>(
      "%0 = vx.gather %x, %j axis = 1 : tensor<2x3x?x5xf32, #vx.enc<[2, 3, n, 5]>>, tensor<4xi32>");
  EXPECT_EQ(gather.getIndexedSizes(0), Sizes());
  EXPECT_EQ(gather.getIndexedSizes(1), Sizes{number(3)});
  auto tuples = parse<IndexingOpInterface>(
      "%0 = vx.gather %x, %i axis = 1 members = 2 : tensor<2x3x?x5xf32, #vx.enc<[2, 3, n, 5]>>, tensor<7x2xi64>");
  EXPECT_EQ(tuples.getIndexedSizes(1), (Sizes{number(3), DimAttr::symbolNamed(&context, "n")}));
  auto check = parse<IndexingOpInterface>("%0 = vx.check_indices %i below [#vx.dim<n>, #vx.dim<8>] : tensor<7x2xi64>");
  EXPECT_EQ(check.getIndexedSizes(0), (Sizes{DimAttr::symbolNamed(&context, "n"), number(8)}));
}

} // namespace

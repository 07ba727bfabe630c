// Every op of the dialect says what it relies on: none takes two sizes for equal, or one for large enough, unsaid.
#include "vx/Dialect/VX/IR/Constraints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace vx;

namespace {

struct Case {
  const char *op;
  const char *body; // one op of that name, over values of the sizes k, l, m and n
  std::vector<std::string> wants;
};

constexpr const char *prelude = R"(
  vx.symbol "k"
  vx.symbol "l"
  vx.symbol "m"
  vx.symbol "n"
  vx.symbol data_dependent "i"
  vx.symbol data_dependent "d"
  vx.variable @state : tensor<4xf32>
  func.func @main(%n: !n, %m: !m, %bools: tensor<?xi1, #vx.enc<[n]>>, %indices: tensor<?xi64, #vx.enc<[m]>>, %kl: !kl, %mn: !mn,
                  %image: tensor<?x?x?xf32, #vx.enc<[l, m, n]>>, %filter: tensor<?x?x?xf32, #vx.enc<[k, l, m]>>,
                  %four: tensor<?x?x?x?xf32, #vx.enc<[k, l, m, n]>>, %other: tensor<?x?x?x?xf32, #vx.enc<[n, m, l, k]>>,
                  %mask: tensor<?x1x1x?xi1, #vx.enc<[m, 1, 1, l]>>, %sequence: !vx.sequence<!n>, %place: tensor<i64>, %l: !l,
                  %condition: tensor<i1>, %zero: tensor<f32>, %bytes: tensor<?x34xui8, #vx.enc<[n, 34]>>) {
)";
constexpr const char *aliases = R"(
  !n = tensor<?xf32, #vx.enc<[n]>>
  !m = tensor<?xf32, #vx.enc<[m]>>
  !l = tensor<?xf32, #vx.enc<[l]>>
  !kl = tensor<?x?xf32, #vx.enc<[k, l]>>
  !mn = tensor<?x?xf32, #vx.enc<[m, n]>>
)";

std::string equal(const std::string &lhs, const std::string &rhs) {
  return "sizes '" + lhs + "' and '" + rhs + "' equal";
}
std::string atLeast(const std::string &lhs, const std::string &rhs) {
  return "size '" + lhs + "' to be at least '" + rhs + "'";
}

const std::vector<Case> cases = {
    {"constant", "%0 = vx.constant dense<1.0> : tensor<4xf32>", {}},
    {"iota", "%0 = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n - m]>>", {atLeast("m * -1 + n", "0")}},
    {"random_bits",
     "%0 = vx.random_bits %place number = 1 : tensor<?xui32, #vx.enc<[n - m]>>",
     {atLeast("m * -1 + n", "0")}},
    {"dropout", "%0, %1 = vx.dropout %n key(%place) ratio = 0.5 : !n", {}},
    {"batch_norm",
     "%0:3 = vx.batch_norm %kl, %n, %m, %l, %l epsilon = 0.1 momentum = 0.9 of_batch : !kl, !n, !m, !l, !l",
     {equal("l", "n"), equal("l", "m")}},
    {"dim_value", "%0 = vx.dim_value <n - m>", {}},
    {"reshape", "%0 = vx.reshape %n : !n -> !m", {equal("n", "m")}},
    {"reshape",
     "%0 = vx.reshape %n : !n -> tensor<?x4xf32, #vx.enc<[floordiv(n, 4), 4]>>",
     {"size 'n' to be a multiple of '4'"}},
    {"transpose",
     "%0 = \"vx.transpose\"(%kl) <{permutation = array<i64: 1, 0>}> : (!kl) -> !mn",
     {equal("l", "m"), equal("k", "n")}},
    {"pack",
     "%0 = \"vx.pack\"(%n) <{dim = 0, tile = 8, permutation = array<i64: 0>}> : (!n) -> tensor<?x8xf32, #vx.enc<[m, "
     "8]>>",
     {equal("ceildiv(n, 8)", "m")}},
    {"decode_blocks",
     "%0 = \"vx.decode_blocks\"(%bytes) <{format = 4 : i32}> : (tensor<?x34xui8, #vx.enc<[n, 34]>>) -> "
     "tensor<?x32xf32, #vx.enc<[m, 32]>>",
     {equal("n", "m")}},
    {"unpack",
     "%0 = vx.unpack %mn8 dim = 0 permutation = [0] : tensor<?x8xf32, #vx.enc<[m, 8]>> -> !n",
     {equal("m", "ceildiv(n, 8)")}},
    {"broadcast", "%0 = vx.broadcast %n, [0] : !n -> !m", {"size 'n' to be 1 or 'm'"}},
    {"broadcast",
     "%0 = vx.broadcast %n, [0] : !n -> tensor<?xf32, #vx.enc<[broadcast(m, n)]>>",
     {"sizes 'm' and 'n' equal or one of them 1"}},
    {"slice", "%0 = vx.slice %n starts [#vx.dim<k>] strides [2] : !n -> !m", {atLeast("n", "k + m * 2 - 1")}},
    {"slice",
     "%0 = vx.slice %n starts [#vx.dim<k>] strides [-1] : !n -> !m",
     {atLeast("n", "m"), atLeast("max(1, n)", "k + 1"), atLeast("k - m + 1", "0")}},
    {"concat", "%0 = vx.concat axis = 1(%kl, %mn) : !kl, !mn", {equal("k", "m")}},
    {"pad", "%0 = vx.pad %n, %zero low [#vx.dim<0>] high [#vx.dim<-2>] : !n, tensor<f32>", {atLeast("n - 2", "0")}},
    {"contract",
     "%0 = vx.contract %kl, %mn batch = [0] x [0] contracting = [1] x [1] : !kl, !mn",
     {equal("k", "m"), equal("l", "n")}},
    {"conv",
     "%0 = vx.conv %image, %filter strides = [1] dilations = [1] pads = [0] x [0] groups = 2 : "
     "tensor<?x?x?xf32, #vx.enc<[l, m, n]>>, tensor<?x?x?xf32, #vx.enc<[k, l, m]>>",
     {equal("m", "l * 2"), "size 'k' to be a multiple of '2'", atLeast("n", "m")}},
    {"conv_filter",
     "%0 = vx.conv_filter %image, %filter kernel [#vx.dim<k - 1>] strides = [1] dilations = [1] pads = [0] groups = 2 "
     ": tensor<?x?x?xf32, #vx.enc<[l, m, n]>>, tensor<?x?x?xf32, #vx.enc<[k, l, m]>>",
     {atLeast("k - 1", "0"), "size 'm' to be a multiple of '2'", "size 'l' to be a multiple of '2'", equal("l", "k")}},
    {"reduce", "%0 = \"vx.reduce\"(%kl) <{kind = 0 : i32, axes = array<i64: 0>}> : (!kl) -> !n", {equal("l", "n")}},
    {"arg_reduce", "%0 = vx.arg_reduce max %kl axis = 1 : !kl", {atLeast("l", "1")}},
    {"reduce_window",
     "%0 = vx.reduce_window max %n window = [3] strides = [1] dilations = [1] pads = [0] x [0] : !n",
     {atLeast("n", "3")}},
    {"softmax", "%0 = \"vx.softmax\"(%n) <{axis = 0}> : (!n) -> !m", {equal("n", "m")}},
    {"layer_norm",
     "%0 = vx.layer_norm %kl, %n, %m axis = 1 epsilon = 0.1 : !kl, !n, !m",
     {equal("n", "l"), equal("m", "l")}},
    {"rms_norm", "%0 = vx.rms_norm %kl, %n, epsilon = 0.1 : !kl, !n", {equal("n", "l")}},
    {"attention",
     "%0 = vx.attention %four, %other, %other mask(%mask : tensor<?x1x1x?xi1, #vx.enc<[m, 1, 1, l]>>) scale = 1.0 dims "
     "= [0, 1, 2, 3] x "
     "[0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : tensor<?x?x?x?xf32, #vx.enc<[k, l, m, n]>>, tensor<?x?x?x?xf32, "
     "#vx.enc<[n, m, l, "
     "k]>>, tensor<?x?x?x?xf32, #vx.enc<[n, m, l, k]>> -> tensor<?x?x?x?xf32, #vx.enc<[k, l, m, k]>>",
     {equal("k", "n"), equal("n", "k"), "size 'l' to be a multiple of 'm'", equal("m", "k")}},
    {"gather",
     "%0 = \"vx.gather\"(%n, %indices) <{axis = 0}> : (!n, tensor<?xi64, #vx.enc<[m]>>) -> !n",
     {equal("m", "n")}},
    {"check_indices",
     "%0 = vx.check_indices %indices below [#vx.dim<k>, #vx.dim<l>] : tensor<?xi64, #vx.enc<[m]>>",
     {equal("m", "2")}},
    {"check_indices", "%0 = vx.check_indices %indices below [#vx.dim<k>] : tensor<?xi64, #vx.enc<[m]>>", {}},
    {"scatter",
     "%0 = vx.scatter set %kl, %indices, %n axes = [0] : !kl, tensor<?xi64, #vx.enc<[m]>>, !n",
     {equal("m", "1"), equal("n", "l")}},
    {"update_slice",
     "%0 = vx.update_slice %kl, %indices, %mn axes = [0] : !kl, tensor<?xi64, #vx.enc<[m]>>, !mn",
     {equal("m", "1"), atLeast("k", "m"), atLeast("l", "n")}},
    {"count_nonzero", "%0 = vx.count_nonzero %n : !n", {}},
    {"nonzero", "%0 = vx.nonzero %n : !n -> tensor<?x?xi64, #vx.enc<[k, d]>>", {equal("k", "1")}},
    {"bind_symbol", "vx.bind_symbol \"d\" = %place", {}},
    {"constraint", "vx.constraint equal <n>, <m> \"what is stated already\"", {}},
    {"if", "%0 = vx.if %condition -> tensor<?xf32, #vx.enc<[d]>> { vx.yield %n : !n } else { vx.yield %m : !m }", {}},
    {"yield", "%0 = vx.if %condition -> !m { vx.yield %n : !n } else { vx.yield %m : !m }", {equal("n", "m")}},
    {"loop",
     "%0 = vx.loop \"i\" trip_count(%place) inits(%n : !n) -> !m { ^bb0(%a: tensor<?xf32, #vx.enc<[d]>>): vx.yield "
     "%condition, %a : "
     "tensor<i1>, tensor<?xf32, #vx.enc<[d]>> }",
     {equal("n", "m")}},
    {"yield",
     "%0 = vx.loop \"i\" trip_count(%place) inits(%n : !n) -> !n { ^bb0(%a: !n): vx.yield %condition, %m : tensor<i1>, "
     "!m }",
     {equal("m", "n")}},
    {"variable_load", "%0 = vx.variable_load @state : !n", {equal("n", "4")}},
    {"variable_store", "vx.variable_store %n, @state : !n", {equal("n", "4")}},
    {"sequence_construct", "%0 = vx.sequence_construct %m : (!m) -> !vx.sequence<!n>", {equal("n", "m")}},
    {"sequence_insert",
     "%0 = vx.sequence_insert %sequence, %m : !vx.sequence<!n>, !m -> !vx.sequence<!n>",
     {equal("n", "m")}},
    // The program compares the sizes of what it takes out itself.
    {"cumulative_sum", "%0 = vx.cumulative_sum %image : tensor<?x?x?xf32, #vx.enc<[l, m, n]>>", {}},
    {"top_places", "%0 = vx.top_places %mn count = 3 : !mn", {atLeast("n", "3")}},
    {"select_boxes",
     "%0 = vx.select_boxes %image, %filter overlap(%zero) least(%zero) : tensor<?x?x?xf32, #vx.enc<[l, m, n]>>, "
     "tensor<?x?x?xf32, #vx.enc<[k, l, m]>> -> tensor<?x?x?xi64, #vx.enc<[m, n, d]>>",
     {equal("l", "k"), equal("n", "4"), equal("k", "m"), equal("l", "n")}},
    {"paged_attention",
     "%q = vx.iota axis = 0 : tensor<?x4x8xf32, #vx.enc<[k, 4, 8]>>\n"
     "%p = vx.iota axis = 0 : tensor<?x2x32x8xf32, #vx.enc<[l, 2, 32, 8]>>\n"
     "%t = vx.iota axis = 0 : tensor<?x3xi64, #vx.enc<[k, 3]>>\n"
     "%s = vx.iota axis = 0 : tensor<?xi64, #vx.enc<[n]>>\n"
     "%0 = vx.paged_attention %q, %p, %p table(%t) starts(%s) lengths(%indices) scale = 1.0 : "
     "tensor<?x4x8xf32, #vx.enc<[k, 4, 8]>>, tensor<?x2x32x8xf32, #vx.enc<[l, 2, 32, 8]>>, "
     "tensor<?x3xi64, #vx.enc<[k, 3]>>, tensor<?xi64, #vx.enc<[n]>>, tensor<?xi64, #vx.enc<[m]>>",
     {equal("k", "m"), equal("n", "m + 1")}},
    {"merge_runs",
     "%p = vx.iota axis = 0 : tensor<?x?xi64, #vx.enc<[k, l]>>\n"
     "%0 = vx.merge_runs %image, %p level(%place) : tensor<?x?x?xf32, #vx.enc<[l, m, n]>>, tensor<?x?xi64, #vx.enc<[k, "
     "l]>>",
     {equal("l", "k"), equal("m", "l")}},
    {"host_function", "%0 = vx.host_function string_format(%n) : (!n) -> tensor<?x!vx.string, #vx.enc<[n]>>", {}},
    {"sequence_at", "%0 = vx.sequence_at %sequence, %place : !vx.sequence<!n> -> !m", {}},
    {"sequence_erase", "%0 = vx.sequence_erase %sequence : !vx.sequence<!n>", {}},
    {"sequence_length", "%0 = vx.sequence_length %sequence : !vx.sequence<!n>", {}},
    {"optional", "%0 = vx.optional %m : !m -> !vx.optional<!m>", {}},
    {"optional_value",
     "%o = vx.optional %sequence : !vx.sequence<!n> -> !vx.optional<!vx.sequence<!n>>\n"
     "%0 = vx.optional_value %o : !vx.optional<!vx.sequence<!n>> -> !vx.sequence<!n>",
     {}},
    {"gradient", "%0 = vx.gradient %n wrt(%zero : tensor<f32>) seed(%m : !m) : !n", {equal("m", "n")}},
    {"watch", "%0 = vx.watch %n : !n", {}},
    {"stop_gradient", "%0 = vx.stop_gradient %n : !n", {}},
    // Elementwise ops: their trait stands for all of them.
    {"exp", "%0 = \"vx.exp\"(%n) : (!n) -> !m", {equal("n", "m")}},
    {"add", "%0 = vx.add %n, %m : !n, !m", {equal("n", "m")}},
    {"compare", "%0 = vx.compare lt %n, %m : !n, !m", {equal("n", "m")}},
    {"select", "%0 = vx.select %bools, %m, %m : tensor<?xi1, #vx.enc<[n]>>, !m, !m", {equal("n", "m")}},
    {"cast", "%0 = vx.cast %n : !n -> tensor<?xf64, #vx.enc<[m]>>", {equal("n", "m")}},
};

std::vector<std::string> collectWants(const Case &one) {
  MLIRContext context;
  context.loadDialect<VXDialect, func::FuncDialect>();
  std::string signature = prelude;
  if (std::string(one.op) == "unpack")
    signature.insert(signature.find("%zero"), "%mn8: tensor<?x8xf32, #vx.enc<[m, 8]>>, ");
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(aliases + signature + one.body + "\n return }", ParserConfig(&context));
  if (!module)
    return {"no module"};
  SymbolRanges ranges(*module);
  llvm::StringMap<Operation *> binders = findSymbolBinders(module->lookupSymbol<func::FuncOp>("main"), ranges);
  std::vector<std::string> wants;
  module->walk([&](Operation *op) {
    if (op->getName().getStringRef() != "vx." + std::string(one.op))
      return;
    collectConstraints(op, binders, [&](const Constraint &constraint) {
      std::string want = describeWant(constraint);
      if (decide(constraint, ranges) != true && !llvm::is_contained(wants, want))
        wants.push_back(want);
    });
  });
  return wants;
}

TEST(ConstraintsTest, OpsSayWhatTheyRelyOn) {
  for (const Case &one : cases)
    EXPECT_THAT(collectWants(one), testing::ElementsAreArray(one.wants)) << one.body;
}

TEST(ConstraintsTest, NoOpIsForgotten) {
  MLIRContext context;
  context.loadDialect<VXDialect, func::FuncDialect>();
  std::set<std::string> covered;
  for (const Case &one : cases)
    covered.insert("vx." + std::string(one.op));
  // Declarations, what is made from ops that said it, and what gives way to ops that say it.
  for (const char *op :
       {"vx.symbol", "vx.variable", "vx.fusion", "vx.kernel", "vx.dispatch", "vx.call", "vx.custom_gradient"})
    covered.insert(op);
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "vx" && !name.hasTrait<vx::OpTrait::Elementwise>())
      EXPECT_EQ(covered.count(name.getStringRef().str()), 1u) << name.getStringRef().str();
}

TEST(ConstraintsTest, DecidesByRangesAndMultiples) {
  MLIRContext context;
  context.loadDialect<VXDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "vx.symbol \"n\" min = 2 max = 8 multiple = 2\nvx.symbol \"m\"\n", ParserConfig(&context));
  SymbolRanges ranges(*module);
  auto decided = [&](ConstraintKind kind, const char *lhs, const char *rhs) {
    return decide({kind, DimAttr::fromString(&context, lhs), DimAttr::fromString(&context, rhs)}, ranges);
  };
  EXPECT_EQ(decided(ConstraintKind::equal, "n", "m"), std::nullopt);
  EXPECT_EQ(decided(ConstraintKind::equal, "n", "9"), false);
  EXPECT_EQ(decided(ConstraintKind::equal, "m * 2", "m * 2 + 2"), false);
  EXPECT_EQ(decided(ConstraintKind::equal, "floordiv(n, 2) * 2", "n"), true);
  EXPECT_EQ(decided(ConstraintKind::equal, "floordiv(m, 2) * 2", "m"), std::nullopt);
  EXPECT_EQ(decided(ConstraintKind::equal, "max(n, m) + min(n, m)", "n + m"), std::nullopt); // true, but not found
  EXPECT_EQ(decided(ConstraintKind::at_least, "n", "2"), true);
  EXPECT_EQ(decided(ConstraintKind::at_least, "n", "3"), std::nullopt);
  EXPECT_EQ(decided(ConstraintKind::at_least, "8 - n", "0"), true);
  EXPECT_EQ(decided(ConstraintKind::at_least, "m", "max(m - 5, 0) + min(m, 5)"), true);
  EXPECT_EQ(decided(ConstraintKind::at_least, "m", "ceildiv(m, 2) * 2 - 1"), true);
  EXPECT_EQ(decided(ConstraintKind::at_least, "m", "ceildiv(m, 2) * 2"), std::nullopt);
  EXPECT_EQ(decided(ConstraintKind::at_least, "n", "12"), false);
  EXPECT_EQ(decided(ConstraintKind::multiple, "n * m", "2"), true);
  EXPECT_EQ(decided(ConstraintKind::multiple, "m", "2"), std::nullopt);
  EXPECT_EQ(decided(ConstraintKind::multiple, "5", "0"), false);
  EXPECT_EQ(decided(ConstraintKind::broadcast, "n", "m"), std::nullopt);
  EXPECT_EQ(decided(ConstraintKind::broadcast, "n", "9"), false);
  EXPECT_EQ(decided(ConstraintKind::repeat, "m", "9"), std::nullopt);
  EXPECT_EQ(decided(ConstraintKind::repeat, "1", "m"), true);
  EXPECT_EQ(decided(ConstraintKind::differ, "m", "m"), false);
  EXPECT_EQ(decided(ConstraintKind::differ, "m + 1", "m"), true);
  EXPECT_EQ(decided(ConstraintKind::differ, "m", "9"), std::nullopt);
}

} // namespace

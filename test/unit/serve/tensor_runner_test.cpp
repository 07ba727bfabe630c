// Runs that are to have the same bits whoever else is in them: how many rows they have.
#include "tensor_runner.h"

#include "embedding_module.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>

namespace {

using namespace vx::serve;
using testing::HasSubstr;

struct Source : InstanceSource {
  explicit Source(const vx::Module &module) : instance(module, {.device = "cpu", .threads = 1}) {}
  vx::Instance current() const override { return instance; }
  std::string deviceName() const override { return "cpu:0"; }
  std::optional<vx::Instance> replace(const vx::Instance &, const std::string &) override { return std::nullopt; }
  const vx::Instance instance;
};

class TensorRunnerTest : public testing::Test {
protected:
  // The facts are those that an analysis would have of it.
  FunctionFacts facts(std::string_view name) const {
    FunctionFacts result;
    for (const vx_function_info &function : module.functions())
      if (function.name == name)
        result.function = &function;
    result.rows = {.canJoin = true,
                   .most = 64,
                   .inputs = {true, true},
                   .outputs = {RowFacts::Output::rows, RowFacts::Output::rows}};
    return result;
  }

  // The bytes of both outputs of a request with so many texts, which are the first ones of what all begin with.
  std::string run(TensorRunner &runner, size_t rows, const RowFacts &about) {
    const std::array<int64_t, 2> dims = {static_cast<int64_t>(rows), 3};
    std::vector<int32_t> ids, mask(rows * 3, 1);
    for (size_t i = 0; i < rows * 3; ++i)
      ids.push_back(static_cast<int32_t>(5 + i * 7 % 26));
    std::vector<vx::Value> inputs = {vx::Value::raw(VX_I32, dims, ids.data(), ids.size() * 4),
                                     vx::Value::raw(VX_I32, dims, mask.data(), mask.size() * 4)};
    std::string bytes, failure;
    const auto job = std::make_shared<TensorJob>(
        std::move(inputs),
        [&](const std::vector<vx::Value> &outputs) {
          for (const vx::Value &output : outputs)
            bytes.append(reinterpret_cast<const char *>(output.bytes().data()), 16); // of the first text
        },
        [&](const ServiceError &error) { failure = error.what(); });
    describeJob(*job, about);
    const std::array<std::shared_ptr<BatchJob>, 1> jobs = {job};
    runner.run(jobs);
    EXPECT_EQ(failure, "");
    return bytes;
  }

  const vx::Module module{vx::test::writeEmbeddingModule("tensor_runner.vxm")};
  Source source{module};
  Metrics metrics;
};

TEST_F(TensorRunnerTest, fewRowsRunWhereTheirBitsAreThoseOfMany) {
  const FunctionFacts about = facts("embed_mean");
  TensorRunner runner(source, about, 16, metrics, "m");
  const std::string alone = run(runner, 1, about.rows);
  EXPECT_EQ(run(runner, 3, about.rows), alone);
  EXPECT_EQ(run(runner, 16, about.rows), alone);
  EXPECT_THAT(metrics.text({}), HasSubstr("vx_filled_rows_total{model=\"m\"} 1\n")); // three of four
}

TEST_F(TensorRunnerTest, allRowsRunWhereFewerHaveOtherBits) {
  const FunctionFacts about = facts("count_texts");
  TensorRunner runner(source, about, 16, metrics, "m");
  const std::string alone = run(runner, 1, about.rows);
  EXPECT_EQ(run(runner, 3, about.rows), alone);
  EXPECT_EQ(run(runner, 16, about.rows), alone);
  EXPECT_THAT(metrics.text({}), HasSubstr("vx_filled_rows_total{model=\"m\"} 28\n"));
}

// Without a fixed number of rows that function answers otherwise, so that the test above can fail.
TEST_F(TensorRunnerTest, otherwiseRunsHaveTheirOwnRows) {
  const FunctionFacts about = facts("count_texts");
  TensorRunner runner(source, about, 0, metrics, "m");
  EXPECT_NE(run(runner, 1, about.rows), run(runner, 3, about.rows));
}

} // namespace

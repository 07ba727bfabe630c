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

// Two jobs with a text each, whose tensors read bytes that a test overwrites.
class JoinedJobsTest : public TensorRunnerTest {
protected:
  static constexpr int64_t length = 1024;
  struct Text {
    std::vector<int32_t> ids = std::vector<int32_t>(length), mask = std::vector<int32_t>(length, 1);
    std::shared_ptr<TensorJob> job;
    std::string bytes, failure;
  };

  void SetUp() override {
    for (int32_t i = 0; i < 2; ++i) {
      Text &text = texts[static_cast<size_t>(i)];
      fill(text, 5 + i);
      const std::array<int64_t, 2> dims = {1, length};
      text.job = std::make_shared<TensorJob>(
          std::vector<vx::Value>{vx::Value::wrap(VX_I32, dims, text.ids.data(), length * 4),
                                 vx::Value::wrap(VX_I32, dims, text.mask.data(), length * 4)},
          [&text](const std::vector<vx::Value> &outputs) {
            text.bytes.assign(reinterpret_cast<const char *>(outputs[0].bytes().data()), outputs[0].bytes().size());
          },
          [&text](const ServiceError &error) { text.failure = error.what(); });
      describeJob(*text.job, about.rows);
    }
    ASSERT_EQ(texts[0].job->key, texts[1].job->key);
  }
  static void fill(Text &text, int32_t first) {
    for (size_t i = 0; i < text.ids.size(); ++i)
      text.ids[i] = first + static_cast<int32_t>(i) % 20;
  }
  // The embedding of a text by itself.
  std::string alone(int32_t first) {
    Text text;
    fill(text, first);
    const std::array<int64_t, 2> dims = {1, length};
    vx::Call call(source.instance, *about.function);
    const std::vector<vx::Value> outputs =
        call.run(std::vector<vx::Value>{vx::Value::raw(VX_I32, dims, text.ids.data(), length * 4),
                                        vx::Value::raw(VX_I32, dims, text.mask.data(), length * 4)});
    return {reinterpret_cast<const char *>(outputs[0].bytes().data()), outputs[0].bytes().size()};
  }
  void run(TensorRunner &runner, size_t first, size_t second) {
    const std::array<std::shared_ptr<BatchJob>, 2> jobs = {texts[first].job, texts[second].job};
    runner.run(jobs);
    EXPECT_EQ(texts[0].failure + texts[1].failure, "");
  }
  // Places both, copies their rows, and changes their own bytes then.
  void join() {
    ASSERT_TRUE(joiner.place(*texts[0].job, *texts[1].job, 8));
    joiner.join(*texts[1].job);
    fill(texts[0], 15);
    fill(texts[1], 16);
  }

  const FunctionFacts about = facts("embed_mean");
  RowJoiner joiner{{true, true}, [this](size_t size) { return source.instance.hostMemory(size); }};
  std::array<Text, 2> texts;
};

TEST_F(JoinedJobsTest, rowsThatWereJoinedAheadAreUsed) {
  for (const size_t fixedRows : {0u, 4u}) {
    SetUp();
    TensorRunner runner(source, about, fixedRows, metrics, "m");
    join();
    run(runner, 0, 1);
    EXPECT_EQ(texts[0].bytes, alone(5));
    EXPECT_EQ(texts[1].bytes, alone(6));
  }
}

// A client has gone meanwhile, or a batch has other jobs: rows are joined as without a place.
TEST_F(JoinedJobsTest, otherJobsAreJoinedWhenTheyRun) {
  TensorRunner runner(source, about, 0, metrics, "m");
  join();
  run(runner, 1, 0);
  EXPECT_EQ(texts[0].bytes, alone(15));
  EXPECT_EQ(texts[1].bytes, alone(16));
  SetUp();
  join();
  texts[1].job->joined = nullptr;
  run(runner, 0, 1);
  EXPECT_EQ(texts[0].bytes, alone(15));
  EXPECT_EQ(texts[1].bytes, alone(16));
  // One that has the last place in the memory of another batch.
  SetUp();
  join();
  const auto other = std::make_shared<JoinedRows>(texts[0].job->inputs, std::vector<bool>{true, true}, 8,
                                                  [this](size_t size) { return source.instance.hostMemory(size); });
  other->place(texts[0].job->inputs, 1);
  other->place(texts[1].job->inputs, 1);
  texts[1].job->joined = other;
  run(runner, 0, 1);
  EXPECT_EQ(texts[0].bytes, alone(15));
  EXPECT_EQ(texts[1].bytes, alone(16));
  // A third one had a place, and went.
  SetUp();
  join();
  texts[0].job->joined->place(texts[0].job->inputs, 1);
  run(runner, 0, 1);
  EXPECT_EQ(texts[0].bytes, alone(15));
}

TEST_F(JoinedJobsTest, oneThatRunsAloneReadsItsOwnBytes) {
  TensorRunner runner(source, about, 0, metrics, "m");
  join();
  const std::array<std::shared_ptr<BatchJob>, 1> jobs = {texts[1].job};
  runner.run(jobs);
  EXPECT_EQ(texts[1].bytes, alone(16));
}

} // namespace

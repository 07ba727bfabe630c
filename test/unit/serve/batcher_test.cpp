// The batcher that programs use: results are those of calls alone, and each failure has its kind.
#include "vx/serve/batcher.hpp"

#include "embedding_module.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>

namespace {

using namespace std::chrono_literals;
using namespace vx::serve;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::vector<vx::Value> inputsOf(size_t rows, int32_t seed) {
  const std::array<int64_t, 2> dims = {static_cast<int64_t>(rows), 3};
  std::vector<int32_t> ids, mask(rows * 3, 1);
  for (size_t i = 0; i < rows * 3; ++i)
    ids.push_back(5 + (seed + static_cast<int32_t>(i) * 7) % 26);
  return {vx::Value::raw(VX_I32, dims, ids.data(), ids.size() * 4),
          vx::Value::raw(VX_I32, dims, mask.data(), mask.size() * 4)};
}

std::string bytesOf(const std::vector<vx::Value> &values) {
  std::string bytes;
  for (const vx::Value &value : values)
    bytes.append(reinterpret_cast<const char *>(value.bytes().data()), value.bytes().size());
  return bytes;
}

std::string failureOf(const std::function<void()> &function) {
  try {
    function();
    return "none";
  } catch (const BatchError &error) {
    return fmt::format("{}: {}", static_cast<int>(error.kind()), error.what());
  }
}

constexpr int argument = 0, queueFull = 1, deadlineOver = 2, stopped = 3;

class BatcherTest : public testing::Test {
protected:
  static BatcherOptions options() {
    BatcherOptions all;
    all.instance = {.device = "cpu", .threads = 1};
    return all;
  }
  const vx::Module module{vx::test::writeEmbeddingModule("batcher.vxm")};
  const vx::Module slow{vx::test::writeEmbeddingModule("batcher-slow.vxm", {.work = 50'000'000})};
};

TEST_F(BatcherTest, resultsAreThoseOfCallsAlone) {
  const vx::Instance alone(module, {.device = "cpu", .threads = 1});
  const vx_function_info *function = nullptr;
  for (const vx_function_info &each : module.functions())
    if (std::string_view(each.name) == "embed_mean")
      function = &each;
  vx::Call call(alone, *function);
  for (const std::vector<std::string> &devices : {std::vector<std::string>{}, {"cpu", "cpu"}}) {
    BatcherOptions all = options();
    all.devices = devices;
    all.rows = 8;
    Batcher batcher(module, all);
    EXPECT_TRUE(batcher.joins("embed_mean"));
    EXPECT_FALSE(batcher.joins("count_texts"));
    EXPECT_THAT(batcher.functions(), IsSupersetOf({"embed_mean", "embed_cls", "count_texts"}));
    std::vector<std::future<std::vector<vx::Value>>> results;
    size_t rows = 0;
    for (int i = 0; i < 100; ++i) {
      results.push_back(batcher.submit(inputsOf(1 + static_cast<size_t>(i) % 3, i), "embed_mean"));
      rows += 1 + static_cast<size_t>(i) % 3;
    }
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(bytesOf(results[static_cast<size_t>(i)].get()),
                bytesOf(call.run(inputsOf(1 + static_cast<size_t>(i) % 3, i))))
          << i;
    EXPECT_EQ(batcher.device(), devices.empty() ? "cpu:0" : "cpu:0,cpu:0");
    // A batch is counted after its calls are done.
    for (int i = 0; i < 2000 && batcher.counts().rows < rows; ++i)
      std::this_thread::sleep_for(1ms);
    EXPECT_EQ(batcher.counts().rows, rows);
    EXPECT_LT(batcher.counts().batches, 100u);
    EXPECT_EQ(batcher.waiting(), 0u);
  }
}

TEST_F(BatcherTest, deadlinesAndFullQueues) {
  BatcherOptions all = options();
  all.queue = 2;
  auto batcher = std::make_unique<Batcher>(slow, all);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  auto running = batcher->submit(inputsOf(8, 0), "embed_mean");
  while (batcher->waiting() != 0)
    std::this_thread::sleep_for(1ms);
  auto first = batcher->submit(inputsOf(1, 1), "embed_mean", now() + 20ms);
  auto second = batcher->submit(inputsOf(1, 2), "embed_mean");
  EXPECT_EQ(failureOf([&] { (void)batcher->submit(inputsOf(1, 3), "embed_mean"); }),
            fmt::format("{}: 2 requests wait for this model, as many as may", queueFull));
  EXPECT_EQ(failureOf([&] { (void)first.get(); }),
            fmt::format("{}: the request was not done by its deadline", deadlineOver));
  EXPECT_NE(running.wait_for(0s), std::future_status::ready);
  // Calls that wait end with the batcher; one that runs is done.
  batcher.reset();
  EXPECT_EQ(running.get().size(), 2u);
  EXPECT_THAT(failureOf([&] { (void)second.get(); }), HasSubstr(fmt::format("{}: ", stopped)));
}

TEST_F(BatcherTest, wrongCalls) {
  Batcher batcher(module, options());
  EXPECT_EQ(failureOf([&] { (void)batcher.submit({}, "embed_mean"); }),
            fmt::format("{}: 'embed_mean': expected 2 inputs, got 0", argument));
  EXPECT_THAT(failureOf([&] { (void)batcher.submit(std::vector<vx::Value>(2), "embed_mean"); }),
              HasSubstr("expected a value for '"));
  EXPECT_THAT(failureOf([&] { (void)batcher.run(inputsOf(1, 0), "embed_max"); }),
              HasSubstr("serves no function 'embed_max', it has 'embed_mean'"));
  std::vector<vx::Value> odd = inputsOf(2, 0);
  odd[1] = inputsOf(1, 0)[1];
  EXPECT_THAT(failureOf([&] { (void)batcher.run(odd, "embed_mean"); }), HasSubstr(fmt::format("{}: ", argument)));
  EXPECT_EQ(batcher.run(inputsOf(2, 0), "embed_mean").size(), 2u);
  EXPECT_EQ(batcher.run(inputsOf(2, 0)).size(), 2u);
  for (size_t BatcherOptions::*member : {&BatcherOptions::queue, &BatcherOptions::rows}) {
    BatcherOptions all = options();
    all.*member = 0;
    EXPECT_THAT(failureOf([&] { const Batcher none(module, all); }), HasSubstr("': expected 1 or more, got 0"));
  }
  BatcherOptions none = options();
  none.instance = {.device = "vulkan:77", .noFallback = true};
  EXPECT_THROW(Batcher(module, none), vx::Error);
}

} // namespace

// The batcher that programs use: results are those of calls alone, and each failure has its kind.
#include "vx/serve/batcher.hpp"

#include "embedding_module.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include <dlfcn.h>

// That of the runtime, whose calls are counted.
static std::atomic<int> hostAllocations = 0;
vx_status vx_instance_host_alloc(vx_instance *instance, uint64_t size, void **out_data) {
  static const auto runtimes =
      reinterpret_cast<decltype(&vx_instance_host_alloc)>(::dlsym(RTLD_NEXT, "vx_instance_host_alloc"));
  ++hostAllocations;
  return runtimes(instance, size, out_data);
}

namespace {

using namespace std::chrono_literals;
using namespace vx::serve;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::vector<vx::Value> inputsOf(size_t rows, int32_t seed, size_t length = 3) {
  const std::array<int64_t, 2> dims = {static_cast<int64_t>(rows), static_cast<int64_t>(length)};
  std::vector<int32_t> ids, mask(rows * length, 1);
  for (size_t i = 0; i < rows * length; ++i)
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

// Rows of 4 KiB and more are joined by the threads that submit them, while some requests leave the queue.
TEST_F(BatcherTest, longRowsAreThoseOfCallsAlone) {
  constexpr size_t threads = 4, calls = 60, length = 512;
  const vx::Module busy(vx::test::writeEmbeddingModule("batcher-busy.vxm", {.work = 100'000}));
  BatcherOptions all = options();
  all.devices = {"cpu", "cpu"};
  all.rows = 8;
  Batcher batcher(busy, all);
  std::vector<std::vector<std::string>> got(threads);
  std::vector<std::thread> submitting;
  for (size_t t = 0; t < threads; ++t)
    submitting.emplace_back([&, t] {
      std::vector<std::future<std::vector<vx::Value>>> results;
      for (size_t i = 0; i < calls; ++i) {
        const bool isShort = i % 7 == 3;
        const auto deadline = isShort ? std::chrono::steady_clock::now() + 300us : Batcher::Deadline::max();
        results.push_back(
            batcher.submit(inputsOf(1 + i % 3, static_cast<int32_t>(t * calls + i), length), "embed_mean", deadline));
        if (i % 16 == 15)
          results.back().wait();
      }
      for (auto &result : results) {
        try {
          got[t].push_back(bytesOf(result.get()));
        } catch (const BatchError &error) {
          got[t].push_back(error.kind() == BatchError::Kind::deadline ? "late" : error.what());
        }
      }
    });
  for (std::thread &thread : submitting)
    thread.join();
  const vx::Instance alone(busy, {.device = "cpu", .threads = 1});
  vx::Call call(alone, busy.functions()[0]);
  ASSERT_STREQ(busy.functions()[0].name, "embed_mean");
  for (size_t t = 0; t < threads; ++t)
    for (size_t i = 0; i < calls; ++i)
      if (i % 7 != 3 || got[t][i] != "late")
        ASSERT_EQ(got[t][i], bytesOf(call.run(inputsOf(1 + i % 3, static_cast<int32_t>(t * calls + i), length))))
            << t << " " << i;
  EXPECT_LT(batcher.counts().batches, threads * calls);
}

// While one runs: what becomes of their own bytes then does not matter.
TEST_F(BatcherTest, longRowsAreJoinedBeforeTheyRun) {
  for (const size_t length : {512u, 511u}) {
    const std::array<int64_t, 2> dims = {1, static_cast<int64_t>(length)};
    std::vector<int32_t> ids(length, 7), mask(length, 1);
    const std::vector<vx::Value> inputs = {vx::Value::wrap(VX_I32, dims, ids.data(), length * 4),
                                           vx::Value::wrap(VX_I32, dims, mask.data(), length * 4)};
    Batcher batcher(slow, options());
    const std::string before = bytesOf(batcher.run(inputs, "embed_mean"));
    std::fill(ids.begin(), ids.end(), 8);
    const std::string after = bytesOf(batcher.run(inputs, "embed_mean"));
    ASSERT_NE(before, after);
    std::fill(ids.begin(), ids.end(), 7);
    auto running = batcher.submit(inputsOf(8, 0), "embed_mean");
    while (batcher.waiting() != 0)
      std::this_thread::sleep_for(1ms);
    hostAllocations = 0;
    auto first = batcher.submit(inputs, "embed_mean"), second = batcher.submit(inputs, "embed_mean");
    // In memory that the device copies from; shorter rows are joined when they run.
    const bool isLong = length == 512;
    EXPECT_EQ(hostAllocations, isLong ? 2 : 0);
    if (isLong)
      std::fill(ids.begin(), ids.end(), 8);
    EXPECT_EQ(bytesOf(first.get()), before);
    EXPECT_EQ(bytesOf(second.get()), before);
    EXPECT_EQ(hostAllocations, 2);
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

// The requests that become a batch, and the fate of those that do not.
#include "batch_queue.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using vx::serve::BatchJob;
using vx::serve::BatchLimits;
using vx::serve::BatchQueue;
using vx::serve::Clock;
using vx::serve::ErrorCode;
using vx::serve::ServiceError;

struct Job : BatchJob {
  Job(int number, std::string name = "a", size_t count = 1) : number(number) {
    key = std::move(name);
    rows = count;
  }
  void tellFailure(const ServiceError &error) override {
    failure = error.what();
    code = error.code;
    isTold = true;
  }
  const int number;
  std::string failure;
  ErrorCode code = ErrorCode::internal;
  std::atomic<bool> isTold = false; // a job is done before its failure is reported
};

// Records the batches. A test closes it to let jobs wait.
struct Record {
  std::mutex lock;
  std::condition_variable changed;
  std::vector<std::vector<int>> batches;
  bool isClosed = false;
  size_t entered = 0;
  std::vector<Clock::duration> waits;

  void close() {
    std::lock_guard guard(lock);
    isClosed = true;
  }
  void open() {
    std::lock_guard guard(lock);
    isClosed = false;
    changed.notify_all();
  }
  void waitForEntered(size_t count) {
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return entered >= count; });
  }
  std::vector<std::vector<int>> waitForJobs(size_t count) {
    std::unique_lock guard(lock);
    const auto done = [&] {
      size_t jobs = 0;
      for (const auto &batch : batches)
        jobs += batch.size();
      return jobs >= count;
    };
    EXPECT_TRUE(changed.wait_for(guard, 20s, done));
    return batches;
  }
};

struct Runner : vx::serve::BatchRunner {
  explicit Runner(Record &record) : record(record) {}
  void run(std::span<const std::shared_ptr<BatchJob>> jobs) override {
    std::unique_lock guard(record.lock);
    ++record.entered;
    record.changed.notify_all();
    record.changed.wait(guard, [this] { return !record.isClosed; });
    std::vector<int> numbers;
    for (const auto &job : jobs) {
      const int number = static_cast<Job &>(*job).number;
      if (number == 666)
        throw ServiceError(ErrorCode::device_lost, "the device is lost");
      if (number == 400)
        throw ServiceError(ErrorCode::invalid_value, "it is wrong");
      if (number == 507 && jobs.size() > 1)
        throw ServiceError(ErrorCode::out_of_memory, "it has no room beside others");
      if (number != 13)
        job->claim();
      numbers.push_back(number);
    }
    record.batches.push_back(numbers);
    record.changed.notify_all();
  }
  void waited(Clock::duration time) override {
    std::lock_guard guard(record.lock);
    record.waits.push_back(time);
  }
  Record &record;
};

class BatchQueueTest : public testing::Test {
protected:
  void start(const BatchLimits &limits = {}) {
    batcher = std::make_unique<BatchQueue>(std::make_unique<Runner>(record), limits);
  }
  std::shared_ptr<Job> submit(int number, std::string key = "a", size_t rows = 1) {
    auto job = std::make_shared<Job>(number, key, rows);
    batcher->submit(job);
    return job;
  }
  // One batch is going on, so that later jobs wait.
  void holdUp() {
    record.close();
    submit(0);
    record.waitForEntered(1);
  }

  Record record;
  std::unique_ptr<BatchQueue> batcher;
};

// The time in the queue, without that of the run, once for each job.
TEST_F(BatchQueueTest, toldHowLongJobsHaveWaited) {
  start();
  Clock::time_point began = Clock::now();
  holdUp();
  const Clock::duration untilBegun = Clock::now() - began;
  began = Clock::now();
  submit(1);
  submit(2);
  std::this_thread::sleep_for(60ms);
  record.open();
  record.waitForJobs(3);
  const Clock::duration whole = Clock::now() - began;
  std::lock_guard guard(record.lock);
  ASSERT_EQ(record.waits.size(), 3u);
  EXPECT_LE(record.waits[0], untilBegun); // of an idle model
  for (size_t i : {1, 2}) {
    EXPECT_GE(record.waits[i], 60ms);
    EXPECT_LE(record.waits[i], whole);
  }
}

// An hour would be noticed.
TEST_F(BatchQueueTest, whoeverComesToAnIdleModelDoesNotWait) {
  start({.timeout = 1h});
  submit(1);
  EXPECT_THAT(record.waitForJobs(1), ElementsAre(ElementsAre(1)));
}

TEST_F(BatchQueueTest, joinsThoseOfOneKeyInTheirOrder) {
  start({.timeout = 0ms});
  holdUp();
  submit(1, "a");
  submit(2, "b");
  submit(3, "a");
  submit(4, "");
  submit(5, "");
  submit(6, "b");
  record.open();
  EXPECT_THAT(record.waitForJobs(7),
              ElementsAre(ElementsAre(0), ElementsAre(1, 3), ElementsAre(2, 6), ElementsAre(4), ElementsAre(5)));
}

TEST_F(BatchQueueTest, batchesHaveTheirLimitsAndOneLargeRequestIsAlone) {
  start({.rows = 4, .timeout = 0ms});
  holdUp();
  submit(1, "a", 3);
  submit(2, "a", 2);
  submit(3, "a", 1);
  submit(4, "a", 9);
  submit(5, "a", 1);
  record.open();
  EXPECT_THAT(record.waitForJobs(6),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2, 3), ElementsAre(4), ElementsAre(5)));
}

TEST_F(BatchQueueTest, aWindowClosesWhenTheBatchIsFull) {
  start({.rows = 2, .timeout = 1h});
  holdUp();
  std::this_thread::sleep_for(1s); // a job may wait for as long as this batch takes
  submit(1);
  record.open();
  record.waitForJobs(1);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(batcher->waiting(), 1u);
  submit(2);
  EXPECT_THAT(record.waitForJobs(3), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST_F(BatchQueueTest, aWindowClosesWhenItsTimeIsOver) {
  start({.timeout = 30ms});
  holdUp();
  std::this_thread::sleep_for(50ms); // for longer than this batch takes nobody waits
  submit(1);
  const auto began = Clock::now();
  record.open();
  record.waitForJobs(2);
  EXPECT_GE(Clock::now() - began, 20ms);
}

TEST_F(BatchQueueTest, aWindowIsNoLongerThanBatchesTake) {
  start({.timeout = 1h});
  holdUp();
  submit(1);
  record.open();
  EXPECT_THAT(record.waitForJobs(2), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST_F(BatchQueueTest, theQueueIsBounded) {
  start({.queue = 2, .timeout = 0ms});
  holdUp();
  submit(1);
  submit(2);
  try {
    submit(3);
    FAIL();
  } catch (const ServiceError &error) {
    EXPECT_STREQ(error.what(), "2 requests wait for this model, as many as may");
    EXPECT_EQ(error.code, ErrorCode::queue_full);
    EXPECT_EQ(error.retryAfter, 1u);
  }
  record.open();
  record.waitForJobs(3);
}

TEST_F(BatchQueueTest, whoseClientIsGoneLeavesTheQueue) {
  start({.queue = 2, .timeout = 0ms});
  holdUp();
  const auto first = submit(1), second = submit(2);
  batcher->forget(first);
  // Over, but the queue does not know yet.
  second->fail(ServiceError(ErrorCode::deadline, "late"));
  EXPECT_EQ(second->failure, "late");
  submit(3);
  record.open();
  EXPECT_THAT(record.waitForJobs(2), ElementsAre(ElementsAre(0), ElementsAre(3)));
}

TEST_F(BatchQueueTest, aFailureIsThatOfEachOfTheBatch) {
  start({.timeout = 0ms});
  holdUp();
  const auto first = submit(1), second = submit(666), third = submit(3, "b"), left = submit(13, "c");
  record.open();
  record.waitForJobs(3);
  batcher->stop();
  EXPECT_EQ(second->failure, "the device is lost");
  EXPECT_EQ(second->code, ErrorCode::device_lost);
  EXPECT_EQ(third->failure, "");
  EXPECT_EQ(left->failure, "the batch has left a request out");
  // The first one had its result.
  EXPECT_EQ(first->failure, "");
}

// One that is wrong is no failure of those that are by chance in its batch.
TEST_F(BatchQueueTest, eachAnswersForItselfWhereOneMayBeWrong) {
  start({.timeout = 0ms});
  holdUp();
  const auto first = submit(1), wrong = submit(400), third = submit(3), large = submit(507, "b"),
             beside = submit(6, "b");
  record.open();
  record.waitForJobs(4);
  batcher->stop();
  EXPECT_EQ(wrong->failure, "it is wrong");
  EXPECT_EQ(wrong->code, ErrorCode::invalid_value);
  for (const auto &job : {first, third, large, beside})
    EXPECT_EQ(job->failure, "") << job->number;
  // Jobs that were done before the batch failed are not done twice.
  EXPECT_THAT(record.batches, ElementsAre(ElementsAre(0), ElementsAre(3), ElementsAre(507), ElementsAre(6)));
}

TEST_F(BatchQueueTest, stopFailsWhatWaits) {
  start({.timeout = 0ms});
  holdUp();
  const auto waiting = submit(1);
  std::thread stopping([&] { batcher->stop(); });
  while (!waiting->isDone())
    std::this_thread::sleep_for(1ms);
  EXPECT_THROW(submit(2), ServiceError);
  record.open();
  stopping.join();
  EXPECT_EQ(waiting->code, ErrorCode::draining);
  EXPECT_THAT(record.batches, ElementsAre(ElementsAre(0)));
}

// Ten thousand requests from several threads, some of which go again: each other one runs once, those of a thread and
// a key in their order.
// Records the jobs that are placed, each with the one before it, and that the queue is free while a job is joined.
struct Joiner : vx::serve::BatchJoiner {
  bool place(BatchJob &before, BatchJob &job, size_t mostRows) override {
    const int number = static_cast<Job &>(job).number;
    placed.push_back({static_cast<Job &>(before).number, number, static_cast<int>(mostRows)});
    return number != 4;
  }
  void join(BatchJob &job) override {
    joined.push_back(static_cast<Job &>(job).number);
    waiting.push_back(queue->waiting());
  }
  BatchQueue *queue = nullptr;
  std::vector<std::vector<int>> placed;
  std::vector<int> joined;
  std::vector<size_t> waiting;
};

TEST_F(BatchQueueTest, jobsThatWaitAreJoinedByTheirSubmitters) {
  auto owned = std::make_unique<Joiner>();
  Joiner &joiner = *owned;
  std::vector<std::unique_ptr<vx::serve::BatchRunner>> runners;
  runners.push_back(std::make_unique<Runner>(record));
  batcher = std::make_unique<BatchQueue>(std::move(runners), BatchLimits{.rows = 8}, std::move(owned));
  joiner.queue = batcher.get();
  holdUp();
  submit(1);
  submit(2, "b");
  submit(3);
  submit(4);
  submit(5, "");
  submit(6, "b");
  submit(7, "");
  submit(8);
  EXPECT_THAT(joiner.placed,
              ElementsAre(ElementsAre(1, 3, 8), ElementsAre(3, 4, 8), ElementsAre(2, 6, 8), ElementsAre(4, 8, 8)));
  EXPECT_THAT(joiner.joined, ElementsAre(3, 6, 8));
  EXPECT_THAT(joiner.waiting, ElementsAre(3u, 6u, 8u));
  record.open();
  record.waitForJobs(9);
}

TEST_F(BatchQueueTest, nobodyIsLostDoubledOrOvertaken) {
  start({.queue = 100000, .rows = 7, .timeout = 0ms});
  constexpr int threads = 4, each = 2500;
  std::vector<std::vector<std::shared_ptr<Job>>> jobs(threads);
  std::vector<std::thread> clients;
  for (int t = 0; t < threads; ++t)
    clients.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < each; ++i) {
        jobs[t].push_back(
            submit(1000 + t * each + i, std::string(1, static_cast<char>('a' + random() % 3)), 1 + random() % 3));
        if (random() % 10 == 0) {
          batcher->forget(jobs[t][random() % jobs[t].size()]);
          jobs[t][random() % jobs[t].size()]->fail(ServiceError(ErrorCode::deadline, "late"));
        }
      }
    });
  for (std::thread &client : clients)
    client.join();
  while (batcher->waiting() != 0)
    std::this_thread::sleep_for(1ms);
  batcher->stop();
  std::map<std::pair<int, std::string>, int> last;
  std::map<int, int> times;
  for (const auto &batch : record.batches)
    for (int number : batch) {
      const int thread = (number - 1000) / each;
      const Job &job = *jobs[static_cast<size_t>(thread)][static_cast<size_t>((number - 1000) % each)];
      EXPECT_EQ(++times[number], 1);
      int &before = last[{thread, job.key}];
      EXPECT_GT(number, before);
      before = number;
    }
  EXPECT_GT(times.size(), 7000u);
}

// Runners of several devices, each of which can be held up, and lost.
struct Device {
  std::mutex lock;
  std::condition_variable changed;
  std::vector<std::vector<int>> batches;
  bool isClosed = false, isLost = false;
  size_t entered = 0;

  void set(bool Device::*member, bool value) {
    std::lock_guard guard(lock);
    this->*member = value;
    changed.notify_all();
  }
  void waitForEntered(size_t count) {
    std::unique_lock guard(lock);
    EXPECT_TRUE(changed.wait_for(guard, 20s, [&] { return entered >= count; }));
  }
  std::vector<std::vector<int>> done() {
    std::lock_guard guard(lock);
    return batches;
  }
};

struct DeviceRunner : vx::serve::BatchRunner {
  explicit DeviceRunner(Device &device) : device_(device) {}
  void run(std::span<const std::shared_ptr<BatchJob>> jobs) override {
    std::unique_lock guard(device_.lock);
    ++device_.entered;
    device_.changed.notify_all();
    device_.changed.wait(guard, [this] { return !device_.isClosed; });
    if (device_.isLost)
      throw ServiceError(ErrorCode::device_lost, "the device is lost");
    std::vector<int> numbers;
    for (const auto &job : jobs)
      numbers.push_back(static_cast<Job &>(*job).number);
    device_.batches.push_back(numbers);
    for (const auto &job : jobs)
      job->claim();
  }
  Device &device_;
};

class SeveralDevicesTest : public testing::Test {
protected:
  void start(const BatchLimits &limits) {
    std::vector<std::unique_ptr<vx::serve::BatchRunner>> runners;
    for (Device &device : devices)
      runners.push_back(std::make_unique<DeviceRunner>(device));
    batcher = std::make_unique<BatchQueue>(std::move(runners), limits);
  }
  std::shared_ptr<Job> submit(int number, const std::string &key = "a") {
    auto job = std::make_shared<Job>(number, key);
    batcher->submit(job);
    return job;
  }
  void close() {
    for (Device &device : devices)
      device.set(&Device::isClosed, true);
  }
  void open() {
    for (Device &device : devices)
      device.set(&Device::isClosed, false);
  }
  size_t entered() {
    size_t count = 0;
    for (Device &device : devices) {
      std::lock_guard guard(device.lock);
      count += device.entered;
    }
    return count;
  }
  template <typename Condition>
  static void waitUntil(const Condition &condition) {
    const Clock::time_point end = Clock::now() + 20s;
    while (!condition() && Clock::now() < end)
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(condition());
  }

  std::array<Device, 2> devices;
  std::unique_ptr<BatchQueue> batcher;
};

// An hour would be noticed.
TEST_F(SeveralDevicesTest, anIdleDeviceRunsAtOnceWhileTheOtherWorks) {
  start({.timeout = 1h});
  close();
  submit(1);
  waitUntil([&] { return entered() == 1; });
  submit(2);
  waitUntil([&] { return entered() == 2; });
  EXPECT_EQ(devices[0].entered, 1u);
  EXPECT_EQ(devices[1].entered, 1u);
  // Both work: those that come now wait, and whichever is done first runs them together.
  submit(3);
  submit(4);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(batcher->waiting(), 2u);
  devices[1].set(&Device::isClosed, false);
  waitUntil([&] { return devices[1].done().size() == 2; });
  EXPECT_THAT(devices[1].done()[1], ElementsAre(3, 4));
  EXPECT_TRUE(devices[0].done().empty());
  open();
}

TEST_F(SeveralDevicesTest, theJobsOfALostDeviceRunOnTheOther) {
  start({.rows = 2, .timeout = 0ms});
  close();
  submit(0, "x");
  waitUntil([&] { return entered() == 1; });
  submit(1, "y");
  waitUntil([&] { return entered() == 2; });
  const size_t lost = devices[0].entered == 1 ? 0 : 1, other = 1 - lost;
  const auto third = submit(2), fourth = submit(3);
  devices[lost].set(&Device::isLost, true);
  devices[lost].set(&Device::isClosed, false);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(devices[lost].entered, 1u) << "a lost device takes no batch";
  EXPECT_EQ(batcher->waiting(), 3u);
  devices[other].set(&Device::isClosed, false);
  waitUntil([&] { return devices[other].done().size() == 3; });
  // The one that had begun goes first.
  EXPECT_EQ(devices[other].done()[1].size(), 1u);
  EXPECT_THAT(devices[other].done()[2], ElementsAre(2, 3));
  EXPECT_EQ(third->failure + fourth->failure, "");
  // All is well while one is left; then requests fail.
  const auto fifth = submit(5);
  waitUntil([&] { return fifth->isDone(); });
  EXPECT_EQ(fifth->failure, "");
  devices[other].set(&Device::isLost, true);
  const auto sixth = submit(6), seventh = submit(7);
  waitUntil([&] { return sixth->isTold && seventh->isTold; });
  EXPECT_EQ(sixth->code, ErrorCode::device_lost);
  EXPECT_EQ(seventh->code, ErrorCode::device_lost);
  // It comes back.
  devices[other].set(&Device::isLost, false);
  const auto eighth = submit(8);
  waitUntil([&] { return eighth->isDone(); });
  EXPECT_EQ(eighth->failure, "");
}

TEST_F(SeveralDevicesTest, bothAreLostAtOneTime) {
  start({.timeout = 0ms});
  close();
  const auto first = submit(1, "x");
  waitUntil([&] { return entered() == 1; });
  const auto second = submit(2, "y");
  waitUntil([&] { return entered() == 2; });
  for (Device &device : devices)
    device.set(&Device::isLost, true);
  open();
  waitUntil([&] { return first->isTold && second->isTold; });
  EXPECT_EQ(first->code, ErrorCode::device_lost);
  EXPECT_EQ(second->code, ErrorCode::device_lost);
}

// 2,000 jobs of several keys, a device that is lost in between: each runs once, and those of one key in their order.
TEST_F(SeveralDevicesTest, eachJobRunsOnce) {
  start({.queue = 4096, .rows = 4, .timeout = 1ms});
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 2000; ++i) {
    jobs.push_back(submit(i, fmt::format("{}", i % 3)));
    if (i == 1000)
      devices[1].set(&Device::isLost, true);
  }
  waitUntil([&] { return std::all_of(jobs.begin(), jobs.end(), [](const auto &job) { return job->isDone(); }); });
  std::map<int, int> runs;
  for (Device &device : devices)
    for (const std::vector<int> &batch : device.done())
      for (int number : batch) {
        ++runs[number];
        EXPECT_EQ(number % 3, batch[0] % 3);
      }
  EXPECT_EQ(runs.size(), 2000u);
  for (const auto &[number, count] : runs)
    EXPECT_EQ(count, 1) << number;
}

} // namespace

// Requests that wait for a model, and the batches that they become.
#ifndef VX_SERVE_BATCH_QUEUE_H
#define VX_SERVE_BATCH_QUEUE_H

#include "service_error.h"
#include "trace.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace vx::serve {

using Clock = std::chrono::steady_clock;

// One request's part of a batch. It ends once: with its result, or with the first failure. Later ends have no effect.
class BatchJob {
public:
  virtual ~BatchJob() = default;

  // Of its batch, see BatchLimits.
  size_t rows = 1, tokens = 0;
  // Jobs of one key may be in a batch together. Empty: it runs alone.
  std::string key;
  Clock::time_point deadline = Clock::time_point::max();
  Clock::time_point came;              // into the queue
  std::shared_ptr<RequestTrace> trace; // null: none

  // True for the first call.
  bool claim() {
    const bool isFirst = !isOver.exchange(true);
    if (isFirst && trace)
      trace->end(Clock::now());
    return isFirst;
  }
  bool isDone() const { return isOver; }
  void fail(const ServiceError &error) {
    if (claim())
      tellFailure(error);
  }

protected:
  virtual void tellFailure(const ServiceError &error) = 0;

private:
  std::atomic<bool> isOver = false;
};

// Runs batches on one device. Called by one thread at a time.
class BatchRunner {
public:
  virtual ~BatchRunner() = default;
  // Ends each job, in any way. An exception ends all that are left; where one of several may be the cause, each is
  // run again by itself.
  virtual void run(std::span<const std::shared_ptr<BatchJob>> jobs) = 0;
  // Called before a job runs, with its time in the queue.
  virtual void waited(Clock::duration) {}
  // Where it runs, "cpu:0".
  virtual std::string device() const { return ""; }
};

// Joins jobs while they wait, so that less is left to do when a batch begins. Thread-safe.
class BatchJoiner {
public:
  virtual ~BatchJoiner() = default;
  // Gives a job that comes a place after `before`, the last one of its key that waits, in a batch of `mostRows`. True:
  // `join` is to be called. Called with the queue locked, so it does no work.
  virtual bool place(BatchJob &before, BatchJob &job, size_t mostRows) = 0;
  // By the thread that submits the job.
  virtual void join(BatchJob &job) = 0;
};

struct BatchLimits {
  size_t queue = 256;    // jobs that wait
  size_t rows = 32;      // of a batch; one job with more is a batch of its own
  size_t tokens = 16384; // the same
  // How long a job that comes while a batch is going on may wait for others; never longer than batches take, since one
  // of its own would be done by then.
  std::chrono::milliseconds timeout{5};
};

// The queue of one model on its devices. Thread-safe.
class BatchQueue {
public:
  // One runner or more, each with a thread: whichever is idle takes the next batch. A runner that throws
  // ErrorCode::device_lost leaves if another one is left, which runs its jobs.
  BatchQueue(std::vector<std::unique_ptr<BatchRunner>> runners, const BatchLimits &limits,
             std::unique_ptr<BatchJoiner> joiner = nullptr);
  BatchQueue(std::unique_ptr<BatchRunner> runner, const BatchLimits &limits);
  // Ends the jobs that wait as `stop` does.
  ~BatchQueue();
  BatchQueue(const BatchQueue &) = delete;
  BatchQueue &operator=(const BatchQueue &) = delete;

  // Throws ErrorCode::queue_full, with when to come again, and ErrorCode::draining after `stop`.
  void submit(std::shared_ptr<BatchJob> job);
  // Takes a job that waits out of the queue; one that is running goes on.
  void forget(const std::shared_ptr<BatchJob> &job);
  void setLimits(const BatchLimits &limits);
  size_t waiting() const;
  // Fails the jobs that wait with ErrorCode::draining, and waits for the batch that is going on.
  void stop();

private:
  struct Waiting {
    std::shared_ptr<BatchJob> job;
    bool waitsForOthers;
  };
  void start();
  void work(BatchRunner &runner);
  // False: the runner's device is lost, and another one is to run the jobs that are not done.
  bool runBatch(BatchRunner &runner, std::span<const std::shared_ptr<BatchJob>> jobs);
  // Whether a runner whose device is lost can go, since another one is left.
  bool leave();
  // Puts jobs that were taken back to the front.
  void takeBack(std::vector<std::shared_ptr<BatchJob>> &jobs);
  // The jobs that are to run with the oldest one. They leave the queue.
  std::vector<std::shared_ptr<BatchJob>> takeBatch();
  bool isFull() const;
  // When the oldest job has waited for others long enough.
  Clock::time_point windowEnd() const;

  // The last job of a key that waits; null: none.
  BatchJob *lastOf(const std::string &key) const;

  std::vector<std::unique_ptr<BatchRunner>> runners;
  const std::unique_ptr<BatchJoiner> joiner; // null: the runners join
  mutable std::mutex lock;
  std::condition_variable changed;
  BatchLimits limits;
  std::deque<Waiting> queue;
  size_t present = 0, running = 0; // runners that have not left, and those of them with a batch
  bool isStopped = false;
  std::optional<double> secondsOfBatch; // of the last ones
  std::vector<std::thread> threads;
};

} // namespace vx::serve

#endif

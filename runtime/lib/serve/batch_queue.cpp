#include "batch_queue.h"

#include "run_failure.h"

#include <algorithm>
#include <cmath>

namespace vx::serve {

BatchQueue::BatchQueue(std::vector<std::unique_ptr<BatchRunner>> given, const BatchLimits &limits,
                       std::unique_ptr<BatchJoiner> joiner)
    : runners(std::move(given)), joiner(std::move(joiner)), limits(limits) {
  start();
}

BatchQueue::BatchQueue(std::unique_ptr<BatchRunner> runner, const BatchLimits &limits) : limits(limits) {
  runners.push_back(std::move(runner));
  start();
}

void BatchQueue::start() {
  present = runners.size();
  for (const std::unique_ptr<BatchRunner> &runner : runners)
    threads.emplace_back([this, &runner = *runner] { work(runner); });
}

BatchQueue::~BatchQueue() { stop(); }

BatchJob *BatchQueue::lastOf(const std::string &key) const {
  for (auto entry = queue.rbegin(); entry != queue.rend(); ++entry)
    if (entry->job->key == key)
      return entry->job.get();
  return nullptr;
}

void BatchQueue::submit(std::shared_ptr<BatchJob> job) {
  std::unique_lock guard(lock);
  if (isStopped)
    throw ServiceError(ErrorCode::draining, "the model is being unloaded; retry later").after(1);
  if (queue.size() >= limits.queue) {
    const double batches = std::ceil(static_cast<double>(queue.size()) / static_cast<double>(limits.rows));
    const double seconds =
        std::clamp(std::ceil(batches * secondsOfBatch.value_or(0) / static_cast<double>(present)), 1.0, 60.0);
    throw serviceError(ErrorCode::queue_full, "{} requests wait for this model, as many as may", queue.size())
        .after(static_cast<uint32_t>(seconds))
        .with("expected", fmt::format("at most {} requests", limits.queue));
  }
  // A runner is idle: there is nobody to wait for.
  const bool isIdle = running < present && queue.empty();
  job->came = Clock::now();
  if (job->trace)
    job->trace->wait(job->came);
  BatchJob *before = joiner && !job->key.empty() ? lastOf(job->key) : nullptr;
  const bool isPlaced = before && joiner->place(*before, *job, limits.rows);
  queue.push_back({job, !isIdle});
  changed.notify_all();
  guard.unlock();
  if (isPlaced)
    joiner->join(*job);
}

void BatchQueue::forget(const std::shared_ptr<BatchJob> &job) {
  std::lock_guard guard(lock);
  std::erase_if(queue, [&](const Waiting &entry) { return entry.job == job; });
}

void BatchQueue::setLimits(const BatchLimits &given) {
  std::lock_guard guard(lock);
  limits = given;
  changed.notify_all();
}

size_t BatchQueue::waiting() const {
  std::lock_guard guard(lock);
  return queue.size();
}

void BatchQueue::stop() {
  std::deque<Waiting> left;
  {
    std::lock_guard guard(lock);
    isStopped = true;
    left.swap(queue);
    changed.notify_all();
  }
  for (const Waiting &entry : left)
    entry.job->fail(ServiceError(ErrorCode::draining, "the model is being unloaded; retry later").after(1));
  for (std::thread &thread : threads)
    if (thread.joinable())
      thread.join();
}

bool BatchQueue::isFull() const {
  size_t rows = 0, tokens = 0;
  for (const Waiting &entry : queue)
    if (entry.job->key == queue.front().job->key) {
      rows += entry.job->rows;
      tokens += entry.job->tokens;
    }
  return queue.front().job->key.empty() || rows >= limits.rows || tokens >= limits.tokens;
}

Clock::time_point BatchQueue::windowEnd() const {
  const Waiting &oldest = queue.front();
  if (!oldest.waitsForOthers)
    return oldest.job->came;
  Clock::duration window = limits.timeout;
  if (secondsOfBatch)
    window =
        std::min(window, std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*secondsOfBatch)));
  return oldest.job->came + window;
}

std::vector<std::shared_ptr<BatchJob>> BatchQueue::takeBatch() {
  std::vector<std::shared_ptr<BatchJob>> batch;
  size_t rows = 0, tokens = 0;
  for (auto entry = queue.begin(); entry != queue.end();) {
    const BatchJob &job = *entry->job;
    const bool fits = batch.empty() || (!job.key.empty() && job.key == batch.front()->key &&
                                        rows + job.rows <= limits.rows && tokens + job.tokens <= limits.tokens);
    if (!fits) {
      // Those after one that no longer fits wait as well, so that no request is overtaken by others of its kind.
      if (!batch.front()->key.empty() && job.key == batch.front()->key)
        break;
      ++entry;
      continue;
    }
    rows += job.rows;
    tokens += job.tokens;
    batch.push_back(std::move(entry->job));
    entry = queue.erase(entry);
  }
  return batch;
}

bool BatchQueue::leave() {
  std::lock_guard guard(lock);
  if (present < 2 || isStopped)
    return false;
  --present;
  return true;
}

void BatchQueue::takeBack(std::vector<std::shared_ptr<BatchJob>> &jobs) {
  std::lock_guard guard(lock);
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job)
    if (!(*job)->isDone())
      queue.push_front({*job, /*waitsForOthers=*/false});
  changed.notify_all();
}

bool BatchQueue::runBatch(BatchRunner &runner, std::span<const std::shared_ptr<BatchJob>> jobs) {
  ServiceError error(ErrorCode::internal, "the batch has left a request out");
  try {
    runner.run(jobs);
  } catch (...) {
    error = currentFailure();
    if (error.code == ErrorCode::device_lost && leave())
      return false;
    // One of them is wrong, or all are too many: each answers for itself.
    if (jobs.size() > 1 && (error.code == ErrorCode::invalid_value || error.code == ErrorCode::out_of_memory)) {
      for (size_t i = 0; i < jobs.size(); ++i)
        if (!jobs[i]->isDone() && !runBatch(runner, jobs.subspan(i, 1)))
          return false;
      return true;
    }
  }
  for (const std::shared_ptr<BatchJob> &job : jobs)
    job->fail(error);
  return true;
}

void BatchQueue::work(BatchRunner &runner) {
  std::unique_lock guard(lock);
  for (;;) {
    changed.wait(guard, [this] { return isStopped || !queue.empty(); });
    if (isStopped)
      return;
    if (const Clock::time_point until = windowEnd(); until > Clock::now() && !isFull()) {
      changed.wait_until(guard, until);
      continue;
    }
    std::vector<std::shared_ptr<BatchJob>> batch = takeBatch();
    // Its client is gone, or its deadline is over.
    std::erase_if(batch, [](const std::shared_ptr<BatchJob> &job) { return job->isDone(); });
    if (batch.empty())
      continue;
    ++running;
    guard.unlock();
    const Clock::time_point began = Clock::now();
    size_t rows = 0;
    for (const std::shared_ptr<BatchJob> &job : batch)
      rows += job->rows;
    for (const std::shared_ptr<BatchJob> &job : batch) {
      runner.waited(began - job->came);
      if (job->trace)
        job->trace->begin(began, rows, runner.device());
    }
    const bool isThere = runBatch(runner, batch);
    if (!isThere)
      takeBack(batch);
    batch.clear();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    guard.lock();
    --running;
    if (!isThere)
      return;
    secondsOfBatch = 0.8 * secondsOfBatch.value_or(seconds) + 0.2 * seconds;
  }
}

} // namespace vx::serve

#include "deadline_clock.h"

namespace vx::serve {

DeadlineClock::DeadlineClock() : thread([this] { work(); }) {}

DeadlineClock::~DeadlineClock() {
  {
    std::lock_guard guard(lock);
    isStopped = true;
    changed.notify_all();
  }
  thread.join();
}

void DeadlineClock::watch(const std::shared_ptr<BatchJob> &job, const std::shared_ptr<BatchQueue> &batcher) {
  std::lock_guard guard(lock);
  // Most jobs are over long before: what is left of them goes now and then.
  if (++sinceSweep > entries.size() / 2 + 256) {
    std::erase_if(entries, [](const auto &entry) { return entry.second.job.expired(); });
    sinceSweep = 0;
  }
  const bool isNext = entries.empty() || job->deadline < entries.begin()->first;
  entries.emplace(job->deadline, Entry{job, batcher});
  if (isNext)
    changed.notify_all();
}

void DeadlineClock::work() {
  std::unique_lock guard(lock);
  while (!isStopped) {
    if (entries.empty()) {
      changed.wait(guard);
      continue;
    }
    if (const Clock::time_point next = entries.begin()->first; next > Clock::now()) {
      changed.wait_until(guard, next);
      continue;
    }
    const Entry entry = std::move(entries.begin()->second);
    entries.erase(entries.begin());
    guard.unlock();
    if (const auto job = entry.job.lock()) {
      if (const auto batcher = entry.batcher.lock())
        batcher->forget(job);
      job->fail(ServiceError(ErrorCode::deadline, "the request was not done by its deadline"));
    }
    guard.lock();
  }
}

} // namespace vx::serve

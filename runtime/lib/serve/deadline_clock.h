// Ends jobs whose time is over, also those that a long batch keeps waiting or running.
#ifndef VX_SERVE_DEADLINE_CLOCK_H
#define VX_SERVE_DEADLINE_CLOCK_H

#include "batch_queue.h"

#include <map>

namespace vx::serve {

class DeadlineClock {
public:
  DeadlineClock();
  ~DeadlineClock();
  // At the job's deadline `batcher` forgets it, and it fails with ErrorCode::deadline where it is not over.
  void watch(const std::shared_ptr<BatchJob> &job, const std::shared_ptr<BatchQueue> &batcher);

private:
  struct Entry {
    std::weak_ptr<BatchJob> job;
    std::weak_ptr<BatchQueue> batcher;
  };
  void work();

  std::mutex lock;
  std::condition_variable changed;
  std::multimap<Clock::time_point, Entry> entries;
  size_t sinceSweep = 0;
  bool isStopped = false;
  std::thread thread;
};

} // namespace vx::serve

#endif

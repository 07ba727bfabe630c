#include "base/thread_pool.h"

#include <mutex>
#include <thread>

#include <pthreadpool.h>
#include <sched.h>

namespace vx {

struct ThreadPool::Busy {
  std::mutex mutex;
};

uint32_t usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    int count = CPU_COUNT(&set);
    if (count > 0)
      return static_cast<uint32_t>(count);
  }
  unsigned count = std::thread::hardware_concurrency();
  return count ? count : 1;
}

ThreadPool::ThreadPool(pthreadpool *pool, uint32_t threads)
    : pool(pool), threadCount(threads), busy(std::make_unique<Busy>()) {}

ThreadPool::~ThreadPool() {
  if (pool)
    pthreadpool_destroy(pool);
}

Status ThreadPool::create(uint32_t threads, std::unique_ptr<ThreadPool> &result) {
  if (threads == 0)
    threads = usableCores();
  constexpr uint32_t limit = 1024;
  if (threads > limit)
    return failure(VX_INVALID_ARGUMENT, "asked for {} threads, allowed are at most {}", threads, limit);
  pthreadpool *pool = nullptr;
  if (threads > 1) {
    pool = pthreadpool_create(threads);
    if (!pool)
      return failure(VX_OUT_OF_MEMORY, "cannot start {} threads", threads);
  }
  result.reset(new ThreadPool(pool, threads));
  return okStatus();
}

void ThreadPool::run(uint64_t count, void (*function)(void *context, size_t index), void *context) {
  if (pool && count > 1) {
    std::unique_lock lock(busy->mutex, std::try_to_lock);
    if (lock.owns_lock()) {
      pthreadpool_parallelize_1d(pool, function, context, count, 0);
      return;
    }
  }
  for (uint64_t i = 0; i < count; ++i)
    function(context, i);
}

} // namespace vx

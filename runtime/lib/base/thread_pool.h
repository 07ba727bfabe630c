// Worker threads that share one dispatch at a time with the thread that asks.
#ifndef VX_RUNTIME_BASE_THREAD_POOL_H
#define VX_RUNTIME_BASE_THREAD_POOL_H

#include "base/status.h"

#include <cstdint>
#include <memory>

struct pthreadpool;

namespace vx {

// Workers spin briefly for the next dispatch and then sleep. Thread-safe: a thread that finds the pool busy with
// somebody else's work does its own alone, so calls side by side do not wait for each other.
class ThreadPool {
public:
  // `threads` counts the asking thread; 0 means one per core that this process may run on.
  static Status create(uint32_t threads, std::unique_ptr<ThreadPool> &pool);
  ~ThreadPool();

  uint32_t threads() const { return threadCount; }

  // Calls function(context, i) for each i in [0, count), in any order and on any thread, and returns when all are done.
  void run(uint64_t count, void (*function)(void *context, size_t index), void *context);

private:
  ThreadPool(pthreadpool *pool, uint32_t threads);

  struct Busy;
  pthreadpool *pool;
  uint32_t threadCount;
  std::unique_ptr<Busy> busy;
};

// Cores that this process may run on, at least 1.
uint32_t usableCores();

} // namespace vx

#endif

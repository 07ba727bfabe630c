// Worker threads that share one dispatch at a time with the thread that asks.
#ifndef VX_RUNTIME_BASE_THREAD_POOL_H
#define VX_RUNTIME_BASE_THREAD_POOL_H

#include "base/status.h"

#include <cstdint>
#include <memory>

namespace vx {

// Workers look for the next dispatch for a moment and then sleep. Who asks waits for the items that a worker has taken,
// never for a worker that the system has not come to run: it does that one's share itself. Thread-safe: a thread that
// finds the pool busy with somebody else's work does its own alone, so calls side by side do not wait for each other.
class ThreadPool {
public:
  // `threads` counts the asking thread; 0 means one per core that this process may run on.
  static Status create(uint32_t threads, std::unique_ptr<ThreadPool> &pool);
  ~ThreadPool();

  uint32_t threads() const { return threadCount; }

  // Calls function(context, i) for each i in [0, count), in any order and on any thread, and returns when all are done.
  // A thread begins with the same part of the range each time, so that what it left in its caches is there for it.
  void run(uint64_t count, void (*function)(void *context, size_t index), void *context);

private:
  struct Workers;
  ThreadPool(std::unique_ptr<Workers> workers, uint32_t threads);

  // None for one thread.
  std::unique_ptr<Workers> workers;
  uint32_t threadCount;
};

// Cores that this process may run on, at least 1.
uint32_t usableCores();

} // namespace vx

#endif

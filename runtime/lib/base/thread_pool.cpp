#include "base/thread_pool.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>

// The pool's library is not instrumented, so the thread sanitizer does not see how it hands work over and waits for it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VX_THREAD_SANITIZER 1
extern "C" void __tsan_acquire(void *address);
extern "C" void __tsan_release(void *address);
#endif
#endif

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

// Starts `count` threads that are there at one time, and ends them. The error number of the first that the system does
// not start, or 0.
static int rehearse(uint32_t count) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool isOpen = false;
  } gate;
  auto wait = [](void *argument) -> void * {
    Gate &gate = *static_cast<Gate *>(argument);
    std::unique_lock lock(gate.mutex);
    gate.opened.wait(lock, [&] { return gate.isOpen; });
    return nullptr;
  };
  std::vector<pthread_t> started;
  started.reserve(count);
  int error = 0;
  while (!error && started.size() < count) {
    pthread_t thread;
    error = pthread_create(&thread, nullptr, wait, &gate);
    if (!error)
      started.push_back(thread);
  }
  {
    std::lock_guard lock(gate.mutex);
    gate.isOpen = true;
  }
  gate.opened.notify_all();
  for (pthread_t thread : started)
    pthread_join(thread, nullptr);
  return error;
}

Status ThreadPool::create(uint32_t threads, std::unique_ptr<ThreadPool> &result) {
  if (threads == 0)
    threads = usableCores();
  constexpr uint32_t limit = 1024;
  if (threads > limit)
    return failure(VX_INVALID_ARGUMENT, "asked for {} threads, allowed are at most {}", threads, limit);
  pthreadpool *pool = nullptr;
  if (threads > 1) {
    // The pool waits for all its threads, for ever when the system does not start one of them. The caller is one.
    if (int error = rehearse(threads - 1))
      return failure(VX_OUT_OF_MEMORY, "cannot start {} threads: {}", threads, std::strerror(error));
    pool = pthreadpool_create(threads);
    if (!pool)
      throw std::bad_alloc();
  }
  result.reset(new ThreadPool(pool, threads));
  return okStatus();
}

void ThreadPool::run(uint64_t count, void (*function)(void *context, size_t index), void *context) {
  if (pool && count > 1) {
    std::unique_lock lock(busy->mutex, std::try_to_lock);
    if (lock.owns_lock()) {
#ifdef VX_THREAD_SANITIZER
      struct Told {
        void (*function)(void *context, size_t index);
        void *context;
      } told = {function, context};
      __tsan_release(&told);
      pthreadpool_parallelize_1d(
          pool,
          [](void *argument, size_t index) {
            const Told *work = static_cast<Told *>(argument);
            __tsan_acquire(argument);
            work->function(work->context, index);
            __tsan_release(argument);
          },
          &told, count, 0);
      __tsan_acquire(&told);
#else
      pthreadpool_parallelize_1d(pool, function, context, count, 0);
#endif
      return;
    }
  }
  for (uint64_t i = 0; i < count; ++i)
    function(context, i);
}

} // namespace vx

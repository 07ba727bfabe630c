#include "base/forks.h"

#include <atomic>

#include <pthread.h>

namespace vx {

static std::atomic<uint32_t> forks = 0;

uint32_t forkCount() {
  // The child has one thread, so nobody reads meanwhile.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

} // namespace vx

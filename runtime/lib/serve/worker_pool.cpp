#include "worker_pool.h"

#include <algorithm>

namespace vx::serve {

WorkerPool::WorkerPool(size_t count, size_t queue) : most(queue) {
  for (size_t i = 0; i < std::max<size_t>(count, 1); ++i)
    threads.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard guard(lock);
    isStopped = true;
    changed.notify_all();
  }
  for (std::thread &thread : threads)
    thread.join();
}

bool WorkerPool::post(std::function<void()> task) {
  std::lock_guard guard(lock);
  if (tasks.size() >= most)
    return false;
  tasks.push_back(std::move(task));
  changed.notify_one();
  return true;
}

void WorkerPool::work() {
  std::unique_lock guard(lock);
  for (;;) {
    changed.wait(guard, [this] { return isStopped || !tasks.empty(); });
    if (tasks.empty())
      return;
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    guard.unlock();
    task();
    task = nullptr;
    guard.lock();
  }
}

} // namespace vx::serve

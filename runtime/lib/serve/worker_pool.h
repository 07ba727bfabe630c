// Threads for the work of requests that takes longer than reading them: parsing, tokenising, writing answers.
#ifndef VX_SERVE_WORKER_POOL_H
#define VX_SERVE_WORKER_POOL_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vx::serve {

class WorkerPool {
public:
  WorkerPool(size_t threads, size_t queue);
  // Ends when what has been posted is done.
  ~WorkerPool();
  // False: too much waits already. A task must not throw.
  bool post(std::function<void()> task);

private:
  void work();

  const size_t most;
  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool isStopped = false;
  std::vector<std::thread> threads;
};

} // namespace vx::serve

#endif

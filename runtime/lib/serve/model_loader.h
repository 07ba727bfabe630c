// Models are loaded in sequence by a thread of its own, so that signals are answered meanwhile.
#ifndef VX_SERVE_MODEL_LOADER_H
#define VX_SERVE_MODEL_LOADER_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace vx::serve {

class ModelLoader {
public:
  // `load` loads all that waits for it.
  explicit ModelLoader(std::function<void()> load) : load(std::move(load)), thread([this] { run(); }) {}
  ~ModelLoader() { finish(); }

  // Again, where it is at work.
  void wake() {
    const std::lock_guard guard(lock);
    isWanted = true;
    changed.notify_one();
  }
  // When what it does is done.
  void finish() {
    {
      const std::lock_guard guard(lock);
      isOver = true;
      changed.notify_one();
    }
    if (thread.joinable())
      thread.join();
  }

private:
  void run() {
    std::unique_lock guard(lock);
    for (;;) {
      changed.wait(guard, [this] { return isWanted || isOver; });
      if (isOver)
        return;
      isWanted = false;
      guard.unlock();
      load();
      guard.lock();
    }
  }

  const std::function<void()> load;
  std::mutex lock;
  std::condition_variable changed;
  bool isWanted = false, isOver = false;
  std::thread thread; // begins when all else is there
};

} // namespace vx::serve

#endif

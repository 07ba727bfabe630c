// What the pointers of the C interface point to. A handle counts the caller's references and holds the runtime's object
// while there are any; it knows when it has been released, so that using it then is an error and no access to memory
// that is gone.
#ifndef VX_RUNTIME_API_HANDLE_H
#define VX_RUNTIME_API_HANDLE_H

#include "base/forks.h"
#include "base/ref.h"
#include "base/status.h"

#include <atomic>
#include <mutex>

#if defined(__SANITIZE_ADDRESS__)
#define VX_HANDLES_ARE_FREED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VX_HANDLES_ARE_FREED 1
#endif
#endif

namespace vx {

// Thread-safe. A handle's memory never goes back to the system: it stays a handle of the same kind, without an object,
// and later handles get the memory that has been free for the longest time. Under the address sanitizer it is freed, so
// that this sees leaks, and uses of what was released.
template <typename T>
class Handle {
public:
  // With one reference.
  static Handle *make(Ref<T> object) {
    Handle *made = take();
    made->held = std::move(object);
    made->forks = forkCount();
    made->references.store(1, std::memory_order_release);
    return made;
  }

  // The caller has a reference.
  const Ref<T> &object() const { return held; }
  bool isReleased() const { return references.load(std::memory_order_acquire) == 0; }
  // Made by the process that this one is a copy of.
  bool isBeforeFork() const { return forks != forkCount(); }

  // False: it has been released.
  bool retain() {
    uint32_t before = references.load(std::memory_order_relaxed);
    while (before != 0)
      if (references.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel))
        return true;
    return false;
  }
  // False: it has been released before. `abandon`: the object is left as it is, since it cannot be ended here.
  bool release(bool abandon) {
    uint32_t before = references.load(std::memory_order_acquire);
    for (;;) {
      if (before == 0)
        return false;
      // While there is a reference the object is there.
      Ref<T> last = before == 1 ? held : nullptr;
      if (!references.compare_exchange_weak(before, before - 1, std::memory_order_acq_rel))
        continue;
      if (before > 1)
        return true;
      held = nullptr;
      giveBack(this);
      if (abandon)
        (void)last.detach();
      return true;
    }
  }

private:
  Handle() = default;

#ifdef VX_HANDLES_ARE_FREED
  static Handle *take() { return new Handle; }
  static void giveBack(Handle *handle) { delete handle; }
#else
  // Those that are free, the longest first.
  struct Pool {
    std::mutex mutex;
    Handle *first = nullptr, *last = nullptr;
    size_t count = 0;
  };
  static Pool &pool() {
    static auto *pool = new Pool; // values may go at the very end of the process
    return *pool;
  }
  static void append(Pool &pool, Handle *handle) {
    handle->next = nullptr;
    (pool.last ? pool.last->next : pool.first) = handle;
    pool.last = handle;
    ++pool.count;
  }
  static Handle *take() {
    // So many are released before the memory of one is used again.
    constexpr size_t least = 256, more = 64;
    Pool &free = pool();
    std::lock_guard lock(free.mutex);
    if (free.count <= least) {
      auto *chunk = new Handle[more];
      for (size_t i = 0; i < more; ++i)
        append(free, chunk + i);
    }
    Handle *taken = free.first;
    free.first = taken->next;
    --free.count;
    return taken;
  }
  static void giveBack(Handle *handle) {
    Pool &free = pool();
    std::lock_guard lock(free.mutex);
    append(free, handle);
  }

  Handle *next = nullptr;
#endif
  std::atomic<uint32_t> references = 0;
  uint32_t forks = 0;
  Ref<T> held;
};

} // namespace vx

#endif

// Freed blocks of memory that wait for the next request of their size.
#ifndef VX_BASE_FREE_BLOCKS_H
#define VX_BASE_FREE_BLOCKS_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace vx {

struct FreeBlockLimits {
  // A request takes a block that is larger by at most one part of its own size: 1 is twice as large, 8 an eighth.
  uint64_t largerBy = 8;
  // So many bytes are kept, or as many as are in use if these are more.
  uint64_t idleBytes = 64 << 20;
  size_t blocks = 64;
};

// A `Block` is what its owner moves; its destruction gives the memory back to where it came from. Thread-safe. A
// process that fork() made while another thread was in here finds it locked for ever: such a process, like a thread
// that would have to wait, does without.
template <typename Block>
class FreeBlocks {
public:
  explicit FreeBlocks(const FreeBlockLimits &limits = {}) : limits(limits) {}
  FreeBlocks(const FreeBlocks &) = delete;
  FreeBlocks &operator=(const FreeBlocks &) = delete;

  // The smallest block that is large enough and not too large, or none.
  std::optional<Block> take(uint64_t size) {
    const std::unique_lock guard(lock, std::try_to_lock);
    if (!guard)
      return std::nullopt;
    auto best = free.end();
    for (auto entry = free.begin(); entry != free.end(); ++entry)
      if (entry->size >= size && entry->size - size <= size / limits.largerBy &&
          (best == free.end() || entry->size < best->size))
        best = entry;
    if (best == free.end())
      return std::nullopt;
    std::optional<Block> taken = std::move(best->block);
    freeBytes -= best->size;
    free.erase(best);
    return taken;
  }
  // A block from `take`, or a new one, is in use until it is given.
  void noteUsed(uint64_t size) { usedBytes.fetch_add(size, std::memory_order_relaxed); }
  // The blocks that have been free for the longest time make room.
  void give(Block block, uint64_t size) {
    const uint64_t used = usedBytes.fetch_sub(size, std::memory_order_relaxed) - size;
    {
      const std::unique_lock guard(lock, std::try_to_lock);
      if (!guard)
        return;
      try {
        free.push_back({std::move(block), size});
      } catch (const std::bad_alloc &) {
        return;
      }
      freeBytes += size;
    }
    // Without the lock, since a driver may take long to free one.
    while (dropFirst([&] { return freeBytes > std::max(used, limits.idleBytes) || free.size() > limits.blocks; })) {
    }
  }
  // False: there were none.
  bool dropAll() {
    bool any = false;
    while (dropFirst([&] { return !free.empty(); }))
      any = true;
    return any;
  }

private:
  struct Entry {
    Block block;
    uint64_t size;
  };

  template <typename Condition>
  bool dropFirst(const Condition &isWanted) {
    std::optional<Block> dropped; // goes after the lock
    const std::unique_lock guard(lock, std::try_to_lock);
    if (!guard || !isWanted())
      return false;
    dropped = std::move(free.front().block);
    freeBytes -= free.front().size;
    free.erase(free.begin());
    return true;
  }

  const FreeBlockLimits limits;
  std::mutex lock;
  std::vector<Entry> free; // the one that was freed last at the end
  uint64_t freeBytes = 0;
  std::atomic<uint64_t> usedBytes = 0; // of threads that find the lock taken, too
};

} // namespace vx

#endif

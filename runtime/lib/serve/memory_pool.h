// Memory of the host that batches use again.
#ifndef VX_SERVE_MEMORY_POOL_H
#define VX_SERVE_MEMORY_POOL_H

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace vx::serve {

// A batch of images takes megabytes. Memory of that size that comes from the system and returns to it with each batch
// costs a page fault for each of its pages, and all threads of a process wait for one another in them. Thread-safe;
// memory may outlive the pool.
class MemoryPool {
public:
  // At a multiple of 64, and back in the pool when the last owner drops it. Throws std::bad_alloc.
  std::shared_ptr<std::byte> take(size_t size) {
    Block block = free->take(size);
    if (!block.bytes)
      block = {Bytes(static_cast<std::byte *>(::operator new(size, alignment))), size};
    std::byte *bytes = block.bytes.get();
    return {bytes, [owner = free, block = std::make_shared<Block>(std::move(block))](std::byte *) {
              owner->give(std::move(*block));
            }};
  }

private:
  static constexpr std::align_val_t alignment{64};
  // For the inputs of two batches: one that runs, and one that is joined meanwhile.
  static constexpr size_t mostBlocks = 4;

  struct Delete {
    void operator()(std::byte *bytes) const { ::operator delete(bytes, alignment); }
  };
  using Bytes = std::unique_ptr<std::byte, Delete>;
  struct Block {
    Bytes bytes;
    size_t size = 0;
  };

  class FreeBlocks {
  public:
    // The smallest block that is large enough and not more than twice as large, or none.
    Block take(size_t size) {
      std::lock_guard guard(lock);
      auto best = blocks.end();
      for (auto block = blocks.begin(); block != blocks.end(); ++block)
        if (block->size >= size && block->size / 2 <= size && (best == blocks.end() || block->size < best->size))
          best = block;
      if (best == blocks.end())
        return {};
      Block taken = std::move(*best);
      blocks.erase(best);
      return taken;
    }
    // The block that has been free for the longest time makes room.
    void give(Block block) {
      std::lock_guard guard(lock);
      if (blocks.size() == mostBlocks)
        blocks.erase(blocks.begin());
      blocks.push_back(std::move(block));
    }

  private:
    std::mutex lock;
    std::vector<Block> blocks;
  };

  const std::shared_ptr<FreeBlocks> free = std::make_shared<FreeBlocks>();
};

} // namespace vx::serve

#endif

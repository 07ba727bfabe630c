#include "base/aligned_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define VX_KEEPS_FREE_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VX_KEEPS_FREE_BLOCKS 0
#endif
#endif
#ifndef VX_KEEPS_FREE_BLOCKS
#define VX_KEEPS_FREE_BLOCKS 1
#endif

namespace vx {
namespace {

constexpr uint64_t alignment = VX_BUFFER_ALIGNMENT;

// What stands in front of the bytes.
struct Header {
  uint64_t distance; // from the block's first byte to the bytes
  uint64_t size;     // of the bytes, a multiple of the alignment
};
static_assert(sizeof(Header) <= alignof(std::max_align_t) && alignment % alignof(std::max_align_t) == 0,
              "malloc leaves less room than a header in front of the next aligned address");

Header headerOf(const std::byte *bytes) {
  Header header;
  std::memcpy(&header, bytes - sizeof(header), sizeof(header));
  return header;
}

// The memory is of `malloc`: in glibc before 2.38 `aligned_alloc` needs a larger free block than it returns, so that a
// freed block fits no request of its own size.
std::byte *allocateBlock(uint64_t size) {
  auto *block = static_cast<std::byte *>(std::malloc(size + alignment));
  if (!block)
    return nullptr;
  const Header header = {alignment - reinterpret_cast<uintptr_t>(block) % alignment, size};
  std::byte *bytes = block + header.distance;
  std::memcpy(bytes - sizeof(header), &header, sizeof(header));
  return bytes;
}

void freeBlock(std::byte *bytes) { std::free(bytes - headerOf(bytes).distance); }

// Blocks that nobody uses, the one that was freed last at the end. A process that fork() made while another thread was
// in here finds it locked for ever: such a process, like a thread that would have to wait, does without.
class FreeBlocks {
public:
  static constexpr uint64_t leastSize = 64 << 10;

  // Of the smallest block that is large enough and at most an eighth larger than that, or null.
  std::byte *take(uint64_t size) {
    const std::unique_lock guard(lock, std::try_to_lock);
    if (!guard)
      return nullptr;
    auto best = blocks.end();
    for (auto block = blocks.begin(); block != blocks.end(); ++block)
      if (block->size >= size && block->size - size <= size / 8 && (best == blocks.end() || block->size < best->size))
        best = block;
    if (best == blocks.end())
      return nullptr;
    std::byte *bytes = best->bytes;
    freeBytes -= best->size;
    blocks.erase(best);
    return bytes;
  }
  // A block from `take`, or a new one, is in use until it is given.
  void noteUsed(uint64_t size) { usedBytes.fetch_add(size, std::memory_order_relaxed); }
  void give(std::byte *bytes, uint64_t size) {
    const uint64_t used = usedBytes.fetch_sub(size, std::memory_order_relaxed) - size;
    const std::unique_lock guard(lock, std::try_to_lock);
    if (!guard)
      return freeBlock(bytes);
    try {
      blocks.push_back({bytes, size});
      freeBytes += size;
    } catch (const std::bad_alloc &) {
      return freeBlock(bytes);
    }
    while (freeBytes > std::max(used, mostIdle) || blocks.size() > mostBlocks)
      drop(0);
  }
  // False: there were none.
  bool dropAll() {
    const std::unique_lock guard(lock, std::try_to_lock);
    if (!guard || blocks.empty())
      return false;
    while (!blocks.empty())
      drop(blocks.size() - 1);
    return true;
  }

private:
  static constexpr uint64_t mostIdle = 64 << 20;
  static constexpr size_t mostBlocks = 64;
  struct Block {
    std::byte *bytes;
    uint64_t size;
  };

  void drop(size_t place) {
    freeBytes -= blocks[place].size;
    freeBlock(blocks[place].bytes);
    blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(place));
  }

  std::mutex lock;
  std::vector<Block> blocks;
  uint64_t freeBytes = 0;
  std::atomic<uint64_t> usedBytes = 0; // of threads that find the lock taken, too
};

// It outlives all that is destroyed at the end of the process.
FreeBlocks &freeBlocks() {
  static auto *blocks = new FreeBlocks;
  return *blocks;
}

} // namespace

void FreeAligned::operator()(std::byte *bytes) const {
  const uint64_t size = headerOf(bytes).size;
  if (VX_KEEPS_FREE_BLOCKS && size >= FreeBlocks::leastSize)
    return freeBlocks().give(bytes, size);
  freeBlock(bytes);
}

AlignedMemory allocateAligned(uint64_t size) {
  if (size > PTRDIFF_MAX - 3 * alignment)
    return nullptr;
  const uint64_t rounded = (size / alignment + 1) * alignment;
  if (!VX_KEEPS_FREE_BLOCKS || rounded < FreeBlocks::leastSize)
    return AlignedMemory(allocateBlock(rounded));
  std::byte *bytes = freeBlocks().take(rounded);
  if (!bytes)
    bytes = allocateBlock(rounded);
  if (!bytes && freeBlocks().dropAll())
    bytes = allocateBlock(rounded);
  if (bytes)
    freeBlocks().noteUsed(headerOf(bytes).size);
  return AlignedMemory(bytes);
}

} // namespace vx

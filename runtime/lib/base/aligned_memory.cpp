#include "base/aligned_memory.h"

#include "vx/base/free_blocks.h"

#include <cstdlib>
#include <cstring>
#include <utility>

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

struct GiveToSystem {
  void operator()(std::byte *bytes) const { std::free(bytes - headerOf(bytes).distance); }
};
using Block = std::unique_ptr<std::byte, GiveToSystem>;

constexpr uint64_t leastKept = 64 << 10;

// They outlive all that is destroyed at the end of the process.
FreeBlocks<Block> &freeBlocks() {
  static auto *blocks = new FreeBlocks<Block>;
  return *blocks;
}

} // namespace

void FreeAligned::operator()(std::byte *bytes) const {
  Block block(bytes);
  const uint64_t size = headerOf(bytes).size;
  if (VX_KEEPS_FREE_BLOCKS && size >= leastKept)
    freeBlocks().give(std::move(block), size);
}

AlignedMemory allocateAligned(uint64_t size) {
  if (size > PTRDIFF_MAX - 3 * alignment)
    return nullptr;
  const uint64_t rounded = (size / alignment + 1) * alignment;
  if (!VX_KEEPS_FREE_BLOCKS || rounded < leastKept)
    return AlignedMemory(allocateBlock(rounded));
  std::byte *bytes = nullptr;
  if (std::optional<Block> kept = freeBlocks().take(rounded))
    bytes = kept->release();
  if (!bytes)
    bytes = allocateBlock(rounded);
  if (!bytes && freeBlocks().dropAll())
    bytes = allocateBlock(rounded);
  if (bytes)
    freeBlocks().noteUsed(headerOf(bytes).size);
  return AlignedMemory(bytes);
}

} // namespace vx

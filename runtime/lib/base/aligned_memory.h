// Host memory for the bytes of tensors.
#ifndef VX_BASE_ALIGNED_MEMORY_H
#define VX_BASE_ALIGNED_MEMORY_H

#include "vx/abi/kernel.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace vx {

struct FreeAligned {
  void operator()(std::byte *bytes) const {
    uint64_t distance = 0;
    std::memcpy(&distance, bytes - sizeof(distance), sizeof(distance));
    std::free(bytes - distance);
  }
};
using AlignedMemory = std::unique_ptr<std::byte[], FreeAligned>;

// `size` bytes at a multiple of VX_BUFFER_ALIGNMENT, or null where the system has no more memory. Vector code may read
// whole alignment units, and 0 bytes have an address too.
//
// The memory is of `malloc`, and the distance to its first byte stands before the result. In glibc before 2.38
// `aligned_alloc` needs a larger free block than it returns: a freed block fits no request of its own size, so a
// program that allocates a result for each call touches new pages.
inline AlignedMemory allocateAligned(uint64_t size) {
  constexpr uint64_t alignment = VX_BUFFER_ALIGNMENT;
  static_assert(alignment % alignof(std::max_align_t) == 0 && alignof(std::max_align_t) >= sizeof(uint64_t));
  if (size > PTRDIFF_MAX - 3 * alignment)
    return nullptr;
  const uint64_t rounded = (size / alignment + 1) * alignment;
  auto *block = static_cast<std::byte *>(std::malloc(rounded + alignment));
  if (!block)
    return nullptr;
  const uint64_t distance = alignment - reinterpret_cast<uintptr_t>(block) % alignment;
  std::byte *bytes = block + distance;
  std::memcpy(bytes - sizeof(distance), &distance, sizeof(distance));
  return AlignedMemory(bytes);
}

} // namespace vx

#endif

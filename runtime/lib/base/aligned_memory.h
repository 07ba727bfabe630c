// Host memory for the bytes of tensors.
#ifndef VX_BASE_ALIGNED_MEMORY_H
#define VX_BASE_ALIGNED_MEMORY_H

#include "vx/abi/kernel.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace vx {

struct FreeAligned {
  void operator()(std::byte *bytes) const;
};
using AlignedMemory = std::unique_ptr<std::byte[], FreeAligned>;

// `size` bytes at a multiple of VX_BUFFER_ALIGNMENT, or null where the system has no more memory. Vector code may read
// whole alignment units, and 0 bytes have an address too. Thread-safe.
//
// Results of calls come and go, and the first write to a page that comes from the system takes up to some microseconds,
// as long as a kernel needs for 64 KiB. So freed blocks of 64 KiB and more are kept for the next results of their size:
// as many bytes as there are in use, or 64 MiB if these are fewer. Under the address sanitizer none are kept, so that
// it finds uses of what was freed.
AlignedMemory allocateAligned(uint64_t size);

} // namespace vx

#endif

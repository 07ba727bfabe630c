// What stands around buffers on devices that look for accesses outside of them.
#ifndef VX_RUNTIME_HAL_GUARD_PATTERN_H
#define VX_RUNTIME_HAL_GUARD_PATTERN_H

#include <atomic>
#include <cstdint>
#include <span>

namespace vx::hal {

// Two bytes, over and over: a signalling NaN of f32 and bf16, a NaN of f16, and a huge f64, so that a read shows in the
// results, and arithmetic gives other bits than those that it read. Each allocation has its own one of 63: bytes that a
// kernel copies from outside of one buffer to outside of another show too.
class GuardPattern {
public:
  GuardPattern() {
    static std::atomic<uint32_t> last{0};
    low = static_cast<uint8_t>(0x81 + last++ % 63);
  }

  // Of the byte at `position` of the allocation that the pattern fills.
  uint8_t at(uint64_t position) const { return position % 2 ? 0x7f : low; }

  // `bytes` begin at `position`.
  void fill(std::span<uint8_t> bytes, uint64_t position) const {
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = at(position + i);
  }

  // The first byte that is not the pattern's, or bytes.size(). `bytes` begin at `position`.
  size_t firstChange(std::span<const uint8_t> bytes, uint64_t position) const {
    size_t i = 0;
    while (i < bytes.size() && bytes[i] == at(position + i))
      ++i;
    return i;
  }

private:
  uint8_t low;
};

} // namespace vx::hal

#endif

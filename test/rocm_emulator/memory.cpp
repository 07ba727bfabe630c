#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace vx::rocm_emulator {

// As large as the runtime expects of a device; what is allocated is of whole such pieces.
static constexpr uint64_t alignment = 256;
// A NaN in each float type.
static constexpr int unwritten = 0xff;

void *Memory::allocate(uint64_t size) {
  void *memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  if (!memory)
    return nullptr;
  std::memset(memory, unwritten, size);
  add(reinterpret_cast<uint64_t>(memory), size);
  return memory;
}

bool Memory::free(uint64_t address) {
  {
    std::unique_lock lock(mutex);
    if (pieces.erase(address) == 0)
      return false;
  }
  std::free(reinterpret_cast<void *>(address));
  return true;
}

void Memory::add(uint64_t address, uint64_t size) {
  std::unique_lock lock(mutex);
  pieces[address] = size;
}

void Memory::remove(uint64_t address) {
  std::unique_lock lock(mutex);
  pieces.erase(address);
}

Memory::Range Memory::find(uint64_t address) const {
  std::shared_lock lock(mutex);
  auto after = pieces.upper_bound(address);
  if (after == pieces.begin())
    return {};
  const auto &[begin, size] = *std::prev(after);
  return address - begin < size ? Range{begin, begin + size} : Range{};
}

} // namespace vx::rocm_emulator

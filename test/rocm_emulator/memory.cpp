#include "memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace vx::rocm_emulator {

// As large as the runtime expects of a device; what is allocated is of whole such pieces.
static constexpr uint64_t alignment = 256;
// A NaN in each float type.
static constexpr int unwrittenByte = 0xff;

void *Memory::allocate(uint64_t size) {
  void *memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  if (!memory)
    return nullptr;
  std::memset(memory, unwrittenByte, size);
  add(reinterpret_cast<uint64_t>(memory), size);
  return memory;
}

Memory::Range Memory::free(uint64_t address) {
  std::unique_lock lock(mutex);
  auto found = pieces.extract(address);
  if (found.empty())
    return {};
  const uint64_t size = found.mapped();
  freed.insert(std::move(found));
  return {address, address + size};
}

void Memory::release(uint64_t address) {
  std::unique_lock lock(mutex);
  freed.erase(address);
  std::free(reinterpret_cast<void *>(address));
}

void Memory::add(uint64_t address, uint64_t size) {
  std::unique_lock lock(mutex);
  pieces[address] = size;
}

void Memory::remove(uint64_t address) {
  std::unique_lock lock(mutex);
  pieces.erase(address);
}

static Memory::Range findIn(const std::map<uint64_t, uint64_t> &pieces, uint64_t address) {
  auto after = pieces.upper_bound(address);
  if (after == pieces.begin())
    return {};
  const auto &[begin, size] = *std::prev(after);
  return address - begin < size ? Memory::Range{begin, begin + size} : Memory::Range{};
}

Memory::Range Memory::find(uint64_t address) const {
  std::shared_lock lock(mutex);
  const Range found = findIn(pieces, address);
  if (found.begin == found.end && findIn(freed, address).end != 0) {
    std::fputs("the emulated GPU: memory is used after it was given back\n", stderr);
    std::abort();
  }
  return found;
}

} // namespace vx::rocm_emulator

// What the device can address: host memory, each piece of which was allocated.
#ifndef VX_TEST_ROCM_EMULATOR_MEMORY_H
#define VX_TEST_ROCM_EMULATOR_MEMORY_H

#include <cstdint>
#include <map>
#include <shared_mutex>

namespace vx::rocm_emulator {

// Thread-safe.
class Memory {
public:
  struct Range {
    uint64_t begin = 0, end = 0;

    bool holds(uint64_t address, uint64_t size) const {
      return address >= begin && address < end && size <= end - address;
    }
  };

  // Filled with a pattern: whoever reads what was not written shall see it.
  void *allocate(uint64_t size);
  // Takes it away; whoever finds it then dies with a message, until `release` makes the address one for other memory.
  // An empty range when it was not allocated here, or was freed before.
  Range free(uint64_t address);
  void release(uint64_t address);
  // Makes memory that is allocated elsewhere one of the pieces, and takes it away again.
  void add(uint64_t address, uint64_t size);
  void remove(uint64_t address);
  // The piece that holds `address`, or an empty one.
  Range find(uint64_t address) const;

private:
  mutable std::shared_mutex mutex;
  std::map<uint64_t, uint64_t> pieces; // size by address
  std::map<uint64_t, uint64_t> freed;  // pieces that were given back and not released
};

} // namespace vx::rocm_emulator

#endif

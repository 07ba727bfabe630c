// Host memory that a call takes beside its tensors on the device.
#ifndef VX_RUNTIME_EXEC_HOST_BYTES_H
#define VX_RUNTIME_EXEC_HOST_BYTES_H

#include "base/status.h"

#include <cstdint>

namespace vx {

class InstanceMemory;

// Counted in an instance's memory for as long as this is there. Thread-compatible; the instance outlives it.
class HostBytes {
public:
  // Null, while a module is loaded: nothing is counted.
  explicit HostBytes(InstanceMemory *memory = nullptr) : memory(memory) {}
  HostBytes(const HostBytes &) = delete;
  HostBytes &operator=(const HostBytes &) = delete;
  ~HostBytes() { clear(); }

  // Counts what is about to be taken. VX_OUT_OF_MEMORY where that passes the limit of calls, and then it is not.
  Status add(uint64_t size);
  void clear();
  // Of another memory, with nothing in it.
  void countIn(InstanceMemory *other) {
    clear();
    memory = other;
  }

private:
  InstanceMemory *memory;
  uint64_t bytes = 0;
};

} // namespace vx

#endif

// The register files of a program, and what they hold.
#ifndef VX_RUNTIME_EXEC_REGISTERS_H
#define VX_RUNTIME_EXEC_REGISTERS_H

#include "base/ref.h"
#include "exec/host_bytes.h"
#include "hal/device.h"
#include "vx/runtime/vx.h"

#include <vector>

namespace vx {

// A view of memory. `owner` is set for what an Allocate made; everything else lives as long as the call.
struct BufferRegister {
  hal::BufferView view;
  Ref<hal::Memory> owner;
  bool writable = false;
  uint64_t origin = 0; // of ScheduleCheck: the arena slice, allocation or overwritten input that this is; 0 for
                       // anything else and where nobody checks
  Ref<hal::Memory> slice =
      nullptr; // of an arena slice on a device that separates buffers; unlike `owner` nobody may keep it
};

// A tensor in a list.
struct ListTensor {
  std::vector<int64_t> dims;
  BufferRegister buffer;
};

// A sequence, an optional tensor or an optional sequence. Lists are values: one that another register holds is never
// changed.
class List : public RefCounted {
public:
  vx_element_type elementType = VX_ELEMENT_NONE;
  std::vector<ListTensor> tensors;
  bool isNone = false; // an optional sequence that holds none
  HostBytes held;      // what its elements take beside their bytes

  // About, with what an allocation of its own takes on the host.
  static constexpr uint64_t elementBytes = 256;
};

struct Registers {
  std::vector<int64_t> i64;
  std::vector<BufferRegister> buffers;
  std::vector<Ref<List>> objects;
};

// What a register held and queued work may still use: freed at the next wait.
struct Retired {
  std::vector<Ref<hal::Memory>> memory;
  uint64_t bytes = 0;

  void clear() {
    memory.clear();
    bytes = 0;
  }
};

} // namespace vx

#endif

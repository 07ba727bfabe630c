// Memory of the host that a device copies inputs from by itself, found by its addresses.
#ifndef VX_RUNTIME_EXEC_TRANSFER_MEMORY_H
#define VX_RUNTIME_EXEC_TRANSFER_MEMORY_H

#include "exec/device_context.h"

namespace vx {

// Allocates `size` bytes at a multiple of VX_BUFFER_ALIGNMENT: page-locked for a GPU. Ordinary memory of the host on a
// device that reads that in place, and where the driver has no more of its own or the device is lost. VX_OUT_OF_MEMORY
// where the system has none. Thread-safe, as all of these.
Status allocateTransferMemory(const Ref<DeviceContext> &context, uint64_t size, void *&data);

// The context keeps the memory for the next request. False: no allocation begins at `data`.
bool freeTransferMemory(void *data);

// Bytes of the host inside of an allocation of a device.
struct TransferMemory {
  Ref<hal::Memory> memory; // null: there is none
  uint64_t offset = 0;
};
// Such memory that `device` copies from: its own, and that of other devices of the vendor.
TransferMemory findTransferMemory(const void *bytes, uint64_t size, const hal::Device &device);

} // namespace vx

#endif

// An open device with one stream for transfers outside calls: weights, variables, results read later.
#ifndef VX_RUNTIME_EXEC_DEVICE_CONTEXT_H
#define VX_RUNTIME_EXEC_DEVICE_CONTEXT_H

#include "base/log.h"
#include "hal/device.h"

#include "vx/base/free_blocks.h"

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace vx {

// Thread-safe.
class DeviceContext : public RefCounted {
public:
  // `name` is that of the device in a list of devices: "cuda:0".
  static Status create(Ref<hal::Device> device, std::string name, Ref<DeviceContext> &result) {
    auto context = makeRef<DeviceContext>();
    context->listedName = std::move(name);
    VX_RETURN_IF_ERROR(device->createStream(context->transfer));
    context->opened = std::move(device);
    result = std::move(context);
    return okStatus();
  }

  hal::Device &device() const { return *opened; }
  const std::string &name() const { return listedName; }

  // Each waits until the bytes are where they belong.
  Status upload(const hal::BufferView &destination, const void *data) {
    std::lock_guard lock(mutex);
    return noted([&]() -> Status {
      VX_RETURN_IF_ERROR(transfer->upload(destination, data));
      return transfer->wait();
    }());
  }
  // All of them with one wait.
  Status upload(std::span<const std::pair<hal::BufferView, const void *>> pieces) {
    std::lock_guard lock(mutex);
    return noted([&]() -> Status {
      for (const auto &[destination, data] : pieces)
        VX_RETURN_IF_ERROR(transfer->upload(destination, data));
      return transfer->wait();
    }());
  }
  Status download(const hal::BufferView &source, void *data) {
    std::lock_guard lock(mutex);
    return noted(transfer->download(source, data));
  }
  Status fillZero(const hal::BufferView &destination) {
    std::lock_guard lock(mutex);
    return noted([&]() -> Status {
      VX_RETURN_IF_ERROR(transfer->fillZero(destination));
      return transfer->wait();
    }());
  }

  // Remembers whether the device was lost in what gave `status`.
  Status noted(Status status) {
    if (status.code() == VX_DEVICE_LOST && !lost.exchange(true, std::memory_order_relaxed))
      log(VX_LOG_ERROR, "{}", status.message());
    return status;
  }
  bool isLost() const { return lost.load(std::memory_order_relaxed); }

  // Memory of the host that the driver has made for transfers, and that nobody uses. See transfer_memory.h.
  FreeBlocks<Ref<hal::Memory>> &transferMemory() { return freeTransferMemory; }

private:
  std::atomic<bool> lost = false;
  Ref<hal::Device> opened;
  std::string listedName;
  std::mutex mutex;
  Ref<hal::Stream> transfer;
  // Batches have many sizes, and a driver takes long to lock pages.
  FreeBlocks<Ref<hal::Memory>> freeTransferMemory{{.largerBy = 1, .blocks = 16}};
};

} // namespace vx

#endif

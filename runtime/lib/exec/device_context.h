// An open device with one stream for transfers outside calls: weights, variables, results read later.
#ifndef VX_RUNTIME_EXEC_DEVICE_CONTEXT_H
#define VX_RUNTIME_EXEC_DEVICE_CONTEXT_H

#include "hal/device.h"

#include <mutex>

namespace vx {

// Thread-safe.
class DeviceContext : public RefCounted {
public:
  static Status create(Ref<hal::Device> device, Ref<DeviceContext> &result) {
    auto context = makeRef<DeviceContext>();
    VX_RETURN_IF_ERROR(device->createStream(context->transfer));
    context->opened = std::move(device);
    result = std::move(context);
    return okStatus();
  }

  hal::Device &device() const { return *opened; }

  // Each waits until the bytes are where they belong.
  Status upload(const hal::BufferView &destination, const void *data) {
    std::lock_guard lock(mutex);
    VX_RETURN_IF_ERROR(transfer->upload(destination, data));
    return transfer->wait();
  }
  Status download(const hal::BufferView &source, void *data) {
    std::lock_guard lock(mutex);
    return transfer->download(source, data);
  }
  Status fillZero(const hal::BufferView &destination) {
    std::lock_guard lock(mutex);
    VX_RETURN_IF_ERROR(transfer->fillZero(destination));
    return transfer->wait();
  }

private:
  Ref<hal::Device> opened;
  std::mutex mutex;
  Ref<hal::Stream> transfer;
};

} // namespace vx

#endif

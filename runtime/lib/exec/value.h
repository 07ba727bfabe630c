// A tensor, a sequence of tensors, or one of these or none: what goes into a call and comes out of it.
#ifndef VX_RUNTIME_EXEC_VALUE_H
#define VX_RUNTIME_EXEC_VALUE_H

#include "base/aligned_memory.h"
#include "base/ref.h"
#include "base/status.h"
#include "exec/device_context.h"
#include "module/element_type.h"

#include <mutex>
#include <span>
#include <vector>

namespace vx {

// Immutable, and thus thread-safe. A tensor's bytes are in host memory, in device memory, or (after hostBytes) in both.
class Value : public RefCounted {
public:
  static Status copyTensor(vx_element_type type, std::span<const int64_t> dims, const void *data, uint64_t size,
                           Ref<Value> &value);
  static Status wrapTensor(vx_element_type type, std::span<const int64_t> dims, const void *data, uint64_t size,
                           void (*release)(void *user), void *user, Ref<Value> &value);
  // A tensor on a device; `size` is what type and dims need, from `offset` in `memory`.
  static Ref<Value> deviceTensor(vx_element_type type, std::vector<int64_t> dims, uint64_t size,
                                 Ref<DeviceContext> context, Ref<hal::Memory> memory, uint64_t offset);
  // A tensor of strings, copied.
  static Status strings(std::span<const int64_t> dims, std::span<const std::string_view> texts, Ref<Value> &value);
  static Status list(vx_value_kind kind, vx_element_type type, std::vector<Ref<Value>> elements, Ref<Value> &value);

  vx_value_kind kind() const { return valueKind; }
  vx_element_type elementType() const { return type; }
  std::span<const int64_t> dims() const { return shape; }
  uint64_t size() const { return byteSize; }
  std::span<const Ref<Value>> elements() const { return parts; }
  // The tensors of a sequence or optional, of the sequence that one holds too.
  std::span<const Ref<Value>> tensors() const {
    return valueKind == VX_OPTIONAL_SEQUENCE && !parts.empty() ? parts.front()->tensors() : parts;
  }

  // "f32[2,3]", "sequence of f32"
  std::string typeString() const;

  // Of a tensor of strings, which has no bytes: how many they are, and one of them.
  size_t stringCount() const { return stringEnds.size(); }
  std::string_view string(size_t index) const {
    const size_t begin = index == 0 ? 0 : stringEnds[index - 1];
    return std::string_view(stringBytes).substr(begin, stringEnds[index] - begin);
  }

  // The tensor's bytes in host memory; a device tensor is fetched once.
  Status hostBytes(const void *&bytes) const;
  // Where they are in host memory by now; null: nowhere.
  const void *knownHostBytes() const {
    std::lock_guard lock(fetchMutex);
    return host;
  }

  // Whether its bytes are in host memory by now, those of its elements too: no device is needed to read them.
  bool isOnHost() const;

  // The device that holds the tensor, if any, and where.
  DeviceContext *context() const { return deviceContext.get(); }
  const Ref<hal::Memory> &memory() const { return deviceMemory; }
  uint64_t offset() const { return deviceOffset; }

protected:
  ~Value() override;

private:
  friend Ref<Value> makeRef<Value>();
  Value() = default;

  vx_value_kind valueKind = VX_TENSOR;
  vx_element_type type = VX_ELEMENT_NONE;
  std::vector<int64_t> shape;
  uint64_t byteSize = 0;
  std::vector<Ref<Value>> parts;
  std::string stringBytes; // one behind the other
  std::vector<size_t> stringEnds;

  mutable std::mutex fetchMutex;
  mutable const void *host = nullptr;
  mutable AlignedMemory owned;
  void (*releaseHost)(void *user) = nullptr;
  void *releaseArgument = nullptr;

  Ref<DeviceContext> deviceContext;
  Ref<hal::Memory> deviceMemory;
  uint64_t deviceOffset = 0;
};

// True where kernels of `device` read the tensor where it is in memory of a device.
bool isReadInPlace(const Value &value, hal::Device &device);

} // namespace vx

#endif

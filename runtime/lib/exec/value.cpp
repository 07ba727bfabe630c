#include "exec/value.h"

#include "vx/base/utf8.h"

#include <algorithm>
#include <cstring>

namespace vx {

Value::~Value() {
  if (releaseHost)
    releaseHost(releaseArgument);
}

static Status checkTensor(vx_element_type type, std::span<const int64_t> dims, const void *data, uint64_t size) {
  if (dims.size() > maxRank)
    return failure(VX_INVALID_ARGUMENT, "rank is {}, allowed are {}", dims.size(), maxRank);
  if (type == VX_STRING)
    return failure(VX_UNSUPPORTED, "a tensor of strings is made of strings, not of bytes");
  if (elementTypeBits(type) == 0)
    return failure(VX_INVALID_ARGUMENT, "element type has the unknown number {}", static_cast<int>(type));
  uint64_t needed = 0;
  VX_RETURN_IF_ERROR(tensorByteSize(type, dims, needed));
  if (needed != size)
    return failure(VX_INVALID_ARGUMENT, "{} needs {} bytes, got {}", tensorTypeString(type, dims), needed, size);
  if (size && !data)
    return failure(VX_INVALID_ARGUMENT, "argument 'data' is a null pointer, {} needs {} bytes",
                   tensorTypeString(type, dims), size);
  return okStatus();
}

Status Value::wrapTensor(vx_element_type type, std::span<const int64_t> dims, const void *data, uint64_t size,
                         void (*release)(void *user), void *user, Ref<Value> &result) {
  VX_RETURN_IF_ERROR(checkTensor(type, dims, data, size));
  Ref<Value> value = makeRef<Value>();
  value->type = type;
  value->shape.assign(dims.begin(), dims.end());
  value->byteSize = size;
  value->host = data;
  value->releaseHost = release;
  value->releaseArgument = user;
  result = std::move(value);
  return okStatus();
}

Status Value::copyTensor(vx_element_type type, std::span<const int64_t> dims, const void *data, uint64_t size,
                         Ref<Value> &result) {
  VX_RETURN_IF_ERROR(checkTensor(type, dims, data, size));
  AlignedMemory copy = allocateAligned(size);
  if (!copy)
    return failure(VX_OUT_OF_MEMORY, "{}: asked for {} bytes, but the system has no more memory",
                   tensorTypeString(type, dims), size);
  if (size)
    std::memcpy(copy.get(), data, size);
  Ref<Value> value = makeRef<Value>();
  value->type = type;
  value->shape.assign(dims.begin(), dims.end());
  value->byteSize = size;
  value->host = copy.get();
  value->owned = std::move(copy);
  result = std::move(value);
  return okStatus();
}

Ref<Value> Value::deviceTensor(vx_element_type type, std::vector<int64_t> dims, uint64_t size,
                               Ref<DeviceContext> context, Ref<hal::Memory> memory, uint64_t offset) {
  Ref<Value> value = makeRef<Value>();
  value->type = type;
  value->shape = std::move(dims);
  value->byteSize = size;
  if (memory->host())
    value->host = static_cast<const uint8_t *>(memory->host()) + offset;
  value->deviceContext = std::move(context);
  value->deviceMemory = std::move(memory);
  value->deviceOffset = offset;
  return value;
}

Status Value::strings(std::span<const int64_t> dims, std::span<const std::string_view> texts, Ref<Value> &result) {
  if (dims.size() > maxRank)
    return failure(VX_INVALID_ARGUMENT, "rank is {}, allowed are {}", dims.size(), maxRank);
  uint64_t needed = 0;
  VX_RETURN_IF_ERROR(tensorByteSize(VX_U8, dims, needed));
  if (needed != texts.size())
    return failure(VX_INVALID_ARGUMENT, "{} needs {} strings, got {}", tensorTypeString(VX_STRING, dims), needed,
                   texts.size());
  uint64_t size = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    size += texts[i].size();
    if (size > VX_MAX_STRING_BYTES)
      return failure(VX_INVALID_ARGUMENT, "{} has more than {} bytes", tensorTypeString(VX_STRING, dims),
                     uint64_t(VX_MAX_STRING_BYTES));
    if (!isUtf8(texts[i]))
      return failure(VX_INVALID_ARGUMENT, "string {} of {} is no UTF-8", i, tensorTypeString(VX_STRING, dims));
  }
  Ref<Value> value = makeRef<Value>();
  value->type = VX_STRING;
  value->shape.assign(dims.begin(), dims.end());
  value->stringBytes.reserve(size);
  value->stringEnds.reserve(texts.size());
  for (std::string_view text : texts) {
    value->stringBytes += text;
    value->stringEnds.push_back(value->stringBytes.size());
  }
  result = std::move(value);
  return okStatus();
}

Status Value::list(vx_value_kind kind, vx_element_type type, std::vector<Ref<Value>> elements, Ref<Value> &result) {
  if (elementTypeBits(storedType(type)) == 0)
    return failure(VX_INVALID_ARGUMENT, "element type has the unknown number {}", static_cast<int>(type));
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i])
      return failure(VX_INVALID_ARGUMENT, "element {} is a null pointer", i);
    const bool wantsSequence = kind == VX_OPTIONAL_SEQUENCE;
    if (elements[i]->kind() != (wantsSequence ? VX_SEQUENCE : VX_TENSOR) || elements[i]->elementType() != type)
      return failure(VX_INVALID_ARGUMENT, "element {}: expected a {} of {}, got {}", i,
                     wantsSequence ? "sequence" : "tensor", elementTypeName(type), elements[i]->typeString());
  }
  Ref<Value> value = makeRef<Value>();
  value->valueKind = kind;
  value->type = type;
  value->parts = std::move(elements);
  result = std::move(value);
  return okStatus();
}

std::string Value::typeString() const {
  switch (valueKind) {
  case VX_SEQUENCE:
    return fmt::format("sequence of {}", elementTypeName(type));
  case VX_OPTIONAL:
    return fmt::format("optional {}", elementTypeName(type));
  case VX_OPTIONAL_SEQUENCE:
    return fmt::format("optional sequence of {}", elementTypeName(type));
  default:
    return tensorTypeString(type, shape);
  }
}

bool Value::isOnHost() const {
  const bool isHeld = valueKind != VX_TENSOR || !deviceMemory || deviceMemory->host() || knownHostBytes();
  return isHeld && std::all_of(parts.begin(), parts.end(), [](const Ref<Value> &part) { return part->isOnHost(); });
}

Status Value::hostBytes(const void *&bytes) const {
  bytes = nullptr;
  if (valueKind != VX_TENSOR)
    return failure(VX_INVALID_ARGUMENT, "expected a tensor, got {}", typeString());
  if (type == VX_STRING)
    return failure(VX_INVALID_ARGUMENT, "expected a tensor of numbers or bools, got {}", typeString());
  // Only a tensor without host bytes from the start changes them later.
  if (!deviceMemory || deviceMemory->host()) {
    bytes = host;
    return okStatus();
  }
  std::lock_guard lock(fetchMutex);
  if (!host) {
    AlignedMemory copy = allocateAligned(byteSize);
    if (!copy)
      return failure(VX_OUT_OF_MEMORY, "{}: asked for {} bytes, but the system has no more memory", typeString(),
                     byteSize);
    VX_RETURN_IF_ERROR(deviceContext->download({deviceMemory.get(), deviceOffset, byteSize}, copy.get()));
    host = copy.get();
    owned = std::move(copy);
  }
  bytes = host;
  return okStatus();
}

bool isReadInPlace(const Value &value, hal::Device &device) {
  if (!value.context())
    return false;
  hal::Device &other = value.context()->device();
  const hal::AddressSpace space = device.info().addressSpace;
  if (&other != &device && !(space.isShared() && other.info().addressSpace == space))
    return false;
  // A kernel's buffers are aligned; a result that is a slice, or what somebody else gives, may not be.
  return hal::BufferView{value.memory().get(), value.offset(), value.size()}.address() % VX_BUFFER_ALIGNMENT == 0;
}

} // namespace vx

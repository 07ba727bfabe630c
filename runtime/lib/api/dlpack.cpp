#include "api/dlpack.h"

#include "api/drivers.h"
#include "base/forks.h"
#include "exec/device_report.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace vx {

namespace {

constexpr uint32_t kMajor = 1, kMinor = 1;
constexpr uint64_t kReadOnly = 1, kPadded = 4; // elements of less than a byte take one each

// What memory of the host is called.
constexpr int32_t kCpu = 1, kCudaHost = 3, kRocmHost = 11;
constexpr std::pair<int32_t, const char *> kOtherDevices[] = {
    {4, "OpenCL"}, {7, "Vulkan"}, {8, "Metal"}, {14, "oneAPI"}};

// Memory of GPUs; of CUDA's there is a kind that moves, which a GPU uses as its own.
struct SpacePair {
  int32_t type;
  hal::AddressSpace::Kind kind;
  const char *driver, *text;
  uintptr_t defaultStream; // its name, CU_STREAM_LEGACY; 0: none
};
constexpr SpacePair kSpaces[] = {{2, hal::AddressSpace::Kind::Cuda, "cuda", "CUDA", 1},
                                 {13, hal::AddressSpace::Kind::Cuda, "cuda", "CUDA", 1},
                                 {10, hal::AddressSpace::Kind::Rocm, "rocm", "ROCm", 0}};

constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6, kFloat8E4M3FN = 10, kFloat8E4M3FNUZ = 11,
                  kFloat8E5M2 = 12, kFloat8E5M2FNUZ = 13, kFloat8E8M0FNU = 14, kFloat4E2M1FN = 17;

struct TypePair {
  vx_element_type type;
  uint8_t code, bits;
};
constexpr TypePair kTypes[] = {{VX_BOOL, kBool, 8},
                               {VX_I8, kInt, 8},
                               {VX_I16, kInt, 16},
                               {VX_I32, kInt, 32},
                               {VX_I64, kInt, 64},
                               {VX_U8, kUint, 8},
                               {VX_U16, kUint, 16},
                               {VX_U32, kUint, 32},
                               {VX_U64, kUint, 64},
                               {VX_F16, kFloat, 16},
                               {VX_BF16, kBfloat, 16},
                               {VX_F32, kFloat, 32},
                               {VX_F64, kFloat, 64},
                               {VX_F8E4M3FN, kFloat8E4M3FN, 8},
                               {VX_F8E4M3FNUZ, kFloat8E4M3FNUZ, 8},
                               {VX_F8E5M2, kFloat8E5M2, 8},
                               {VX_F8E5M2FNUZ, kFloat8E5M2FNUZ, 8},
                               {VX_F8E8M0, kFloat8E8M0FNU, 8},
                               {VX_I4, kInt, 4},
                               {VX_U4, kUint, 4},
                               {VX_F4E2M1, kFloat4E2M1FN, 4},
                               {VX_I2, kInt, 2},
                               {VX_U2, kUint, 2}};

// What a tensor that was given out is made of; it keeps the value.
struct Given {
  DLManagedTensorVersioned tensor = {};
  Ref<Value> value;
  std::vector<int64_t> shape, strides;
};

// What a tensor in a GPU's memory is made of; it ends the tensor, which is somebody else's.
class ForeignMemory final : public hal::Memory {
public:
  ForeignMemory(uint64_t address, uint64_t size) : Memory(address, size, nullptr) {}
  bool isForeign() const override { return true; }

  DLManagedTensorVersioned *owned = nullptr; // none: the caller's, still

protected:
  ~ForeignMemory() override {
    if (owned && owned->deleter)
      owned->deleter(owned);
  }
};

// A GPU, opened for what nobody's instance does: reading a tensor that has come from elsewhere.
struct OpenedSpace {
  Ref<DeviceContext> context;
  Ref<hal::Stream> defaultStream; // none: there is no name for it
};

// It stays open. What is queued in its default stream is done when this returns.
Status openSpace(const SpacePair &pair, int32_t ordinal, Ref<DeviceContext> &context) {
  using Key = std::tuple<hal::AddressSpace, uint32_t>;
  static std::mutex mutex;
  static auto *opened = new std::map<Key, OpenedSpace>; // values may go at the very end of the process
  const hal::AddressSpace space = {pair.kind, ordinal};
  std::lock_guard lock(mutex);
  OpenedSpace &place = (*opened)[{space, forkCount()}];
  if (!place.context || place.context->isLost()) {
    place = {};
    hal::Driver *driver = findDriver(allDrivers(), pair.driver);
    std::vector<hal::DeviceInfo> devices;
    const hal::Refusal refusal = driver->enumerate(devices);
    if (devices.empty())
      return failure(VX_NO_DEVICE, "the tensor is in memory of {} device {}: {}", pair.text, ordinal, refusal.reason);
    uint32_t index = 0;
    while (index < devices.size() && devices[index].addressSpace != space)
      ++index;
    if (index == devices.size())
      return failure(VX_NO_DEVICE, "the tensor is in memory of {} device {}, which is not one of the {} there are",
                     pair.text, ordinal, devices.size());
    Ref<hal::Device> device;
    VX_RETURN_IF_ERROR(driver->open(index, {}, device));
    Ref<hal::Stream> stream;
    if (pair.defaultStream)
      VX_RETURN_IF_ERROR(device->createStream(stream));
    VX_RETURN_IF_ERROR(
        DeviceContext::create(std::move(device), fmt::format("{}:{}", pair.driver, index), place.context));
    place.defaultStream = std::move(stream);
  }
  if (place.defaultStream) {
    VX_RETURN_IF_ERROR(place.defaultStream->useCallerStream(reinterpret_cast<void *>(pair.defaultStream)));
    VX_RETURN_IF_ERROR(place.context->noted(place.defaultStream->wait()));
  }
  context = place.context;
  return okStatus();
}

const SpacePair *findSpace(DLDevice device) {
  for (const SpacePair &pair : kSpaces)
    if (device.device_type == pair.type)
      return &pair;
  return nullptr;
}

Status checkDevice(DLDevice device) {
  if (device.device_type == kCpu || device.device_type == kCudaHost || device.device_type == kRocmHost ||
      findSpace(device))
    return okStatus();
  for (auto [number, name] : kOtherDevices)
    if (device.device_type == number)
      return failure(VX_UNSUPPORTED,
                     "the tensor is in memory of {} device {}, expected memory of the host, of CUDA or of ROCm", name,
                     device.device_id);
  return failure(VX_UNSUPPORTED,
                 "the tensor is in memory of DLPack's device type {}, expected memory of the host, of CUDA or of ROCm",
                 device.device_type);
}

Status findType(DLDataType type, vx_element_type &found) {
  for (const TypePair &pair : kTypes)
    if (pair.code == type.code && pair.bits == type.bits && type.lanes == 1) {
      found = pair.type;
      return okStatus();
    }
  return failure(VX_UNSUPPORTED, "the tensor has DLPack's type code {} of {} bits and {} lanes, which is no type of vx",
                 type.code, type.bits, type.lanes);
}

// Row-major without gaps. The stride of a dimension of one place is of no matter, nor are those of a tensor of none.
Status checkStrides(const DLTensor &tensor, std::span<const int64_t> dims) {
  if (!tensor.strides)
    return okStatus();
  for (int64_t dim : dims)
    if (dim == 0)
      return okStatus();
  int64_t wanted = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] != 1 && tensor.strides[d] != wanted)
      return failure(VX_UNSUPPORTED, "dimension {} has the stride {}, expected {}: row-major without gaps", d,
                     tensor.strides[d], wanted);
    // Of dims that are too large together the size is refused later.
    if (__builtin_mul_overflow(wanted, dims[d], &wanted))
      return okStatus();
  }
  return okStatus();
}

} // namespace

Status valueFromDlpack(DLManagedTensorVersioned &tensor, Ref<Value> &value) {
  const DLTensor &inner = tensor.dl_tensor;
  if (tensor.version.major != kMajor)
    return failure(VX_UNSUPPORTED, "the tensor is of DLPack {}.{}, expected version {}", tensor.version.major,
                   tensor.version.minor, kMajor);
  VX_RETURN_IF_ERROR(checkDevice(inner.device));
  vx_element_type type = VX_ELEMENT_NONE;
  VX_RETURN_IF_ERROR(findType(inner.dtype, type));
  if (elementTypeBits(type) < 8 && (tensor.flags & kPadded))
    return failure(VX_UNSUPPORTED, "the tensor has a byte for each {}, expected packed elements",
                   elementTypeName(type));
  if (inner.ndim < 0 || (inner.ndim > 0 && !inner.shape))
    return failure(VX_INVALID_ARGUMENT, "the tensor has {} dimensions and {}", inner.ndim,
                   inner.shape ? "their sizes" : "no sizes of them");
  std::span<const int64_t> dims(inner.shape, static_cast<size_t>(inner.ndim));
  VX_RETURN_IF_ERROR(checkStrides(inner, dims));
  uint64_t size = 0;
  VX_RETURN_IF_ERROR(tensorByteSize(type, dims, size));
  const void *data = inner.data ? static_cast<const uint8_t *>(inner.data) + inner.byte_offset : nullptr;
  if (const SpacePair *space = findSpace(inner.device); space && size > 0) {
    if (!data)
      return failure(VX_INVALID_ARGUMENT, "the tensor has no data, and its shape {} bytes", size);
    if (dims.size() > maxRank)
      return failure(VX_INVALID_ARGUMENT, "rank is {}, allowed are {}", dims.size(), maxRank);
    Ref<DeviceContext> context;
    VX_RETURN_IF_ERROR(openSpace(*space, inner.device.device_id, context));
    auto memory = makeRef<ForeignMemory>(reinterpret_cast<uint64_t>(data), size);
    memory->owned = &tensor;
    value = Value::deviceTensor(type, {dims.begin(), dims.end()}, size, std::move(context), std::move(memory), 0);
    return okStatus();
  }
  return Value::wrapTensor(
      type, dims, data, size,
      [](void *user) {
        auto *owned = static_cast<DLManagedTensorVersioned *>(user);
        if (owned->deleter)
          owned->deleter(owned);
      },
      &tensor, value);
}

Status valueToDlpack(const Ref<Value> &value, bool inPlace, DLManagedTensorVersioned *&tensor) {
  if (value->kind() != VX_TENSOR)
    return failure(VX_INVALID_ARGUMENT, "expected a tensor, got {}", value->typeString());
  const TypePair *type = nullptr;
  for (const TypePair &pair : kTypes)
    if (pair.type == value->elementType())
      type = &pair;
  if (!type)
    return failure(VX_UNSUPPORTED, "{} is of a type that DLPack has not", value->typeString());
  const void *bytes = nullptr;
  DLDevice device = {kCpu, 0};
  if (inPlace && value->memory() && !value->memory()->host()) {
    const hal::DeviceInfo &info = value->context()->device().info();
    const SpacePair *space = nullptr;
    for (const SpacePair &pair : kSpaces)
      if (!space && pair.kind == info.addressSpace.kind)
        space = &pair;
    if (!space)
      return failure(
          VX_UNSUPPORTED,
          "{} is in memory of '{}', which has no addresses for others; vx_tensor_to_dlpack copies it to the host",
          value->typeString(), info.name);
    device = {space->type, info.addressSpace.ordinal};
    bytes = reinterpret_cast<const void *>(value->memory()->address() + value->offset());
  } else {
    VX_RETURN_IF_ERROR(value->hostBytes(bytes));
  }

  auto given = std::make_unique<Given>();
  given->value = value;
  given->shape.assign(value->dims().begin(), value->dims().end());
  given->strides.assign(given->shape.size(), 1);
  for (size_t d = given->shape.size(); d-- > 1;)
    given->strides[d - 1] = given->strides[d] * given->shape[d];
  given->tensor.version = {kMajor, kMinor};
  given->tensor.manager_ctx = given.get();
  given->tensor.deleter = [](DLManagedTensorVersioned *self) { delete static_cast<Given *>(self->manager_ctx); };
  given->tensor.flags = kReadOnly;
  DLTensor &inner = given->tensor.dl_tensor;
  inner.data = value->size() ? const_cast<void *>(bytes) : nullptr; // told to be read-only
  inner.device = device;
  inner.ndim = static_cast<int32_t>(given->shape.size());
  inner.dtype = {type->code, type->bits, 1};
  inner.shape = given->shape.data();
  inner.strides = given->strides.data();
  tensor = &given.release()->tensor;
  return okStatus();
}

} // namespace vx

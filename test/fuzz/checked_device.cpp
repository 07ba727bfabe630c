#include "checked_device.h"

#include <cstdlib>
#include <cstring>

extern "C" {
void scale_add(const uint64_t *block, uint32_t wx, uint32_t wy);
void gather(const uint64_t *block, uint32_t wx, uint32_t wy);
}

namespace vx::fuzz {

namespace {

// A module of the fuzzer needs little, and each of its runs shall be short.
constexpr uint64_t maxAllocation = 1 << 20;

class CheckedMemory final : public hal::Memory {
public:
  CheckedMemory(void *bytes, uint64_t size) : Memory(reinterpret_cast<uint64_t>(bytes), size, bytes) {}

protected:
  ~CheckedMemory() override { std::free(host()); }
};

class CheckedExecutable final : public hal::Executable {
public:
  std::vector<vx_cpu_kernel> kernels;
};

class CheckedList final : public hal::CommandList {
public:
  hal::SegmentShape shape;
  Ref<hal::Executable> executable;
};

uint8_t *bytesOf(const hal::BufferView &view) { return static_cast<uint8_t *>(view.memory->host()) + view.offset; }

class CheckedStream final : public hal::Stream {
public:
  Status record(const hal::SegmentShape &shape, const Ref<hal::Executable> &executable,
                Ref<hal::CommandList> &list) override {
    Ref<CheckedList> made = makeRef<CheckedList>();
    made->shape = shape;
    made->executable = executable;
    list = std::move(made);
    return okStatus();
  }
  Status replay(hal::CommandList &list, std::span<const hal::CommandArguments> arguments, int64_t *) override {
    const auto &recorded = static_cast<CheckedList &>(list);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const hal::CommandShape &shape = recorded.shape.commands[i];
      const hal::CommandArguments &given = arguments[i];
      if (shape.kind == hal::CommandKind::Copy) {
        VX_RETURN_IF_ERROR(copy(given.buffers[0], given.buffers[1]));
        continue;
      }
      std::vector<uint64_t> block = {reinterpret_cast<uint64_t>(&fault), given.workspace.address(), given.workgroups,
                                     given.faultSite};
      for (uint32_t b = 0; b < shape.bufferCount; ++b)
        block.push_back(given.buffers[b].address());
      for (uint32_t s = 0; s < shape.scalarCount; ++s)
        block.push_back(static_cast<uint64_t>(given.scalars[s]));
      vx_cpu_kernel kernel = static_cast<CheckedExecutable &>(*recorded.executable).kernels[shape.kernel];
      for (uint64_t w = 0; w < given.workgroups; ++w)
        kernel(block.data(), static_cast<uint32_t>(w % VX_GRID_X), static_cast<uint32_t>(w / VX_GRID_X));
    }
    return okStatus();
  }
  Status upload(const hal::BufferView &destination, const void *data) override {
    if (destination.size)
      std::memcpy(bytesOf(destination), data, destination.size);
    return okStatus();
  }
  Status download(const hal::BufferView &source, void *data) override {
    if (source.size)
      std::memcpy(data, bytesOf(source), source.size);
    return okStatus();
  }
  Status copy(const hal::BufferView &source, const hal::BufferView &destination) override {
    if (source.size)
      std::memcpy(bytesOf(destination), bytesOf(source), source.size);
    return okStatus();
  }
  Status fillZero(const hal::BufferView &destination) override {
    if (destination.size)
      std::memset(bytesOf(destination), 0, destination.size);
    return okStatus();
  }
  Status resetFault() override {
    fault = {};
    return okStatus();
  }
  Status readFault(vx_fault_record &record) override {
    record = fault;
    return okStatus();
  }
  Status wait() override { return okStatus(); }

private:
  vx_fault_record fault = {};
};

class CheckedDevice final : public hal::Device {
public:
  explicit CheckedDevice(hal::DeviceInfo info) : deviceInfo(std::move(info)) {}

  const hal::DeviceInfo &info() const override { return deviceInfo; }
  Status allocate(uint64_t size, hal::MemoryKind, Ref<hal::Memory> &memory) override {
    void *bytes = nullptr;
    if (size > maxAllocation || posix_memalign(&bytes, VX_BUFFER_ALIGNMENT, size) != 0)
      return failure(VX_OUT_OF_MEMORY, "asked for {} bytes, allowed are {}", size, maxAllocation);
    if (size)
      std::memset(bytes, 1, size);
    memory = makeRef<CheckedMemory>(bytes, size);
    return okStatus();
  }
  Status load(const hal::CodeImage &image, Ref<hal::Executable> &executable) override {
    Ref<CheckedExecutable> loaded = makeRef<CheckedExecutable>();
    for (const hal::KernelImage &kernel : image.kernels) {
      if (kernel.entry != "scale_add" && kernel.entry != "gather")
        return failure(VX_INVALID_MODULE, "there is no kernel '{}'", kernel.entry);
      loaded->kernels.push_back(kernel.entry == "gather" ? gather : scale_add);
    }
    executable = std::move(loaded);
    return okStatus();
  }
  Status createStream(Ref<hal::Stream> &stream) override {
    stream = makeRef<CheckedStream>();
    return okStatus();
  }

private:
  hal::DeviceInfo deviceInfo;
};

class CheckedDriver final : public hal::Driver {
public:
  std::string_view name() const override { return "checked"; }
  std::string_view target() const override { return ""; }
  hal::Refusal enumerate(std::vector<hal::DeviceInfo> &devices) override {
    devices.emplace_back().name = "checked";
    devices.back().maxAllocation = maxAllocation;
    return {};
  }
  Status open(uint32_t, const hal::DeviceOptions &, Ref<hal::Device> &device) override {
    std::vector<hal::DeviceInfo> devices;
    enumerate(devices);
    device = makeRef<CheckedDevice>(std::move(devices.front()));
    return okStatus();
  }
};

} // namespace

hal::Driver &checkedDriver() {
  static CheckedDriver driver;
  return driver;
}

} // namespace vx::fuzz

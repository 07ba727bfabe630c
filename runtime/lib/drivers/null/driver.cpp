#include "drivers/null/driver.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace vx::drivers {

namespace {

struct Counters {
  std::atomic<uint64_t> allocations{0}, allocatedBytes{0}, recordings{0}, replays{0}, dispatches{0}, copies{0};
};
Counters counters;

// Address space is handed out and never reused, so that two allocations are never taken for one.
std::atomic<uint64_t> nextAddress{uint64_t(1) << 32};

class NullMemory final : public hal::Memory {
public:
  NullMemory(uint64_t address, uint64_t size, void *staging) : Memory(address, size, staging), staging(staging) {}

protected:
  ~NullMemory() override { std::free(staging); }

private:
  void *staging;
};

class NullExecutable final : public hal::Executable {};

class NullCommandList final : public hal::CommandList {
public:
  explicit NullCommandList(hal::SegmentShape shape) : shape(std::move(shape)) {}
  hal::SegmentShape shape;
};

class NullStream final : public hal::Stream {
public:
  Status record(const hal::SegmentShape &shape, const Ref<hal::Executable> &, Ref<hal::CommandList> &list) override {
    ++counters.recordings;
    list = makeRef<NullCommandList>(shape);
    return okStatus();
  }
  Status replay(hal::CommandList &list, std::span<const hal::CommandArguments> arguments, int64_t *timings) override {
    const auto &shape = static_cast<NullCommandList &>(list).shape;
    ++counters.replays;
    for (size_t i = 0; i < arguments.size(); ++i) {
      ++(shape.commands[i].kind == hal::CommandKind::Dispatch ? counters.dispatches : counters.copies);
      if (timings)
        timings[i] = -1;
    }
    return okStatus();
  }
  Status upload(const hal::BufferView &, const void *) override { return okStatus(); }
  Status download(const hal::BufferView &source, void *data) override {
    if (source.size)
      std::memset(data, 0, source.size);
    return okStatus();
  }
  Status copy(const hal::BufferView &, const hal::BufferView &) override { return okStatus(); }
  Status fillZero(const hal::BufferView &) override { return okStatus(); }
  Status resetFault() override { return okStatus(); }
  Status readFault(vx_fault_record &fault) override {
    fault = {};
    return okStatus();
  }
  Status wait() override { return okStatus(); }
};

class NullDevice final : public hal::Device {
public:
  explicit NullDevice(hal::DeviceInfo info) : deviceInfo(std::move(info)) {}

  const hal::DeviceInfo &info() const override { return deviceInfo; }

  Status allocate(uint64_t size, hal::MemoryKind kind, Ref<hal::Memory> &memory) override {
    memory = nullptr;
    if (size > deviceInfo.maxAllocation)
      return failure(VX_OUT_OF_MEMORY, "asked for {} bytes, but device 'null' allows at most {} in one buffer", size,
                     deviceInfo.maxAllocation);
    void *staging = nullptr;
    if (kind == hal::MemoryKind::Staging) {
      staging = std::calloc(size + 1, 1);
      if (!staging)
        return failure(VX_OUT_OF_MEMORY, "asked for {} bytes of device 'null', but the system has no more memory",
                       size);
    }
    ++counters.allocations;
    counters.allocatedBytes += size;
    uint64_t rounded = (size / VX_BUFFER_ALIGNMENT + 1) * VX_BUFFER_ALIGNMENT;
    memory = makeRef<NullMemory>(nextAddress.fetch_add(rounded), size, staging);
    return okStatus();
  }

  Status load(const hal::CodeImage &, Ref<hal::Executable> &executable) override {
    executable = makeRef<NullExecutable>();
    return okStatus();
  }

  Status createStream(Ref<hal::Stream> &stream) override {
    stream = makeRef<NullStream>();
    return okStatus();
  }

private:
  hal::DeviceInfo deviceInfo;
};

class NullDriver final : public hal::Driver {
public:
  std::string_view name() const override { return "null"; }
  std::string_view target() const override { return ""; }

  hal::Refusal enumerate(std::vector<hal::DeviceInfo> &devices) override {
    hal::DeviceInfo &info = devices.emplace_back();
    info.name = "null";
    info.details = "does nothing";
    info.maxAllocation = uint64_t(1) << 40;
    return {};
  }

  Status open(uint32_t index, const hal::DeviceOptions &, Ref<hal::Device> &device) override {
    std::vector<hal::DeviceInfo> devices;
    enumerate(devices);
    if (index >= devices.size())
      return failure(VX_INVALID_ARGUMENT, "device null:{} does not exist, there are {}", index, devices.size());
    device = makeRef<NullDevice>(std::move(devices[index]));
    return okStatus();
  }
};

} // namespace

hal::Driver &nullDriver() {
  static NullDriver driver;
  return driver;
}

NullCounters nullCounters() {
  return {counters.allocations, counters.allocatedBytes, counters.recordings,
          counters.replays,     counters.dispatches,     counters.copies};
}

} // namespace vx::drivers

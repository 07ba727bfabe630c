#include "exec/guarded_device.h"

#include "hal/guard_pattern.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace vx {

// A gap is wider than the rows of what tests compute, so that an index that is off by one row meets it too.
static constexpr uint64_t gapBytes = 4096;
static constexpr uint64_t chunkBytes = uint64_t(1) << 20;
static_assert(gapBytes % VX_BUFFER_ALIGNMENT == 0);

// The part of another allocation that lies between the gaps.
class GuardedMemory final : public hal::Memory {
public:
  GuardedMemory(Ref<GuardedDevice> device, Ref<hal::Memory> whole, uint64_t size, hal::GuardPattern pattern)
      : Memory(whole->address() + gapBytes, size,
               whole->host() ? static_cast<uint8_t *>(whole->host()) + gapBytes : nullptr),
        pattern(pattern), device(std::move(device)), whole(std::move(whole)) {}

  hal::BufferView inside(const hal::BufferView &view) const { return {whole.get(), view.offset + gapBytes, view.size}; }
  hal::BufferView front() const { return {whole.get(), 0, gapBytes}; }
  hal::BufferView back() const { return {whole.get(), gapBytes + size(), whole->size() - gapBytes - size()}; }

  const hal::GuardPattern pattern;
  // Of the device's, which looks at them under its mutex.
  std::vector<std::string> writers, readers;

protected:
  ~GuardedMemory() override { device->forget(*this); }

private:
  Ref<GuardedDevice> device;
  Ref<hal::Memory> whole;
};

static hal::BufferView insideOf(const hal::BufferView &view) {
  return view.memory ? static_cast<GuardedMemory *>(view.memory)->inside(view) : view;
}

namespace {

// Hands everything on, with the views of the other device's memory.
class GuardedStream final : public hal::Stream {
public:
  explicit GuardedStream(Ref<hal::Stream> stream) : stream(std::move(stream)) {}

  Status record(const hal::SegmentShape &shape, const Ref<hal::Executable> &executable,
                Ref<hal::CommandList> &list) override {
    Ref<hal::CommandList> recorded;
    VX_RETURN_IF_ERROR(stream->record(shape, executable, recorded));
    list = makeRef<GuardedList>(std::move(recorded), shape);
    return okStatus();
  }
  Status replay(hal::CommandList &list, std::span<const hal::CommandArguments> arguments, int64_t *timings) override {
    auto &guarded = static_cast<GuardedList &>(list);
    std::vector<hal::CommandArguments> inside(arguments.begin(), arguments.end());
    std::vector<std::vector<hal::BufferView>> views(arguments.size());
    for (size_t i = 0; i < inside.size(); ++i) {
      for (size_t b = 0; b < guarded.bufferCounts[i]; ++b)
        views[i].push_back(insideOf(inside[i].buffers[b]));
      inside[i].buffers = views[i].data();
      inside[i].workspace = insideOf(inside[i].workspace);
    }
    return stream->replay(*guarded.list, inside, timings);
  }
  Status upload(const hal::BufferView &destination, const void *data) override {
    return stream->upload(insideOf(destination), data);
  }
  Status download(const hal::BufferView &source, void *data) override {
    return stream->download(insideOf(source), data);
  }
  Status copy(const hal::BufferView &source, const hal::BufferView &destination) override {
    return stream->copy(insideOf(source), insideOf(destination));
  }
  Status fillZero(const hal::BufferView &destination) override { return stream->fillZero(insideOf(destination)); }
  Status resetFault() override { return stream->resetFault(); }
  Status readFault(vx_fault_record &fault) override { return stream->readFault(fault); }
  Status wait() override { return stream->wait(); }
  Status useCallerStream(void *handle) override { return stream->useCallerStream(handle); }

private:
  class GuardedList final : public hal::CommandList {
  public:
    GuardedList(Ref<hal::CommandList> list, const hal::SegmentShape &shape) : list(std::move(list)) {
      for (const hal::CommandShape &command : shape.commands)
        bufferCounts.push_back(command.kind == hal::CommandKind::Copy ? 2 : command.bufferCount);
    }
    Ref<hal::CommandList> list;
    std::vector<size_t> bufferCounts;
  };

  Ref<hal::Stream> stream;
};

} // namespace

bool GuardedDevice::wanted() {
  const char *value = std::getenv("VX_CHECK_ARENA");
  return value && *value && std::string_view(value) != "0";
}

Status GuardedDevice::create(Ref<hal::Device> device, Ref<GuardedDevice> &result) {
  auto guarded = makeRef<GuardedDevice>();
  VX_RETURN_IF_ERROR(device->createStream(guarded->transfer));
  guarded->deviceInfo = device->info();
  guarded->deviceInfo.addressSpace = {};    // what others have no gaps around is copied
  guarded->deviceInfo.sharesMemory = false; // nor has a file gaps
  guarded->deviceInfo.separatesBuffers = true;
  guarded->device = std::move(device);
  result = std::move(guarded);
  return okStatus();
}

Status GuardedDevice::allocate(uint64_t size, hal::MemoryKind kind, Ref<hal::Memory> &memory) {
  memory = nullptr;
  if (size > deviceInfo.maxAllocation || deviceInfo.maxAllocation - size < 2 * gapBytes)
    return failure(VX_OUT_OF_MEMORY, "asked for {} bytes and the gaps around them, but device '{}' allows at most {}",
                   size, deviceInfo.name, deviceInfo.maxAllocation);
  Ref<hal::Memory> whole;
  VX_RETURN_IF_ERROR(device->allocate(size + 2 * gapBytes, kind, whole));
  // The bytes between the gaps too: a read of what nobody has written shows.
  const hal::GuardPattern pattern;
  std::vector<uint8_t> filled(std::min(chunkBytes, whole->size()));
  pattern.fill(filled, 0);
  std::lock_guard lock(mutex);
  for (uint64_t at = 0; at < whole->size(); at += filled.size())
    VX_RETURN_IF_ERROR(
        transfer->upload({whole.get(), at, std::min<uint64_t>(filled.size(), whole->size() - at)}, filled.data()));
  VX_RETURN_IF_ERROR(transfer->wait());
  auto guarded = makeRef<GuardedMemory>(Ref<GuardedDevice>(this), std::move(whole), size, pattern);
  allocations.insert(guarded.get());
  memory = std::move(guarded);
  return okStatus();
}

Status GuardedDevice::createStream(Ref<hal::Stream> &stream) {
  Ref<hal::Stream> inner;
  VX_RETURN_IF_ERROR(device->createStream(inner));
  stream = makeRef<GuardedStream>(std::move(inner));
  return okStatus();
}

void GuardedDevice::noteUser(hal::Memory &memory, std::string user, bool writes) {
  std::lock_guard lock(mutex);
  auto &guarded = static_cast<GuardedMemory &>(memory);
  std::vector<std::string> &users = writes ? guarded.writers : guarded.readers;
  if (std::find(users.begin(), users.end(), user) == users.end())
    users.push_back(std::move(user));
}

Status GuardedDevice::compare(const GuardedMemory &memory) {
  std::vector<uint8_t> bytes;
  auto gap = [&](const hal::BufferView &view, int64_t position) -> Status {
    bytes.resize(view.size);
    VX_RETURN_IF_ERROR(transfer->download(view, bytes.data()));
    const size_t first = memory.pattern.firstChange(bytes, view.offset);
    if (first == bytes.size())
      return okStatus();
    size_t end = bytes.size();
    while (bytes[end - 1] == memory.pattern.at(view.offset + end - 1))
      --end;
    const std::vector<std::string> &users = memory.writers.empty() ? memory.readers : memory.writers;
    return failure(VX_INVALID_MODULE, "bytes {} to {} of a buffer of {} bytes are overwritten; it is {} by {}",
                   position + static_cast<int64_t>(first), position + static_cast<int64_t>(end), memory.size(),
                   memory.writers.empty() ? "only read" : "written",
                   users.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(users, " and ")));
  };
  VX_RETURN_IF_ERROR(gap(memory.front(), -static_cast<int64_t>(gapBytes)));
  return gap(memory.back(), static_cast<int64_t>(memory.size()));
}

Status GuardedDevice::check() {
  std::lock_guard lock(mutex);
  VX_RETURN_IF_ERROR(std::exchange(freed, okStatus()));
  for (const GuardedMemory *memory : allocations)
    VX_RETURN_IF_ERROR(compare(*memory));
  return okStatus();
}

void GuardedDevice::forget(GuardedMemory &memory) {
  std::lock_guard lock(mutex);
  allocations.erase(&memory);
  // Of a device that is lost nothing can be said.
  if (Status status = compare(memory); freed.ok() && status.code() == VX_INVALID_MODULE)
    freed = std::move(status);
}

} // namespace vx

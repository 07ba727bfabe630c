#include "drivers/host/host_device.h"

#include "drivers/host/cpu_features.h"
#include "drivers/host/elf_image.h"
#include "drivers/host/page_guard.h"

#include "base/aligned_memory.h"
#include "base/thread_pool.h"
#include "hal/parameter_block.h"
#include "vx/base/host_memory.h"

#include <fmt/ranges.h>

#include <chrono>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace vx::drivers {

namespace {

// Kernels run with the default rounding and with denormals kept, whatever the caller has set: results must not depend
// on the thread that computed them.
class FloatEnvironment {
public:
#if defined(__x86_64__)
  FloatEnvironment() : saved(_mm_getcsr()) {
    if (saved != standard)
      _mm_setcsr(standard);
  }
  ~FloatEnvironment() {
    if (saved != standard)
      _mm_setcsr(saved);
  }

private:
  static constexpr unsigned standard = 0x1f80;
  unsigned saved;
#else
  FloatEnvironment() {}
#endif
};

class HostMemory final : public hal::Memory {
public:
  // Somebody else's bytes.
  HostMemory(void *bytes, uint64_t size) : Memory(reinterpret_cast<uint64_t>(bytes), size, bytes) {}
  HostMemory(AlignedMemory bytes, uint64_t size) : HostMemory(bytes.get(), size) { owned = std::move(bytes); }
  HostMemory(std::unique_ptr<GuardedPages> pages, uint64_t size) : HostMemory(pages->bytes(), size) {
    guarded = std::move(pages);
  }

  // Null unless the device guards its memory by pages.
  const GuardedPages *pages() const { return guarded.get(); }

private:
  AlignedMemory owned;
  std::unique_ptr<GuardedPages> guarded;
};

class HostExecutable final : public hal::Executable {
public:
  std::unique_ptr<ElfImage> image;
  std::vector<vx_cpu_kernel> kernels;
  std::vector<std::string> titles; // of the kernels, for messages about guard pages
};

class HostCommandList final : public hal::CommandList {
public:
  struct Recorded {
    hal::CommandShape shape;
    vx_cpu_kernel kernel = nullptr;
    size_t block = 0; // first word of its parameter block
  };
  Ref<HostExecutable> executable;
  std::vector<Recorded> commands;
  // Parameter blocks of all dispatches. A replay is over before the next one begins, so one set is enough.
  std::vector<uint64_t> blocks;
};

struct Dispatch {
  vx_cpu_kernel kernel;
  const uint64_t *block;
  const GuardedDispatch *guarded = nullptr;
};

void runWorkgroup(void *context, size_t index) {
  const auto &dispatch = *static_cast<const Dispatch *>(context);
  dispatch.kernel(dispatch.block, static_cast<uint32_t>(index % VX_GRID_X), static_cast<uint32_t>(index / VX_GRID_X));
}

void runGuardedWorkgroup(void *context, size_t index) {
  setGuardedDispatch(static_cast<const Dispatch *>(context)->guarded);
  runWorkgroup(context, index);
  setGuardedDispatch(nullptr);
}

class HostDevice final : public hal::Device {
public:
  HostDevice(hal::DeviceInfo info, std::unique_ptr<ThreadPool> pool, PageGuard guard)
      : deviceInfo(std::move(info)), pool(std::move(pool)), guard(guard) {}

  const hal::DeviceInfo &info() const override { return deviceInfo; }
  Status allocate(uint64_t size, hal::MemoryKind kind, Ref<hal::Memory> &memory) override;
  Status freeMemory(std::optional<uint64_t> &bytes) override {
    bytes = findHostMemory().available;
    return okStatus();
  }
  Status importHost(const void *data, uint64_t size, Ref<hal::Memory> &memory) override;
  Status importHostForWriting(void *data, uint64_t size, Ref<hal::Memory> &memory) override {
    return importHost(data, size, memory);
  }
  Status load(const hal::CodeImage &image, Ref<hal::Executable> &executable) override;
  Status createStream(Ref<hal::Stream> &stream) override;

  ThreadPool &threads() { return *pool; }
  bool isGuarded() const { return guard != PageGuard::None; }

private:
  hal::DeviceInfo deviceInfo;
  std::unique_ptr<ThreadPool> pool;
  const PageGuard guard;
};

// Everything is done when a function returns, so there is nothing to wait for.
class HostStream final : public hal::Stream {
public:
  explicit HostStream(Ref<HostDevice> device) : device(std::move(device)) {}

  Status record(const hal::SegmentShape &shape, const Ref<hal::Executable> &executable,
                Ref<hal::CommandList> &list) override;
  Status replay(hal::CommandList &list, std::span<const hal::CommandArguments> arguments, int64_t *timings) override;

  Status upload(const hal::BufferView &destination, const void *data) override {
    if (destination.size)
      std::memcpy(bytes(destination), data, destination.size);
    return okStatus();
  }
  Status download(const hal::BufferView &source, void *data) override {
    if (source.size)
      std::memcpy(data, bytes(source), source.size);
    return okStatus();
  }
  Status copy(const hal::BufferView &source, const hal::BufferView &destination) override {
    if (source.size)
      std::memcpy(bytes(destination), bytes(source), source.size);
    return okStatus();
  }
  Status fillZero(const hal::BufferView &destination) override {
    if (destination.size)
      std::memset(bytes(destination), 0, destination.size);
    return okStatus();
  }
  Status resetFault() override {
    fault = {};
    return okStatus();
  }
  Status readFault(vx_fault_record &result) override {
    result = fault;
    return okStatus();
  }
  Status wait() override { return okStatus(); }
  void endWhere(const StopRequest *request) override { stop = request; }

private:
  // One dispatch on a device that guards its memory by pages.
  Status runGuarded(const HostCommandList &list, const HostCommandList::Recorded &command,
                    const hal::CommandArguments &arguments, Dispatch dispatch);

  static uint8_t *bytes(const hal::BufferView &view) {
    return static_cast<uint8_t *>(view.memory->host()) + view.offset;
  }

  Ref<HostDevice> device;
  const StopRequest *stop = nullptr;
  alignas(VX_BUFFER_ALIGNMENT) vx_fault_record fault = {};
};

Status HostDevice::allocate(uint64_t size, hal::MemoryKind, Ref<hal::Memory> &memory) {
  memory = nullptr;
  if (size > deviceInfo.maxAllocation)
    return failure(VX_OUT_OF_MEMORY, "asked for {} bytes, but device 'cpu' allows at most {} in one buffer", size,
                   deviceInfo.maxAllocation);
  if (isGuarded()) {
    auto pages = std::make_unique<GuardedPages>(size, guard);
    if (!pages->bytes())
      return failure(VX_OUT_OF_MEMORY, "asked for {} bytes, but the system has no more memory", size);
    memory = makeRef<HostMemory>(std::move(pages), size);
    return okStatus();
  }
  AlignedMemory bytes = allocateAligned(size);
  if (!bytes)
    return failure(VX_OUT_OF_MEMORY, "asked for {} bytes of device 'cpu', but the system has no more memory", size);
  memory = makeRef<HostMemory>(std::move(bytes), size);
  return okStatus();
}

Status HostDevice::importHost(const void *data, uint64_t size, Ref<hal::Memory> &memory) {
  // What stands beside other memory is not known.
  memory = nullptr;
  if (!isGuarded())
    memory = makeRef<HostMemory>(const_cast<void *>(data), size);
  return okStatus();
}

Status HostDevice::load(const hal::CodeImage &image, Ref<hal::Executable> &executable) {
  std::string_view architecture = cpuArchitecture();
  if (!image.triple.starts_with(architecture))
    return failure(VX_UNSUPPORTED, "code is for '{}', this processor is '{}'", image.triple, architecture);
  auto loaded = makeRef<HostExecutable>();
  VX_RETURN_IF_ERROR(ElfImage::load(image.bytes, loaded->image));
  for (const hal::KernelImage &kernel : image.kernels) {
    const void *function = loaded->image->function(kernel.entry);
    if (!function)
      return failure(VX_INVALID_MODULE, "code image has no function '{}' for kernel '{}'", kernel.entry, kernel.name);
    loaded->kernels.push_back(reinterpret_cast<vx_cpu_kernel>(reinterpret_cast<uintptr_t>(function)));
    if (isGuarded())
      loaded->titles.push_back(fmt::format("kernel '{}' ({})", kernel.name, fmt::join(kernel.nodes, ", ")));
  }
  executable = std::move(loaded);
  return okStatus();
}

Status HostDevice::createStream(Ref<hal::Stream> &stream) {
  stream = makeRef<HostStream>(Ref<HostDevice>(this));
  return okStatus();
}

Status HostStream::record(const hal::SegmentShape &shape, const Ref<hal::Executable> &executable,
                          Ref<hal::CommandList> &list) {
  auto recorded = makeRef<HostCommandList>();
  recorded->executable = Ref<HostExecutable>(static_cast<HostExecutable *>(executable.get()));
  size_t words = 0;
  for (const hal::CommandShape &command : shape.commands) {
    HostCommandList::Recorded &entry = recorded->commands.emplace_back();
    entry.shape = command;
    if (command.kind != hal::CommandKind::Dispatch)
      continue;
    if (command.kernel >= recorded->executable->kernels.size())
      return failure(VX_INVALID_ARGUMENT, "asked for kernel {}, but the code has {}", command.kernel,
                     recorded->executable->kernels.size());
    entry.kernel = recorded->executable->kernels[command.kernel];
    entry.block = words;
    words += hal::parameterWords(command);
  }
  recorded->blocks.resize(words);
  list = std::move(recorded);
  return okStatus();
}

Status HostStream::replay(hal::CommandList &list, std::span<const hal::CommandArguments> arguments, int64_t *timings) {
  auto &recorded = static_cast<HostCommandList &>(list);
  FloatEnvironment environment;
  for (size_t i = 0; i < recorded.commands.size(); ++i) {
    const HostCommandList::Recorded &command = recorded.commands[i];
    const hal::CommandArguments &argument = arguments[i];
    if (stop && i > 0) [[unlikely]]
      VX_RETURN_IF_ERROR(stop->check());
    std::chrono::steady_clock::time_point begin;
    if (timings)
      begin = std::chrono::steady_clock::now();
    if (command.shape.kind == hal::CommandKind::Copy) {
      VX_RETURN_IF_ERROR(copy(argument.buffers[0], argument.buffers[1]));
    } else if (argument.workgroups) {
      uint64_t *block = recorded.blocks.data() + command.block;
      hal::writeParameterBlock(block, reinterpret_cast<uint64_t>(&fault), command.shape, argument);
      Dispatch dispatch = {command.kernel, block};
      // A dispatch ends before the next one begins, which is more than the barriers ask for.
      if (device->isGuarded()) [[unlikely]]
        VX_RETURN_IF_ERROR(runGuarded(recorded, command, argument, dispatch));
      else
        device->threads().run(argument.workgroups, runWorkgroup, &dispatch);
    }
    if (timings)
      timings[i] =
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  }
  return okStatus();
}

Status HostStream::runGuarded(const HostCommandList &list, const HostCommandList::Recorded &command,
                              const hal::CommandArguments &arguments, Dispatch dispatch) {
  const std::string &title = list.executable->titles[command.shape.kernel];
  const GuardedDispatch guarded = {title.c_str(), arguments.buffers, command.shape.bufferCount, arguments.workspace};
  dispatch.guarded = &guarded;
  device->threads().run(arguments.workgroups, runGuardedWorkgroup, &dispatch);
  auto check = [&](const hal::BufferView &view) -> Status {
    int64_t changed = 0;
    if (!view.memory || static_cast<HostMemory *>(view.memory)->pages()->isIntact(changed))
      return okStatus();
    return failure(VX_INVALID_MODULE, "{} writes byte {} of a buffer of {} bytes", title, changed, view.memory->size());
  };
  for (uint32_t b = 0; b < command.shape.bufferCount; ++b)
    VX_RETURN_IF_ERROR(check(arguments.buffers[b]));
  return check(arguments.workspace);
}

} // namespace

Status openHostDevice(hal::DeviceInfo info, uint32_t threads, Ref<hal::Device> &device) {
  std::unique_ptr<ThreadPool> pool;
  {
    // Workers inherit the environment of the thread that starts them.
    FloatEnvironment environment;
    VX_RETURN_IF_ERROR(ThreadPool::create(threads, pool));
  }
  bool hasTiles = false;
  for (const std::string &feature : info.features)
    hasTiles |= feature == "amx-tile";
  if (hasTiles && !requestTilePermission())
    std::erase_if(info.features, [](const std::string &feature) { return feature.starts_with("amx-"); });
  info.threads = pool->threads();
  const PageGuard guard = pageGuardFromEnvironment();
  info.separatesBuffers = guard != PageGuard::None;
  if (info.separatesBuffers)
    reportGuardedAccesses();
  device = makeRef<HostDevice>(std::move(info), std::move(pool), guard);
  return okStatus();
}

} // namespace vx::drivers

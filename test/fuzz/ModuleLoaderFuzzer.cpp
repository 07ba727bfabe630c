// Feeds bytes to the module loader, as they are and with a header repaired around them, so that damage beyond the
// header's checks is reached too. What loads is described and given to the null device; and where its kernels are those
// of the tests, it runs on a device whose every access a sanitizer sees (checked_device.h): what has loaded may fail,
// and may not read or write outside of its buffers.
#include "checked_device.h"
#include "mutate_metadata.h"

#include "api/drivers.h"
#include "exec/call_state.h"
#include "exec/instance.h"
#include "module/module.h"

#include "vx/abi/module_header.h"
#include "vx/abi/version.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace vx;

// Whether a kernel says of itself what test_kernels.c does.
static bool isTestKernel(const Kernel &kernel, const std::string &entry) {
  const std::string said = [&] {
    std::string text =
        fmt::format("{} {} {}:", entry, kernel.scalarCount, kernel.workgroups ? kernel.workgroups->toString({}) : "");
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      const BufferType &type = kernel.bufferTypes[i];
      text += fmt::format(" {}{}", static_cast<int>(kernel.buffers[i]), elementTypeName(type.elementType));
      for (const Expression &dim : type.dims)
        text += fmt::format(",{}", dim.toString({}));
    }
    return text;
  }();
  return said == "scale_add 2 s0 ceildiv 64: 0i32,s0 2i32,s0" ||
         said == "gather 2 s0 ceildiv 64: 0i32,s1 0i32,s0 1i32,s0";
}

static bool hasLoop(const Block &block) {
  return std::any_of(block.instructions.begin(), block.instructions.end(), [](const Instruction &instruction) {
    return instruction.op == Op::While || std::any_of(instruction.blocks.begin(), instruction.blocks.end(), hasLoop);
  });
}

static bool canRun(const ModuleData &data) {
  if (data.targets.empty() || data.targets[0].variants.empty())
    return false;
  const Target &target = data.targets[0];
  for (const Variant &variant : target.variants)
    for (size_t i = 0; i < target.kernels.size(); ++i)
      if (!isTestKernel(target.kernels[i], variant.entries[i]))
        return false;
  return std::none_of(data.programs.begin(), data.programs.end(),
                      [](const Program &program) { return hasLoop(program.body); });
}

// Every symbol has the size `n`; the data are small numbers.
static void runFunction(Instance &instance, uint32_t index, int64_t n) {
  const Function &function = instance.data().functions[index];
  const std::vector<int64_t> symbols(function.symbols.size(), n);
  std::vector<Ref<Value>> inputs;
  std::vector<Value *> pointers;
  for (const Argument &input : function.inputs) {
    Ref<Value> &value = inputs.emplace_back();
    std::vector<int64_t> dims;
    uint64_t size = 0;
    constexpr uint64_t limit = 1 << 20;
    for (const Expression &dim : input.type.dims)
      if (!dim.evaluate(symbols, dims.emplace_back()).ok())
        return;
    if (input.type.kind == VX_TENSOR) {
      if (!tensorByteSize(input.type.elementType, dims, size).ok() || size > limit)
        return;
      std::vector<uint8_t> bytes(size);
      for (size_t i = 0; i < size; i += 4)
        bytes[i] = static_cast<uint8_t>(i / 4 % 3);
      if (!Value::copyTensor(input.type.elementType, dims, bytes.data(), size, value).ok())
        return;
    } else if (!Value::list(input.type.kind, input.type.elementType, {}, value).ok()) {
      return;
    }
    pointers.push_back(value.get());
  }
  std::unique_ptr<CallState> call;
  if (!instance.takeCall(index, call).ok())
    return;
  // Twice, since sizes that have fitted are not compared again; and with other sizes between.
  std::vector<Ref<Value>> outputs;
  (void)call->run(pointers, outputs).ok();
  (void)call->run(pointers, outputs).ok();
  instance.returnCall(std::move(call));
}

static void load(const uint8_t *data, size_t size) {
  Ref<Module> module;
  Status status = Module::fromMemory("fuzz.vxm", {data, size}, module);
  if (!status.ok()) {
    // Every failure says something.
    if (status.message().empty())
      std::abort();
    return;
  }
  if (module->describe().empty())
    std::abort();
  hal::Driver *const checked[] = {&fuzz::checkedDriver()};
  const bool runs = canRun(module->data());
  std::span<hal::Driver *const> drivers = runs ? std::span<hal::Driver *const>(checked) : allDrivers();
  DeviceRequest request;
  status = parseDeviceRequest(runs ? "checked" : "null", nullptr, drivers, request);
  request.noFallback = true;
  Ref<Instance> instance;
  if (status.ok())
    status = Instance::create(std::move(module), request, drivers, instance);
  if (!status.ok() || !runs)
    return;
  for (int64_t n : {16, 64, 0, 5})
    for (uint32_t i = 0; i < instance->data().functions.size(); ++i)
      runFunction(*instance, i, n);
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  if (seed % 4 != 0)
    if (size_t changed = fuzz::mutateMetadata(data, size, maxSize, seed))
      return changed;
  return LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The loader wants what a mapping gives: an aligned start, and nothing readable behind the end.
  uint8_t *copy = static_cast<uint8_t *>(std::aligned_alloc(64, (size / 64 + 1) * 64));
  uint8_t *start = copy;
  if (size)
    std::memcpy(start, data, size);
  load(start, size);
  vx_module_header header;
  if (size >= sizeof(header)) {
    std::memcpy(&header, start, sizeof(header));
    std::memcpy(header.magic, VX_MODULE_MAGIC, sizeof(header.magic));
    header.abi_major = VX_MODULE_ABI_MAJOR;
    header.abi_minor = VX_MODULE_ABI_MINOR;
    header.file_size = size;
    header.reserved[0] = header.reserved[1] = 0;
    header.metadata_offset = std::min<uint64_t>(header.metadata_offset, size) & ~uint64_t(7);
    header.metadata_offset = std::max<uint64_t>(header.metadata_offset, sizeof(header));
    header.metadata_size = size - header.metadata_offset;
    header.metadata_hash = vx_hash64(start + header.metadata_offset, header.metadata_size);
    std::memcpy(start, &header, sizeof(header));
    load(start, size);
  }
  std::free(copy);
  return 0;
}

#include "exec/device_module.h"

#include "base/forks.h"
#include "exec/call_state.h"
#include "exec/page_runs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <unistd.h>

namespace vx {

namespace {

// What decides which code and constants are on a device, and how calls run there.
using Request = std::tuple<const Module *, const hal::Driver *, uint32_t, uint32_t, uint32_t, std::string, uint32_t>;

} // namespace

struct DeviceModule::Slot {
  // Held by who makes the module, so that those who want it too wait for it.
  std::mutex making;
  // Guarded by the table's mutex.
  DeviceModule *live = nullptr;
  std::map<Request, std::shared_ptr<Slot>>::iterator place;

  struct Table {
    std::mutex mutex;
    std::map<Request, std::shared_ptr<Slot>> slots;

    // Forgets a slot that nobody else holds. `mutex` is held.
    void forget(std::shared_ptr<Slot> slot) {
      constexpr long tableAndArgument = 2;
      if (!slot->live && slot.use_count() == tableAndArgument)
        slots.erase(slot->place);
    }
  };
  static Table &table() {
    static auto *table = new Table; // instances may go at the very end of the process
    return *table;
  }
};

DeviceModule::~DeviceModule() {
  if (!slot)
    return;
  Slot::Table &table = Slot::table();
  std::lock_guard lock(table.mutex);
  if (slot->live == this)
    slot->live = nullptr;
  table.forget(std::move(slot));
}

Status DeviceModule::get(const Ref<Module> &module, hal::Driver &driver, uint32_t index, const DeviceRequest &request,
                         std::span<const uint32_t> targets, hal::Refusal &refusal, Ref<DeviceModule> &result) {
  // Gaps are compared while nobody works on the device.
  if (GuardedDevice::wanted())
    return make(module, driver, index, request, targets, /*isLoaded=*/true, refusal, result);
  Slot::Table &table = Slot::table();
  std::shared_ptr<Slot> slot;
  {
    std::lock_guard lock(table.mutex);
    const Request key(module.get(), &driver, index, request.threads, request.waitLimitMs, request.variant, forkCount());
    auto [place, isNew] = table.slots.try_emplace(key);
    if (isNew) {
      place->second = std::make_shared<Slot>();
      place->second->place = place;
    }
    slot = place->second;
  }
  Status status = okStatus();
  {
    std::lock_guard making(slot->making);
    {
      std::lock_guard lock(table.mutex);
      // One whose last user is just leaving is no use, nor is one on a device that is lost.
      if (slot->live && !slot->live->context()->isLost() && slot->live->retainIfHeld()) {
        result = Ref<DeviceModule>::adopt(slot->live);
        return okStatus();
      }
    }
    status = make(module, driver, index, request, targets, /*isLoaded=*/true, refusal, result);
    if (result) {
      std::lock_guard lock(table.mutex);
      slot->live = result.get();
      result->slot = slot;
    }
  }
  std::lock_guard lock(table.mutex);
  table.forget(std::move(slot));
  return status;
}

Status DeviceModule::plan(const Ref<Module> &module, hal::Driver &driver, uint32_t index, const DeviceRequest &request,
                          std::span<const uint32_t> targets, hal::Refusal &refusal, Ref<DeviceModule> &result) {
  return make(module, driver, index, request, targets, /*isLoaded=*/false, refusal, result);
}

Status DeviceModule::make(const Ref<Module> &module, hal::Driver &driver, uint32_t index, const DeviceRequest &request,
                          std::span<const uint32_t> targets, bool isLoaded, hal::Refusal &refusal,
                          Ref<DeviceModule> &result) {
  Ref<hal::Device> device;
  hal::DeviceOptions options;
  options.threads = request.threads;
  options.waitLimitMs = request.waitLimitMs;
  if (Status status = driver.open(index, options, device); !status.ok()) {
    refusal = {hal::RefusalCode::DeviceFailed, std::string(status.message())};
    return okStatus();
  }
  Ref<DeviceModule> made = makeRef<DeviceModule>();
  made->loadedModule = module;
  std::string reasons;
  auto fits = [&](uint32_t target) {
    std::string reason;
    made->targetIndex = target;
    if (made->chooseVariant(device->info(), driver.target().empty(), request.variant, reason))
      return true;
    reasons += (reasons.empty() ? "" : "; ") + reason;
    return false;
  };
  if (std::none_of(targets.begin(), targets.end(), fits)) {
    refusal = {hal::RefusalCode::NoVariant, std::move(reasons)};
    return okStatus();
  }
  TakenDevice &taken = made->takenDevice;
  taken.backend = driver.name();
  taken.index = index;
  taken.name = device->info().name;
  taken.details = device->info().details;
  taken.threads = device->info().threads;
  taken.target = made->target().name;
  taken.variant = made->target().variants[made->variantIndex].name;

  Status status = okStatus();
  if (GuardedDevice::wanted()) {
    status = GuardedDevice::create(std::move(device), made->guardedDevice);
    device = made->guardedDevice;
  }
  if (status.ok())
    status =
        DeviceContext::create(std::move(device), fmt::format("{}:{}", taken.backend, taken.index), made->deviceContext);
  if (status.ok())
    status = isLoaded ? made->prepare() : made->countConstants();
  if (status.ok()) {
    result = std::move(made);
    return okStatus();
  }
  if (status.code() == VX_INVALID_MODULE)
    return status;
  refusal = {hal::RefusalCode::DeviceFailed, std::string(status.message())};
  return okStatus();
}

bool DeviceModule::chooseVariant(const hal::DeviceInfo &info, bool anyFits, const std::string &wanted,
                                 std::string &reason) {
  const std::vector<Variant> &variants = target().variants;
  std::vector<std::string> refused, names;
  for (uint32_t i = 0; i < variants.size(); ++i) {
    names.push_back(variants[i].name);
    if (!wanted.empty() && variants[i].name != wanted)
      continue;
    std::vector<std::string_view> missing;
    for (const std::string &feature : variants[i].requirements)
      if (!anyFits && std::find(info.features.begin(), info.features.end(), feature) == info.features.end())
        missing.push_back(feature);
    if (missing.empty()) {
      variantIndex = i;
      return true;
    }
    refused.push_back(fmt::format("'{}' needs {}", variants[i].name, fmt::join(missing, ", ")));
  }
  if (refused.empty())
    reason = variants.empty() ? fmt::format("the module has no variant for '{}'", target().name)
                              : fmt::format("the module has no variant '{}' for '{}', it has: {}", wanted,
                                            target().name, fmt::join(names, ", "));
  else
    reason = fmt::format("the device{} lacks what the code needs: {}",
                         info.details.empty() ? "" : fmt::format(" ({})", info.details), fmt::join(refused, "; "));
  return false;
}

Status DeviceModule::prepare() {
  VX_RETURN_IF_ERROR(device()
                         .allocate(VX_BUFFER_ALIGNMENT, hal::MemoryKind::Device, empty.memory)
                         .addContext(fmt::format("{}: instance", loadedModule->path())));
  VX_RETURN_IF_ERROR(loadCode());
  VX_RETURN_IF_ERROR(loadConstants());
  VX_RETURN_IF_ERROR(computeDerived());
  countWeights();
  return okStatus();
}

Status DeviceModule::loadCode() {
  const Variant &variant = target().variants[variantIndex];
  VX_RETURN_IF_ERROR(loadedModule->verifySection(variant.section));
  std::span<const uint8_t> bytes = data().sections[variant.section].bytes;
  std::vector<hal::KernelImage> kernels;
  for (size_t i = 0; i < target().kernels.size(); ++i) {
    const Kernel &kernel = target().kernels[i];
    hal::KernelImage &image = kernels.emplace_back();
    image.name = kernel.name;
    image.entry = variant.entries[i];
    image.bufferCount = static_cast<uint32_t>(kernel.buffers.size());
    image.scalarCount = kernel.scalarCount;
    image.nodes = kernel.sources;
    std::copy(std::begin(kernel.workgroupSize), std::end(kernel.workgroupSize), std::begin(image.workgroupSize));
    if (!variant.offsets.empty())
      image.code = bytes.subspan(variant.offsets[i], variant.offsets[i + 1] - variant.offsets[i]);
  }
  hal::CodeImage image;
  image.file = loadedModule->path();
  image.variant = variant.name;
  image.triple = target().triple;
  image.bytes = bytes;
  image.kernels = kernels;
  return device()
      .load(image, loadedCode)
      .addContext(fmt::format("{}: variant '{}' of '{}'", loadedModule->path(), variant.name, target().name));
}

// The numbers of the constants, or derived values, that a program reads.
static void addReads(const Block &block, Op kind, std::vector<size_t> &reads) {
  for (const Instruction &instruction : block.instructions) {
    if (instruction.op == kind)
      reads.push_back(static_cast<size_t>(instruction.imm));
    for (const Block &inner : instruction.blocks)
      addReads(inner, kind, reads);
  }
}

std::vector<bool> DeviceModule::readByCalls(Op kind, size_t count) const {
  std::vector<size_t> reads;
  for (const Entry &entry : target().entries)
    addReads(data().programs[entry.program].body, kind, reads);
  for (const Derived &derived : target().derived)
    if (!derived.variables.empty())
      addReads(data().programs[derived.program].body, kind, reads);
  std::vector<bool> result(count);
  for (size_t index : reads)
    result[index] = true;
  return result;
}

std::span<const uint8_t> DeviceModule::bytesOf(size_t constant) const {
  const Constant &source = data().constants[constant];
  return data().sections[source.section].bytes.subspan(source.offset, source.size);
}

uint64_t DeviceModule::constantBytes() const {
  uint64_t bytes = plannedBytes;
  // What is read in place is no memory of its own.
  for (size_t i = 0; i < constants.size(); ++i)
    if (constants[i].memory && !isInPlace(i))
      bytes += constants[i].size;
  for (const KeptBuffer &buffer : derivedConstants)
    if (buffer.memory)
      bytes += buffer.size;
  return bytes;
}

bool DeviceModule::isInPlace(size_t constant) const {
  const KeptBuffer &buffer = constants[constant];
  const auto *host = static_cast<const uint8_t *>(buffer.memory->host());
  return host && host + buffer.offset == bytesOf(constant).data();
}

Status DeviceModule::mapConstants(const std::vector<bool> &wanted) {
  wereMapped.resize(wanted.size());
  if (!device().info().sharesMemory)
    return okStatus();
  for (const PageRun &run : findPageRuns(*loadedModule, wanted, device().info().maxMappedFile)) {
    Ref<hal::Memory> memory;
    std::string reason;
    VX_RETURN_IF_ERROR(device()
                           .mapFile(run.begin, run.size, memory, reason)
                           .addContext(fmt::format("{}: weights", loadedModule->path())));
    if (!memory && whyNotMapped.empty())
      whyNotMapped = std::move(reason);
    for (size_t index : run.constants) {
      wereMapped[index] = bool(memory);
      if (memory)
        constants[index] = {memory, static_cast<uint64_t>(bytesOf(index).data() - run.begin), bytesOf(index).size()};
    }
  }
  return okStatus();
}

Status DeviceModule::keepMapped(const std::vector<bool> &kept) {
  bool isAnyDone = false;
  for (size_t i = 0; i < constants.size(); ++i)
    isAnyDone |= wereMapped[i] && !kept[i];
  if (!isAnyDone)
    return okStatus();
  // A page may hold constants of both kinds.
  std::vector<bool> again(constants.size());
  for (size_t i = 0; i < constants.size(); ++i)
    if (wereMapped[i]) {
      constants[i] = {};
      again[i] = kept[i];
    }
  for (size_t i = 0; i < constants.size(); ++i)
    if (wereMapped[i] && !kept[i])
      loadedModule->releasePages(bytesOf(i));
  VX_RETURN_IF_ERROR(mapConstants(again));
  return copyConstants(kept);
}

void DeviceModule::countWeights() {
  if (!device().info().sharesMemory)
    return;
  TakenDevice::Weights &weights = takenDevice.weights.emplace();
  for (size_t i = 0; i < constants.size(); ++i) {
    if (!wasRead[i] || bytesOf(i).empty())
      continue;
    (wereMapped[i] ? weights.inPlace : weights.copied) += bytesOf(i).size();
    if (!wereMapped[i] && weights.reason.empty())
      weights.reason = whyNotInPlace(*loadedModule, i).empty() ? whyNotMapped : whyNotInPlace(*loadedModule, i);
  }
}

// Leaves the memory null where the device cannot read the file in place, or the file of a model has the constant at an
// address that kernels do not take.
Status DeviceModule::importConstant(size_t index) {
  KeptBuffer &buffer = constants[index];
  buffer.size = data().constants[index].size;
  if (buffer.size == 0) {
    buffer.memory = empty.memory;
    return okStatus();
  }
  if (reinterpret_cast<uintptr_t>(bytesOf(index).data()) % VX_BUFFER_ALIGNMENT != 0)
    return okStatus();
  return device().importHost(bytesOf(index).data(), buffer.size, buffer.memory);
}

// As loadConstants and computeDerived leave them.
Status DeviceModule::countConstants() {
  const std::vector<Constant> &all = data().constants;
  const std::vector<bool> keptConstants = readByCalls(Op::Constant, all.size());
  constants.resize(all.size());
  // One page tells whether the device takes the others.
  std::vector<bool> inPlace(all.size());
  if (device().info().sharesMemory) {
    const std::vector<PageRun> runs = findPageRuns(*loadedModule, keptConstants, device().info().maxMappedFile);
    Ref<hal::Memory> memory;
    std::string reason;
    if (!runs.empty())
      VX_RETURN_IF_ERROR(device().mapFile(runs[0].begin, static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), memory, reason));
    for (const PageRun &run : runs)
      for (size_t index : run.constants)
        inPlace[index] = bool(memory);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!keptConstants[i])
      continue;
    VX_RETURN_IF_ERROR(importConstant(i));
    if (!constants[i].memory && !inPlace[i])
      plannedBytes += constants[i].size;
  }
  const std::vector<Derived> &derived = target().derived;
  const std::vector<bool> keptDerived = readByCalls(Op::Derived, derived.size());
  for (size_t i = 0; i < derived.size(); ++i)
    if (derived[i].variables.empty() && keptDerived[i])
      plannedBytes += derived[i].size;
  return okStatus();
}

// Into memory that the constant has already.
Status DeviceModule::uploadConstant(size_t index) {
  VX_RETURN_IF_ERROR(deviceContext->upload(constants[index].view(), bytesOf(index).data()));
  loadedModule->releasePages(bytesOf(index));
  return okStatus();
}

Status DeviceModule::loadConstants() {
  const size_t count = data().constants.size();
  constants.resize(count);
  const std::vector<bool> kept = readByCalls(Op::Constant, count);
  wasRead = kept;
  for (const Derived &derived : target().derived) {
    std::vector<size_t> reads;
    addReads(data().programs[derived.program].body, Op::Constant, reads);
    for (size_t index : reads)
      wasRead[index] = true;
  }
  VX_RETURN_IF_ERROR(mapConstants(wasRead));
  return copyConstants(kept);
}

Status DeviceModule::copyConstants(const std::vector<bool> &wanted) {
  const std::vector<Constant> &all = data().constants;
  // What the device cannot read in place shares one allocation as far as the device allows.
  const bool separate = device().info().separatesBuffers;
  const uint64_t alignment = separate ? 1 : 256;
  auto padded = [&](uint64_t size) { return (size + alignment - 1) / alignment * alignment; };
  std::vector<size_t> uploads;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!wanted[i] || constants[i].memory)
      continue;
    VX_RETURN_IF_ERROR(importConstant(i));
    if (!constants[i].memory)
      uploads.push_back(i);
  }
  for (size_t next = 0; next < uploads.size();) {
    size_t end = next;
    uint64_t total = 0;
    do
      total += padded(all[uploads[end++]].size);
    while (end < uploads.size() && !separate && padded(all[uploads[end]].size) <= device().info().maxAllocation &&
           total <= device().info().maxAllocation - padded(all[uploads[end]].size));
    Ref<hal::Memory> memory;
    VX_RETURN_IF_ERROR(device()
                           .allocate(total, hal::MemoryKind::Device, memory)
                           .addContext(fmt::format("{}: weights", loadedModule->path())));
    uint64_t offset = 0;
    for (; next < end; ++next) {
      KeptBuffer &buffer = constants[uploads[next]];
      buffer.memory = memory;
      buffer.offset = offset;
      offset += padded(buffer.size);
      VX_RETURN_IF_ERROR(uploadConstant(uploads[next]));
    }
  }
  return okStatus();
}

// What calls do not read is loaded before its first reader here and freed after its last.
Status DeviceModule::computeDerived() {
  const std::vector<Derived> &all = target().derived;
  derivedConstants.resize(all.size());
  if (all.empty())
    return okStatus();
  const std::vector<bool> keptConstants = readByCalls(Op::Constant, constants.size());
  const std::vector<bool> keptDerived = readByCalls(Op::Derived, all.size());
  std::vector<std::vector<size_t>> constantReads(all.size()), derivedReads(all.size());
  std::vector<size_t> lastOfConstant(constants.size()), lastOfDerived(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].variables.empty())
      continue;
    const Block &body = data().programs[all[i].program].body;
    addReads(body, Op::Constant, constantReads[i]);
    addReads(body, Op::Derived, derivedReads[i]);
    for (size_t index : constantReads[i])
      lastOfConstant[index] = i;
    for (size_t index : derivedReads[i])
      lastOfDerived[index] = i;
  }
  std::unique_ptr<CallState> place;
  VX_RETURN_IF_ERROR(CallState::createForLoad(*this, place).addContext("init"));
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].variables.empty())
      continue; // in an instance, when a call needs it
    auto compute = [&]() -> Status {
      for (size_t index : constantReads[i]) {
        if (constants[index].memory)
          continue;
        VX_RETURN_IF_ERROR(importConstant(index));
        if (constants[index].memory)
          continue;
        VX_RETURN_IF_ERROR(device()
                               .allocate(constants[index].size, hal::MemoryKind::Device, constants[index].memory)
                               .addContext(fmt::format("constant {}", index)));
        VX_RETURN_IF_ERROR(uploadConstant(index));
      }
      return place->deriveAtLoad(all[i], derivedConstants[i]);
    };
    VX_RETURN_IF_ERROR(compute().addContext(fmt::format("{}: init: '{}'", loadedModule->path(), all[i].name)));
    for (size_t index : constantReads[i])
      if (!keptConstants[index] && lastOfConstant[index] == i) {
        constants[index] = {};
        if (!wereMapped[index])
          loadedModule->releasePages(bytesOf(index));
      }
    for (size_t index : derivedReads[i])
      if (!keptDerived[index] && lastOfDerived[index] == i)
        derivedConstants[index] = {};
  }
  place.reset();
  return keepMapped(keptConstants);
}

} // namespace vx

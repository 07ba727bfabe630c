#include "exec/instance.h"

#include "exec/call_state.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace vx {

// Pooled places per function; more than the threads of most callers.
static constexpr size_t maxPooledCalls = 64;

Instance::Instance() = default;
Instance::~Instance() = default;

Status Instance::create(Ref<Module> module, const DeviceRequest &request, std::span<hal::Driver *const> drivers,
                        Ref<Instance> &result) {
  Ref<Instance> instance = makeRef<Instance>();
  instance->loadedModule = std::move(module);
  instance->deviceReport.request = request;
  VX_RETURN_IF_ERROR(instance->checkSignature());
  instance->pool.resize(instance->data().functions.size());
  for (const DeviceCandidate &candidate : deviceCandidates(request)) {
    VX_RETURN_IF_ERROR(instance->tryCandidate(candidate, drivers));
    if (instance->deviceReport.taken) {
      result = std::move(instance);
      return okStatus();
    }
  }
  const DeviceReport &report = instance->deviceReport;
  return failure(VX_NO_DEVICE, "{}: no device for '{}': {}", instance->module().path(), request.device,
                 report.reasons())
      .attachReport(report.json());
}

Status Instance::checkSignature() const {
  auto refuse = [&](const Function &function, const char *direction, const Argument &argument) {
    return failure(VX_UNSUPPORTED, "{}: {} '{}' of function '{}' has strings, which this runtime does not support",
                   module().path(), direction, argument.name, function.name);
  };
  for (const Function &function : data().functions) {
    for (const Argument &input : function.inputs)
      if (input.type.elementType == VX_STRING)
        return refuse(function, "input", input);
    for (const Argument &output : function.outputs)
      if (output.type.elementType == VX_STRING)
        return refuse(function, "output", output);
  }
  return okStatus();
}

// Only damage to the module is an error; every other failure is a refusal, and the next candidate is tried.
Status Instance::tryCandidate(const DeviceCandidate &candidate, std::span<hal::Driver *const> drivers) {
  auto refuse = [&](std::string device, hal::RefusalCode code, std::string reason) {
    deviceReport.refused.push_back({std::move(device), {code, std::move(reason)}});
    return okStatus();
  };
  std::string spelled = candidate.index ? fmt::format("{}:{}", candidate.backend, *candidate.index) : candidate.backend;
  hal::Driver *driver = findDriver(drivers, candidate.backend);
  const bool isSecondRound = candidate.software == DeviceCandidate::Software::Only;
  if (!driver && isSecondRound)
    return okStatus(); // refused in the first round
  if (!driver)
    return refuse(spelled, hal::RefusalCode::NoDriver, fmt::format("this runtime has no {} driver", candidate.backend));

  const std::vector<Target> &targets = data().targets;
  auto found = std::find_if(targets.begin(), targets.end(), [&](const Target &target) {
    return driver->target().empty() || target.name == driver->target();
  });
  if (found == targets.end() && isSecondRound)
    return okStatus();
  if (found == targets.end()) {
    std::vector<std::string_view> names;
    for (const Target &target : targets)
      names.push_back(target.name);
    return refuse(spelled, hal::RefusalCode::NoCode,
                  fmt::format("the module has no code for '{}', it has: {}",
                              driver->target().empty() ? driver->name() : driver->target(),
                              names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", "))));
  }
  targetIndex = static_cast<uint32_t>(found - targets.begin());

  std::vector<hal::DeviceInfo> devices;
  hal::Refusal refusal = driver->enumerate(devices);
  if (devices.empty())
    return isSecondRound ? okStatus() : refuse(spelled, refusal.code, std::move(refusal.reason));
  if (candidate.index && *candidate.index >= devices.size())
    return refuse(spelled, hal::RefusalCode::NoSuchDevice,
                  fmt::format("device {} does not exist, there are {}", *candidate.index, devices.size()));

  uint32_t first = candidate.index.value_or(0);
  uint32_t end = candidate.index ? first + 1 : static_cast<uint32_t>(devices.size());
  for (uint32_t index = first; index < end; ++index) {
    hal::Refusal why;
    if (isSecondRound && !devices[index].isSoftware)
      continue;
    if (devices[index].isSoftware && candidate.software == DeviceCandidate::Software::PassedOver) {
      why = {hal::RefusalCode::Software,
             fmt::format("'{}' is a software device, taken only by name or when nothing else is left",
                         devices[index].name)};
      deviceReport.refused.push_back({fmt::format("{}:{}", candidate.backend, index), std::move(why)});
      continue;
    }
    VX_RETURN_IF_ERROR(tryDevice(*driver, index, why));
    if (why.code == hal::RefusalCode::None)
      return okStatus();
    deviceReport.refused.push_back({fmt::format("{}:{}", candidate.backend, index), std::move(why)});
  }
  return okStatus();
}

Status Instance::tryDevice(hal::Driver &driver, uint32_t index, hal::Refusal &refusal) {
  Ref<hal::Device> device;
  hal::DeviceOptions options;
  options.threads = deviceReport.request.threads;
  options.waitLimitMs = deviceReport.request.waitLimitMs;
  if (Status status = driver.open(index, options, device); !status.ok()) {
    refusal = {hal::RefusalCode::DeviceFailed, std::string(status.message())};
    return okStatus();
  }
  std::string reason;
  if (!chooseVariant(device->info(), driver.target().empty(), reason)) {
    refusal = {hal::RefusalCode::NoVariant, std::move(reason)};
    return okStatus();
  }
  TakenDevice taken;
  taken.backend = driver.name();
  taken.index = index;
  taken.name = device->info().name;
  taken.details = device->info().details;
  taken.threads = device->info().threads;
  taken.target = target().name;
  taken.variant = target().variants[variantIndex].name;

  Status status = okStatus();
  if (GuardedDevice::wanted()) {
    status = GuardedDevice::create(std::move(device), guardedDevice);
    device = guardedDevice;
  }
  if (status.ok())
    status = DeviceContext::create(std::move(device), deviceContext);
  if (status.ok())
    status = prepare();
  if (status.ok()) {
    deviceReport.taken = std::move(taken);
    return okStatus();
  }
  variables.clear();
  derivedConstants.clear();
  constants.clear();
  empty = {};
  loadedCode = nullptr;
  deviceContext = nullptr;
  guardedDevice = nullptr;
  if (status.code() == VX_INVALID_MODULE)
    return status;
  refusal = {hal::RefusalCode::DeviceFailed, std::string(status.message())};
  return okStatus();
}

bool Instance::chooseVariant(const hal::DeviceInfo &info, bool anyFits, std::string &reason) {
  const std::vector<Variant> &variants = target().variants;
  const std::string &wanted = deviceReport.request.variant;
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

Status Instance::prepare() {
  VX_RETURN_IF_ERROR(device()
                         .allocate(VX_BUFFER_ALIGNMENT, hal::MemoryKind::Device, empty.memory)
                         .addContext(fmt::format("{}: instance", module().path())));
  VX_RETURN_IF_ERROR(loadCode());
  VX_RETURN_IF_ERROR(loadConstants());
  VX_RETURN_IF_ERROR(computeDerived());
  return loadVariables();
}

Status Instance::loadCode() {
  const Variant &variant = target().variants[variantIndex];
  VX_RETURN_IF_ERROR(module().verifySection(variant.section));
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
  image.file = module().path();
  image.variant = variant.name;
  image.triple = target().triple;
  image.bytes = bytes;
  image.kernels = kernels;
  return device()
      .load(image, loadedCode)
      .addContext(fmt::format("{}: variant '{}' of '{}'", module().path(), variant.name, target().name));
}

// The numbers of the constants, or derived constants, that a program reads.
static void addReads(const Block &block, Op kind, std::vector<size_t> &reads) {
  for (const Instruction &instruction : block.instructions) {
    if (instruction.op == kind)
      reads.push_back(static_cast<size_t>(instruction.imm));
    for (const Block &inner : instruction.blocks)
      addReads(inner, kind, reads);
  }
}

std::vector<bool> Instance::readByCalls(Op kind, size_t count) const {
  std::vector<size_t> reads;
  for (const Entry &entry : target().entries)
    addReads(data().programs[entry.program].body, kind, reads);
  std::vector<bool> result(count);
  for (size_t index : reads)
    result[index] = true;
  return result;
}

std::span<const uint8_t> Instance::bytesOf(size_t constant) const {
  const Constant &source = data().constants[constant];
  return data().sections[source.section].bytes.subspan(source.offset, source.size);
}

// Leaves the memory null where the device cannot read the file in place.
Status Instance::importConstant(size_t index) {
  InstanceBuffer &buffer = constants[index];
  buffer.size = data().constants[index].size;
  if (buffer.size == 0) {
    buffer.memory = empty.memory;
    return okStatus();
  }
  return device().importHost(bytesOf(index).data(), buffer.size, buffer.memory);
}

// Into memory that the constant has already.
Status Instance::uploadConstant(size_t index) {
  VX_RETURN_IF_ERROR(deviceContext->upload(constants[index].view(), bytesOf(index).data()));
  module().releasePages(bytesOf(index));
  return okStatus();
}

Status Instance::loadConstants() {
  const std::vector<Constant> &all = data().constants;
  std::vector<bool> used = readByCalls(Op::Constant, all.size());
  constants.resize(all.size());
  // What the device cannot read in place shares one allocation as far as the device allows.
  const bool separate = device().info().separatesBuffers;
  const uint64_t alignment = separate ? 1 : 256;
  auto padded = [&](uint64_t size) { return (size + alignment - 1) / alignment * alignment; };
  std::vector<size_t> uploads;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!used[i])
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
                           .addContext(fmt::format("{}: weights", module().path())));
    uint64_t offset = 0;
    for (; next < end; ++next) {
      InstanceBuffer &buffer = constants[uploads[next]];
      buffer.memory = memory;
      buffer.offset = offset;
      offset += padded(buffer.size);
      VX_RETURN_IF_ERROR(uploadConstant(uploads[next]));
    }
  }
  return okStatus();
}

// What calls do not read is loaded before its first reader here and freed after its last.
Status Instance::computeDerived() {
  const std::vector<Derived> &all = target().derived;
  derivedConstants.resize(all.size());
  if (all.empty())
    return okStatus();
  const std::vector<bool> keptConstants = readByCalls(Op::Constant, constants.size());
  const std::vector<bool> keptDerived = readByCalls(Op::Derived, all.size());
  std::vector<std::vector<size_t>> constantReads(all.size()), derivedReads(all.size());
  std::vector<size_t> lastOfConstant(constants.size()), lastOfDerived(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
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
      return place->derive(all[i], derivedConstants[i]);
    };
    VX_RETURN_IF_ERROR(compute().addContext(fmt::format("{}: init: '{}'", module().path(), all[i].name)));
    for (size_t index : constantReads[i])
      if (!keptConstants[index] && lastOfConstant[index] == i) {
        constants[index] = {};
        module().releasePages(bytesOf(index));
      }
    for (size_t index : derivedReads[i])
      if (!keptDerived[index] && lastOfDerived[index] == i)
        derivedConstants[index] = {};
  }
  return okStatus();
}

Status Instance::loadVariables() {
  for (const Variable &variable : data().variables) {
    InstanceBuffer &buffer = variables.emplace_back();
    buffer.size = variable.size;
    VX_RETURN_IF_ERROR(device()
                           .allocate(variable.size, hal::MemoryKind::Device, buffer.memory)
                           .addContext(fmt::format("variable '{}'", variable.name)));
    if (variable.size == 0)
      continue;
    if (variable.initial) {
      VX_RETURN_IF_ERROR(deviceContext->upload(buffer.view(), bytesOf(*variable.initial).data()));
    } else {
      VX_RETURN_IF_ERROR(deviceContext->fillZero(buffer.view()));
    }
  }
  return okStatus();
}

Status Instance::findVariable(std::string_view name, uint32_t &index) const {
  std::vector<std::string_view> names;
  for (index = 0; index < data().variables.size(); ++index) {
    if (data().variables[index].name == name)
      return okStatus();
    names.push_back(data().variables[index].name);
  }
  return failure(VX_NOT_FOUND, "variable '{}' does not exist, there are: {}", name,
                 names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", ")));
}

Status Instance::readVariable(std::string_view name, Ref<Value> &value) {
  uint32_t index = 0;
  VX_RETURN_IF_ERROR(findVariable(name, index));
  const Variable &variable = data().variables[index];
  std::vector<uint8_t> bytes(variable.size);
  {
    std::shared_lock lock(variableAccess);
    VX_RETURN_IF_ERROR(deviceContext->download(variables[index].view(), bytes.data()));
  }
  return Value::copyTensor(variable.elementType, variable.dims, bytes.data(), bytes.size(), value);
}

Status Instance::writeVariable(std::string_view name, const Value &value) {
  uint32_t index = 0;
  VX_RETURN_IF_ERROR(findVariable(name, index));
  const Variable &variable = data().variables[index];
  bool fits = value.kind() == VX_TENSOR && value.elementType() == variable.elementType &&
              std::equal(value.dims().begin(), value.dims().end(), variable.dims.begin(), variable.dims.end());
  if (!fits)
    return failure(VX_INVALID_ARGUMENT, "variable '{}': want {}, got {}", variable.name,
                   tensorTypeString(variable.elementType, variable.dims), value.typeString());
  const void *bytes = nullptr;
  VX_RETURN_IF_ERROR(value.hostBytes(bytes));
  if (variable.size == 0)
    return okStatus();
  std::unique_lock lock(variableAccess);
  return deviceContext->upload(variables[index].view(), bytes);
}

Status Instance::findFunction(const char *name, uint32_t &index) const {
  const std::vector<Function> &functions = data().functions;
  std::vector<std::string_view> names;
  for (index = 0; index < functions.size(); ++index) {
    if (!name || functions[index].name == name)
      return okStatus();
    names.push_back(functions[index].name);
  }
  return failure(VX_NOT_FOUND, "function '{}' does not exist, there are: {}", name ? name : "",
                 names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", ")));
}

Status Instance::takeCall(uint32_t function, std::unique_ptr<CallState> &call) {
  {
    std::lock_guard lock(poolMutex);
    if (!pool[function].empty()) {
      call = std::move(pool[function].back());
      pool[function].pop_back();
      return okStatus();
    }
  }
  return CallState::create(*this, function, call);
}

void Instance::returnCall(std::unique_ptr<CallState> call) {
  if (!call->reset())
    return;
  std::lock_guard lock(poolMutex);
  std::vector<std::unique_ptr<CallState>> &places = pool[call->function()];
  if (places.size() < maxPooledCalls)
    places.push_back(std::move(call));
}

} // namespace vx

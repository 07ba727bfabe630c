#include "exec/instance.h"

#include "base/arithmetic.h"
#include "exec/call_state.h"
#include "exec/rounding.h"
#include "module/save_module.h"
#include "vx/abi/module_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace vx {

// Pooled places per function; more than the threads of most callers.
static constexpr size_t maxPooledCalls = 64;

Instance::Instance() = default;
Instance::~Instance() {
  if (deviceMemory)
    deviceMemory->leave(*this);
}

Status Instance::create(Ref<Module> module, const DeviceRequest &request, std::span<hal::Driver *const> drivers,
                        Ref<Instance> &result, const InstanceSetup &setup) {
  Ref<Instance> instance = makeRef<Instance>();
  instance->parsedModule = std::move(module);
  instance->deviceReport.request = request;
  instance->deviceReport.failed = setup.failed;
  instance->shared = setup.share;
  instance->isLoaded = setup.isLoaded;
  instance->seed = setup.seed;
  if (setup.share && setup.share->parsedModule.get() != instance->parsedModule.get())
    return failure(VX_INVALID_ARGUMENT, "{}: the instance to share with is of another module, '{}'",
                   instance->module().path(), setup.share->module().path());
  VX_RETURN_IF_ERROR(instance->bindSymbols(setup.symbols));
  VX_RETURN_IF_ERROR(instance->placeVariables());
  VX_RETURN_IF_ERROR(instance->sizeStorages());
  instance->pool.resize(instance->data().functions.size());
  instance->accessTable = setup.share ? setup.share->accessTable : std::make_shared<VariableAccesses>();
  instance->deviceMemory =
      setup.share ? setup.share->deviceMemory : makeRef<InstanceMemory>(setup.memoryLimit, instance->accessTable);
  if (setup.isLoaded)
    VX_RETURN_IF_ERROR(instance->checkLimit());
  // Before anybody has it, so that a place of it in a pool is known.
  instance->deviceMemory->join(*instance);
  if (setup.share) {
    instance->loadedModule = setup.share->loadedModule;
    instance->deviceReport = setup.share->deviceReport;
    if (setup.isLoaded)
      VX_RETURN_IF_ERROR(instance->loadVariables().addContext(instance->module().path()));
    instance->shared = nullptr;
    result = std::move(instance);
    return okStatus();
  }
  for (const DeviceCandidate &candidate : deviceCandidates(request)) {
    VX_RETURN_IF_ERROR(instance->tryCandidate(candidate, drivers));
    if (instance->deviceReport.taken) {
      if (setup.isLoaded)
        instance->deviceReport.log(instance->module().path());
      result = std::move(instance);
      return okStatus();
    }
  }
  DeviceReport &report = instance->deviceReport;
  report.explain(drivers);
  if (setup.isLoaded)
    report.log(instance->module().path());
  return failure(VX_NO_DEVICE, "{}: no device for '{}': {}", instance->module().path(), request.device,
                 report.reasons())
      .attachReport(report.json());
}

Status Instance::createOnNext(const Status &failed, std::span<hal::Driver *const> drivers,
                              Ref<Instance> &result) const {
  if (deviceReport.request.noFallback)
    return failure(VX_UNSUPPORTED, "the instance was made without fallback");
  if (deviceMemory->isShared())
    return failure(VX_UNSUPPORTED, "other instances share its variables");
  if (accessTable->hasWritten())
    return failure(VX_UNSUPPORTED, "variables have been written, and their values are on the device that failed");
  InstanceSetup setup;
  for (size_t i = 0; i < symbolValues.size(); ++i)
    setup.symbols.push_back({data().symbolNames[i], symbolValues[i]});
  setup.seed = seed;
  setup.memoryLimit = memoryLimit();
  setup.failed = deviceReport.failed;
  const TakenDevice &taken = *deviceReport.taken;
  setup.failed.push_back({taken.backend, taken.index, failed.code(), std::string(failed.message())});
  VX_RETURN_IF_ERROR(create(parsedModule, deviceReport.request, drivers, result, setup));
  result->deviceMemory->limitCalls(deviceMemory->callLimitBytes());
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
  if (!driver) {
    hal::Refusal missing = missingDriver(drivers, candidate.backend);
    return refuse(spelled, missing.code, std::move(missing.reason));
  }

  const std::vector<Target> &targets = data().targets;
  std::vector<uint32_t> fitting;
  for (uint32_t i = 0; i < targets.size(); ++i)
    if (driver->target().empty() || targets[i].name == driver->target())
      fitting.push_back(i);
  if (fitting.empty() && isSecondRound)
    return okStatus();
  if (fitting.empty()) {
    std::vector<std::string_view> names;
    for (const Target &target : targets)
      if (std::find(names.begin(), names.end(), target.name) == names.end())
        names.push_back(target.name);
    return refuse(spelled, hal::RefusalCode::NoCode,
                  fmt::format("the module has no code for '{}', it has: {}",
                              driver->target().empty() ? driver->name() : driver->target(),
                              names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", "))));
  }
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
    if (std::ranges::any_of(deviceReport.failed, [&](const FailedDevice &one) {
          return one.backend == candidate.backend && one.index == index;
        }))
      continue;
    if (devices[index].isSoftware && candidate.software == DeviceCandidate::Software::PassedOver) {
      why = {hal::RefusalCode::Software,
             fmt::format("'{}' is a software device, taken only by name or when nothing else is left",
                         devices[index].name)};
      deviceReport.refused.push_back({fmt::format("{}:{}", candidate.backend, index), std::move(why)});
      continue;
    }
    VX_RETURN_IF_ERROR(tryDevice(*driver, index, fitting, why));
    if (why.code == hal::RefusalCode::None)
      return okStatus();
    deviceReport.refused.push_back({fmt::format("{}:{}", candidate.backend, index), std::move(why)});
  }
  return okStatus();
}

Status Instance::tryDevice(hal::Driver &driver, uint32_t index, std::span<const uint32_t> targets,
                           hal::Refusal &refusal) {
  const auto find = isLoaded ? DeviceModule::get : DeviceModule::plan;
  VX_RETURN_IF_ERROR(find(parsedModule, driver, index, deviceReport.request, targets, refusal, loadedModule));
  if (!loadedModule)
    return okStatus();
  Status status = isLoaded ? loadVariables() : okStatus();
  if (status.ok()) {
    deviceReport.taken = loadedModule->taken();
    return okStatus();
  }
  entryAccesses.clear();
  derivedValues.clear();
  versions.clear();
  variables.clear();
  storages.clear();
  loadedModule = nullptr;
  if (status.code() == VX_INVALID_MODULE)
    return status;
  refusal = {hal::RefusalCode::DeviceFailed, std::string(status.message())};
  return okStatus();
}

Status Instance::bindSymbols(std::span<const BoundSymbol> given) {
  const std::vector<Symbol> &symbols = data().symbols;
  std::vector<bool> bound(symbols.size());
  symbolValues.assign(symbols.size(), 0);
  for (const BoundSymbol &one : given) {
    auto found = std::find(data().symbolNames.begin(), data().symbolNames.end(), one.name);
    if (found == data().symbolNames.end())
      return failure(VX_INVALID_ARGUMENT, "{}: size '{}' is none of an instance, there are: {}", module().path(),
                     one.name,
                     symbols.empty() ? std::string("none") : fmt::format("{}", fmt::join(data().symbolNames, ", ")));
    const auto index = static_cast<size_t>(found - data().symbolNames.begin());
    const Symbol &symbol = symbols[index];
    if (bound[index])
      return failure(VX_INVALID_ARGUMENT, "{}: size '{}' is given twice", module().path(), one.name);
    if (one.value < symbol.min || one.value > symbol.max)
      return failure(VX_INVALID_ARGUMENT, "{}: size '{}': expected {}, got {}", module().path(), one.name,
                     symbol.max == INT64_MAX ? fmt::format("at least {}", symbol.min)
                                             : fmt::format("{} to {}", symbol.min, symbol.max),
                     one.value);
    if (one.value % symbol.multiple != 0)
      return failure(VX_INVALID_ARGUMENT, "{}: size '{}': expected a multiple of {}, got {}", module().path(), one.name,
                     symbol.multiple, one.value);
    bound[index] = true;
    symbolValues[index] = one.value;
  }
  for (size_t i = 0; i < bound.size(); ++i)
    if (!bound[i])
      return failure(VX_INVALID_ARGUMENT, "{}: size '{}' is bound when an instance is made, and is not given",
                     module().path(), symbols[i].name);
  return okStatus();
}

// Where the variables lie, which needs no device.
Status Instance::placeVariables() {
  for (const Variable &variable : data().variables)
    VX_RETURN_IF_ERROR(placeVariable(data(), variable, symbolValues, variablePlaces.emplace_back())
                           .addContext(fmt::format("{}: variable '{}'", module().path(), variable.name)));
  for (size_t i = 0; i < variablePlaces.size(); ++i) {
    const Variable &variable = data().variables[i];
    const VariablePlace &place = variablePlaces[i];
    variableInfos.push_back(module().signature().variables[i]);
    variableInfos.back().dims = place.dims.data();
    variableInfos.back().size = place.size;
    variableInfos.back().offset = static_cast<int64_t>(place.offset);
    if (!shared || !isShareable(variable.role))
      continue;
    const VariablePlace &there = shared->variablePlaces[i];
    if (place.dims != there.dims || place.offset != there.offset)
      return failure(VX_INVALID_ARGUMENT,
                     "{}: variable '{}' is {} at {} here, and {} at {} in the instance to share with", module().path(),
                     variable.name, tensorTypeString(variable.elementType, place.dims), place.offset,
                     tensorTypeString(variable.elementType, there.dims), there.offset);
  }
  return okStatus();
}

std::vector<bool> Instance::sharedStorages() const {
  std::vector<bool> isShared(data().storages.size());
  if (shared)
    for (const Variable &variable : data().variables)
      isShared[variable.storage] = isShareable(variable.role);
  return isShared;
}

Status Instance::sizeStorages() {
  const std::vector<bool> isShared = sharedStorages();
  for (size_t i = 0; i < isShared.size(); ++i) {
    int64_t size = 0;
    VX_RETURN_IF_ERROR(data().storages[i].size.evaluate(symbolValues, size).addContext("size of storage"));
    storageBytes.push_back(isShared[i] ? shared->storageBytes[i] : static_cast<uint64_t>(std::max<int64_t>(size, 0)));
  }
  return okStatus();
}

// No device has room for variables that are larger than the limit alone.
Status Instance::checkLimit() const {
  const std::vector<bool> isShared = sharedStorages();
  uint64_t total = 0;
  for (size_t i = 0; i < isShared.size(); ++i)
    if (!isShared[i])
      total = saturatingAdd(total, storageBytes[i]);
  if (total <= deviceMemory->allowed())
    return okStatus();
  return failure(VX_OUT_OF_MEMORY, "{}: the variables take {} bytes, and the instance's memory limit is {} bytes",
                 module().path(), total, deviceMemory->allowed());
}

Status Instance::loadVariables() {
  const std::vector<bool> isShared = sharedStorages();
  std::vector<uint64_t> covered(data().storages.size()); // bytes from its begin, by one variable's initial value
  for (size_t i = 0; i < variablePlaces.size(); ++i)
    if (const Variable &variable = data().variables[i];
        (variable.initial || variable.random) && variablePlaces[i].offset == 0)
      covered[variable.storage] = std::max(covered[variable.storage], variablePlaces[i].size);
  DeviceContext &context = *loadedModule->context();
  for (size_t i = 0; i < isShared.size(); ++i) {
    if (isShared[i]) {
      storages.push_back(shared->storages[i]);
      continue;
    }
    Ref<hal::Memory> &memory = storages.emplace_back();
    VX_RETURN_IF_ERROR(deviceMemory->allocateVariable(device(), storageBytes[i], memory).addContext("variables"));
    // What one initial value covers is written once.
    if (covered[i] < memory->size())
      VX_RETURN_IF_ERROR(context.fillZero({memory.get(), 0, memory->size()}));
  }
  Pieces initial;
  std::vector<std::vector<uint16_t>> rounded;
  for (size_t i = 0; i < data().variables.size(); ++i) {
    const Variable &variable = data().variables[i];
    variables.push_back({storages[variable.storage], variablePlaces[i].offset, variablePlaces[i].size});
    if (variable.initial && variables[i].size && !isShared[variable.storage])
      initial.emplace_back(variables[i].view(), loadedModule->bytesOf(*variable.initial).data());
  }
  addShadows(initial, rounded);
  VX_RETURN_IF_ERROR(context.upload(initial));
  VX_RETURN_IF_ERROR(drawVariables(isShared));
  placeDerived();
  collectAccesses();
  return okStatus();
}

// One after the other, so that the host holds one at a time.
Status Instance::drawVariables(const std::vector<bool> &isShared) {
  for (size_t i = 0; i < data().variables.size(); ++i) {
    const Variable &variable = data().variables[i];
    if (!variable.random || variables[i].size == 0 || isShared[variable.storage])
      continue;
    const std::vector<uint8_t> values =
        drawValues(*variable.random, seed, vx_hash64(variable.name.data(), variable.name.size()),
                   variablePlaces[i].dims, *randomFormat(variable.elementType));
    Pieces pieces{{variables[i].view(), values.data()}};
    std::vector<std::vector<uint16_t>> rounded;
    addShadows(pieces, rounded);
    VX_RETURN_IF_ERROR(loadedModule->context()->upload(pieces).addContext(fmt::format("variable '{}'", variable.name)));
  }
  return okStatus();
}

// What is derived from shared variables alone is shared with them.
void Instance::placeDerived() {
  const std::vector<Derived> &all = target().derived;
  versions.resize(variables.size());
  derivedValues.resize(all.size());
  auto isShared = [&](uint32_t variable) { return shared && isShareable(data().variables[variable].role); };
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].variables.empty())
      continue;
    std::vector<std::shared_ptr<const VariableVersion>> sources;
    for (uint32_t variable : all[i].variables) {
      if (!versions[variable])
        versions[variable] = isShared(variable) ? shared->versions[variable] : std::make_shared<VariableVersion>();
      sources.push_back(versions[variable]);
    }
    if (std::all_of(all[i].variables.begin(), all[i].variables.end(), isShared)) {
      derivedValues[i] = shared->derivedValues[i];
      continue;
    }
    derivedValues[i] = std::make_shared<DerivedValue>(std::move(sources));
    deviceMemory->add(derivedValues[i]);
  }
}

std::vector<uint32_t> Instance::derivedToCompute(size_t entry) {
  const std::vector<uint32_t> &needed = target().entries[entry].needed;
  std::vector<uint32_t> read = data().programs[target().entries[entry].program].derived;
  std::vector<uint32_t> result;
  // What reads another one comes behind it.
  for (auto index = needed.rbegin(); index != needed.rend(); ++index) {
    if (std::find(read.begin(), read.end(), *index) == read.end() ||
        accessTable->isFresh(derivedValues[*index]->version))
      continue;
    result.push_back(*index);
    const std::vector<uint32_t> &more = data().programs[target().derived[*index].program].derived;
    read.insert(read.end(), more.begin(), more.end());
  }
  std::reverse(result.begin(), result.end());
  return result;
}

void Instance::collectAccesses() {
  for (const Entry &entry : target().entries) {
    const Program &program = data().programs[entry.program];
    EntryAccesses &accesses = entryAccesses.emplace_back();
    for (AccessSet *set : {&accesses.running, &accesses.deriving}) {
      for (uint32_t index : program.uses)
        set->read(variables[index].view());
      for (uint32_t index : program.stores)
        addWrite(index, *set);
    }
    for (uint32_t index : program.derived)
      if (derivedValues[index])
        accesses.running.read(derivedValues[index]->version);
    for (uint32_t index : entry.needed) {
      accesses.deriving.write(derivedValues[index]->version);
      for (uint32_t variable : target().derived[index].variables)
        accesses.deriving.read(variables[variable].view());
    }
  }
}

void Instance::addWrite(size_t variable, AccessSet &accesses) {
  const KeptBuffer &written = variables[variable];
  accesses.write(written.view());
  for (size_t i = 0; i < variables.size(); ++i)
    if (versions[i] && variables[i].memory.get() == written.memory.get() &&
        variables[i].offset < written.offset + written.size && written.offset < variables[i].offset + variables[i].size)
      accesses.change(*versions[i]);
}

void Instance::addShadows(Pieces &pieces, std::vector<std::vector<uint16_t>> &rounded) const {
  const size_t count = pieces.size();
  for (const Shadow &one : data().shadows) {
    const KeptBuffer &source = variables[one.source], &shadow = variables[one.variable];
    const auto round = data().variables[one.variable].elementType == VX_F16 ? roundToF16 : roundToBF16;
    for (size_t i = 0; i < count; ++i) {
      const auto [view, bytes] = pieces[i];
      const uint64_t begin = std::max(view.offset, source.offset);
      const uint64_t end = std::min(view.offset + view.size, source.offset + source.size);
      if (view.memory != source.memory.get() || begin >= end)
        continue;
      std::vector<uint16_t> &elements = rounded.emplace_back((end - begin) / sizeof(float));
      const uint8_t *from = static_cast<const uint8_t *>(bytes) + (begin - view.offset);
      for (size_t k = 0; k < elements.size(); ++k) {
        float value = 0;
        std::memcpy(&value, from + k * sizeof(float), sizeof(float));
        elements[k] = round(value);
      }
      const uint64_t place = (begin - source.offset) / sizeof(float);
      pieces.emplace_back(hal::BufferView{shadow.memory.get(), shadow.offset + place * sizeof(uint16_t),
                                          elements.size() * sizeof(uint16_t)},
                          elements.data());
    }
  }
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

Status Instance::readVariables(std::span<const std::string_view> names, std::vector<Ref<Value>> &values) {
  std::vector<uint32_t> indices(names.size());
  AccessSet accesses;
  for (size_t i = 0; i < names.size(); ++i) {
    VX_RETURN_IF_ERROR(findVariable(names[i], indices[i]));
    accesses.read(variables[indices[i]].view());
  }
  std::vector<std::vector<uint8_t>> bytes;
  for (uint32_t index : indices)
    bytes.emplace_back(variables[index].size);
  {
    // All as they are at one time.
    const VariableAccesses::Ticket ticket = accessTable->take(accesses);
    for (size_t i = 0; i < names.size(); ++i)
      if (!bytes[i].empty())
        VX_RETURN_IF_ERROR(loadedModule->context()->download(variables[indices[i]].view(), bytes[i].data()));
  }
  std::vector<Ref<Value>> result;
  for (size_t i = 0; i < names.size(); ++i)
    VX_RETURN_IF_ERROR(Value::copyTensor(data().variables[indices[i]].elementType, variablePlaces[indices[i]].dims,
                                         bytes[i].data(), bytes[i].size(), result.emplace_back()));
  values = std::move(result);
  return okStatus();
}

Status Instance::saveModule(std::span<const std::string_view> names, const std::string &path) {
  std::vector<Ref<Value>> values;
  VX_RETURN_IF_ERROR(readVariables(names, values));
  std::vector<FirstValue> firsts(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    VX_RETURN_IF_ERROR(findVariable(names[i], firsts[i].variable));
    if (std::any_of(firsts.begin(), firsts.begin() + static_cast<ptrdiff_t>(i),
                    [&](const FirstValue &other) { return other.variable == firsts[i].variable; }))
      return failure(VX_INVALID_ARGUMENT, "variable '{}' is there twice", names[i]);
    const void *bytes = nullptr;
    VX_RETURN_IF_ERROR(values[i]->hostBytes(bytes));
    firsts[i].bytes = {static_cast<const uint8_t *>(bytes), static_cast<size_t>(values[i]->size())};
  }
  return vx::saveModule(module(), firsts, path);
}

Status Instance::writeVariables(std::span<const std::string_view> names, std::span<const Value *const> values) {
  AccessSet accesses;
  std::vector<bool> given(variables.size());
  Pieces pieces;
  for (size_t i = 0; i < names.size(); ++i) {
    uint32_t index = 0;
    VX_RETURN_IF_ERROR(findVariable(names[i], index));
    const Variable &variable = data().variables[index];
    const Value &value = *values[i];
    if (variable.role == Role::Shadow && !data().shadows.empty())
      return failure(VX_INVALID_ARGUMENT,
                     "variable '{}' is a shadow: it follows from a parameter, which is to be "
                     "written in its place",
                     variable.name);
    if (given[index])
      return failure(VX_INVALID_ARGUMENT, "variable '{}' is given twice", variable.name);
    given[index] = true;
    const std::vector<int64_t> &dims = variablePlaces[index].dims;
    const bool fits = value.kind() == VX_TENSOR && value.elementType() == variable.elementType &&
                      std::equal(value.dims().begin(), value.dims().end(), dims.begin(), dims.end());
    if (!fits)
      return failure(VX_INVALID_ARGUMENT, "variable '{}': expected {}, got {}", variable.name,
                     tensorTypeString(variable.elementType, dims), value.typeString());
    if (variables[index].size == 0)
      continue;
    const void *bytes = nullptr;
    VX_RETURN_IF_ERROR(value.hostBytes(bytes).addContext(fmt::format("variable '{}'", variable.name)));
    pieces.emplace_back(variables[index].view(), bytes);
    addWrite(index, accesses);
  }
  std::vector<std::vector<uint16_t>> rounded;
  const size_t writtenCount = pieces.size();
  addShadows(pieces, rounded);
  if (pieces.size() > writtenCount)
    for (const Shadow &one : data().shadows)
      addWrite(one.variable, accesses);
  const VariableAccesses::Ticket ticket = accessTable->take(accesses);
  if (!pieces.empty())
    accessTable->noteWritten();
  return loadedModule->context()->upload(pieces);
}

Status Instance::readVariable(std::string_view name, Ref<Value> &value) {
  std::vector<Ref<Value>> values;
  VX_RETURN_IF_ERROR(readVariables({&name, 1}, values));
  value = std::move(values.front());
  return okStatus();
}

Status Instance::writeVariable(std::string_view name, const Value &value) {
  const Value *const values[] = {&value};
  return writeVariables({&name, 1}, values);
}

Status Instance::upload(const Ref<Value> &value, Ref<Value> &placed) {
  if (value->kind() != VX_TENSOR || value->elementType() == VX_STRING)
    return failure(VX_INVALID_ARGUMENT, "expected a tensor of numbers or bools, got {}", value->typeString());
  placed = value;
  if (value->size() == 0 || isReadInPlace(*value, device()))
    return okStatus();
  const void *bytes = nullptr;
  VX_RETURN_IF_ERROR(value->hostBytes(bytes));
  if (device().info().readsHostMemory && reinterpret_cast<uintptr_t>(bytes) % VX_BUFFER_ALIGNMENT == 0)
    return okStatus();
  Ref<hal::Memory> memory;
  VX_RETURN_IF_ERROR(allocate(value->size(), memory));
  VX_RETURN_IF_ERROR(context()->upload({memory.get(), 0, value->size()}, bytes));
  placed = Value::deviceTensor(value->elementType(), {value->dims().begin(), value->dims().end()}, value->size(),
                               context(), std::move(memory), /*offset=*/0);
  return okStatus();
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

void Instance::takeIdleMemory(std::vector<Ref<hal::Memory>> &memory) {
  std::lock_guard lock(poolMutex);
  for (const std::vector<std::unique_ptr<CallState>> &places : pool)
    for (const std::unique_ptr<CallState> &place : places)
      place->takeIdleMemory(memory);
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

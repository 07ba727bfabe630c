#include "served_model.h"

#include "kserve_tensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::serve {
namespace {

// Why strangers may not call a function; empty: they may.
std::string refusalOf(const FunctionFacts &facts, const std::vector<std::string> &stateful) {
  const vx_function_info &function = *facts.function;
  if (!facts.stores.empty() && std::find(stateful.begin(), stateful.end(), function.name) == stateful.end())
    return fmt::format("'{}' stores '{}', and is not named as stateful", function.name,
                       fmt::join(facts.stores, "', '"));
  const auto isCarried = [](const vx_argument_info &argument) {
    return argument.kind == VX_TENSOR && !kserveType(argument.element_type).empty();
  };
  for (size_t i = 0; i < function.input_count; ++i)
    if (!isCarried(function.inputs[i]))
      return fmt::format("'{}' has the input '{}', of a kind that requests do not carry", function.name,
                         function.inputs[i].name);
  for (size_t i = 0; i < function.output_count; ++i)
    if (!isCarried(function.outputs[i]))
      return fmt::format("'{}' has the output '{}', of a kind that answers do not carry", function.name,
                         function.outputs[i].name);
  return "";
}

// As many rows as the function takes, and as the server is to give it.
BatchLimits limitsOf(const RowFacts &facts, BatchLimits limits) {
  if (!facts.canJoin)
    return limits;
  const auto multiple = static_cast<size_t>(facts.multiple);
  limits.rows = std::min(limits.rows, static_cast<size_t>(facts.most));
  limits.rows = std::max(limits.rows - limits.rows % multiple, multiple);
  return limits;
}

} // namespace

ServedModel::ServedModel(const ModelSettings &given, const Module &moduleOf, Metrics &metrics,
                         const ModelDevice::Warn &warn)
    : settings(given), loaded(moduleOf), shared(std::make_shared<ModelDevice::Shared>()), batchLimits(given.limits) {
  shared->model = settings.name;
  shared->warn = warn;
  openDevices();
  limitCalls(settings.callMemory);
  shared->isAlone = [this] {
    return std::count_if(devices.begin(), devices.end(), [](const auto &device) { return !device->isLost(); }) <= 1;
  };
  const size_t fixedRows = settings.deterministic ? settings.limits.rows : 0;
  for (FunctionFacts &facts : factsOf(loaded)) {
    const std::string refusal = refusalOf(facts, settings.stateful);
    if (!refusal.empty()) {
      refused.push_back(refusal);
      continue;
    }
    const BatchLimits limits = limitsOf(facts.rows, settings.limits);
    std::vector<std::unique_ptr<BatchRunner>> runners;
    for (const auto &device : devices)
      runners.push_back(std::make_unique<TensorRunner>(*device, facts, settings.deterministic ? limits.rows : 0,
                                                       metrics, settings.name));
    std::unique_ptr<BatchJoiner> joiner;
    if (facts.rows.canJoin)
      joiner = std::make_unique<RowJoiner>(
          facts.rows.inputs, [&first = *devices[0]](size_t size) { return first.current().hostMemory(size); });
    served.push_back({std::move(facts), std::make_shared<BatchQueue>(std::move(runners), limits, std::move(joiner))});
  }
  if (embedder()) {
    std::vector<std::unique_ptr<BatchRunner>> runners;
    for (const auto &device : devices)
      runners.push_back(
          std::make_unique<EmbedRunner>(*device, settings.limits.tokens, fixedRows, metrics, settings.name));
    embedding = std::make_shared<BatchQueue>(std::move(runners), settings.limits);
  }
}

void ServedModel::openDevices() {
  const std::vector<std::string> &wanted = settings.devices;
  if (wanted.empty()) {
    devices.push_back(std::make_unique<ModelDevice>(shared, loaded, settings.instance));
    return;
  }
  if (wanted == std::vector<std::string>{"all"})
    openAll();
  else
    for (const std::string &device : wanted)
      openOne(device);
  if (devices.empty()) {
    // None of them is there: another one of the order, as for one device.
    InstanceOptions options = settings.instance;
    options.device = wanted[0];
    devices.push_back(std::make_unique<ModelDevice>(shared, loaded, options));
  }
  if (devices.size() < 2)
    return;
  if (!settings.stateful.empty())
    throw serviceError(ErrorCode::invalid_value, "functions that are stateful ('{}') take one device, got {}",
                       fmt::join(settings.stateful, "', '"), devices.size());
  const auto kindOf = [](const ModelDevice &device) {
    const auto report = nlohmann::json::parse(device.report());
    return report["taken"]["backend"].get<std::string>() + " " + report["taken"].value("name", "");
  };
  for (const auto &device : devices)
    if (settings.deterministic && kindOf(*device) != kindOf(*devices[0]))
      throw serviceError(ErrorCode::invalid_value,
                         "a model that is deterministic takes devices of one kind, got '{}' and '{}'",
                         kindOf(*devices[0]), kindOf(*device));
}

void ServedModel::openOne(const std::string &device) {
  InstanceOptions options = settings.instance;
  options.device = device;
  options.noFallback = true;
  try {
    devices.push_back(std::make_unique<ModelDevice>(shared, loaded, options));
    options.noFallback = settings.instance.noFallback;
    devices.back()->setOptions(options);
  } catch (const vx::Error &error) {
    // A module that no device takes fails below.
    if (settings.instance.noFallback || (error.code() != VX_NO_DEVICE && error.code() != VX_DEVICE_LOST &&
                                         error.code() != VX_OUT_OF_MEMORY && error.code() != VX_UNSUPPORTED))
      throw;
    refusedOnes.push_back({device, error.what(), Clock::now()});
    if (shared->warn)
      shared->warn(fmt::format("model '{}': device {} is not used: {}", settings.name, device, error.what()));
  }
}

void ServedModel::openAll() {
  InstanceOptions options = settings.instance;
  devices.push_back(std::make_unique<ModelDevice>(shared, loaded, options));
  const std::string first = devices[0]->deviceName(), backend = first.substr(0, first.find(':'));
  options.device = first;
  devices[0]->setOptions(options);
  const auto list = nlohmann::json::parse(listDevices());
  const auto isSoftware = [](const nlohmann::json &device) { return device.value("software", false); };
  for (const nlohmann::json &entry : list["backends"]) {
    if (entry["name"] != backend || !entry.contains("devices"))
      continue;
    // Beside a real device, one that the CPU plays would answer late.
    bool isFirstSoftware = false;
    for (const nlohmann::json &device : entry["devices"])
      if (device["device"] == first)
        isFirstSoftware = isSoftware(device);
    for (const nlohmann::json &device : entry["devices"])
      if (device["device"] != first && isSoftware(device) == isFirstSoftware)
        openOne(device["device"].get<std::string>());
  }
}

const ModelDevice &ServedModel::serving() const {
  for (const auto &device : devices)
    if (!device->isLost())
      return *device;
  return *devices[0];
}

std::string ServedModel::device() const {
  std::vector<std::string> names;
  for (const auto &device : devices)
    if (!device->isLost())
      names.push_back(device->deviceName());
  return names.empty() ? devices[0]->deviceName() : fmt::format("{}", fmt::join(names, ","));
}

bool ServedModel::isLost() const {
  return std::all_of(devices.begin(), devices.end(), [](const auto &device) { return device->isLost(); });
}

std::vector<DeviceLoss> ServedModel::losses() const {
  std::vector<DeviceLoss> all;
  for (const auto &device : devices)
    for (const DeviceLoss &loss : device->losses())
      all.push_back(loss);
  return all;
}

void ServedModel::limitCalls(const MemoryShare &share) {
  for (const auto &device : devices)
    device->setCallMemory(share,
                          static_cast<size_t>(std::count_if(devices.begin(), devices.end(), [&](const auto &other) {
                            return other->deviceName() == device->deviceName();
                          })));
}

// Runners use members that are destroyed after this.
ServedModel::~ServedModel() {
  for (const ServedFunction &entry : served)
    entry.batcher->stop();
  if (embedding)
    embedding->stop();
}

size_t ServedModel::capacityRows() const {
  std::lock_guard guard(lock);
  size_t rows = embedding ? batchLimits.rows : 0;
  for (const ServedFunction &entry : served)
    rows = std::max(rows, entry.facts.rows.canJoin ? limitsOf(entry.facts.rows, batchLimits).rows : 1);
  return rows;
}

size_t ServedModel::queueLimit() const {
  std::lock_guard guard(lock);
  return batchLimits.queue * (served.size() + (embedding ? 1 : 0));
}

const ServedModel::ServedFunction &ServedModel::function(std::string_view name) const {
  std::vector<std::string> names;
  for (const ServedFunction &entry : served) {
    if (name.empty() || name == entry.facts.function->name)
      return entry;
    names.emplace_back(entry.facts.function->name);
  }
  if (name.empty())
    throw serviceError(ErrorCode::invalid_value, "model '{}' has no function that is served: {}", settings.name,
                       fmt::join(refused, "; "));
  throw serviceError(ErrorCode::invalid_value, "model '{}' serves no function '{}', it has '{}'", settings.name, name,
                     fmt::join(names, "', '"))
      .about("parameters.function")
      .expected(fmt::format("{}", fmt::join(names, ", ")), name);
}

std::optional<vx_memory_estimate> ServedModel::estimate(const vx_function_info &function,
                                                        std::span<const Value> inputs) const {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (size_t s = 0; s < function.symbol_count; ++s) {
    const vx_symbol_info &symbol = function.symbols[s];
    if (symbol.data_dependent || symbol.instance)
      continue;
    const size_t before = sizes.size();
    for (size_t i = 0; i < inputs.size() && sizes.size() == before; ++i)
      for (size_t d = 0; d < inputs[i].dims().size() && d < function.inputs[i].rank && sizes.size() == before; ++d)
        if (const vx_dim_info &dim = function.inputs[i].dims[d];
            dim.size < 0 && std::string_view(dim.expression) == symbol.name)
          sizes.emplace_back(symbol.name, inputs[i].dims()[d]);
    if (sizes.size() == before)
      return std::nullopt;
  }
  try {
    return serving().current().estimateMemory(function.name, sizes);
  } catch (const vx::Error &) {
    return std::nullopt; // sizes that it does not take: the call says what is wrong
  }
}

size_t ServedModel::waiting() const {
  size_t count = embedding ? embedding->waiting() : 0;
  for (const ServedFunction &entry : served)
    count += entry.batcher->waiting();
  return count;
}

void ServedModel::setLimits(const BatchLimits &limits, const MemoryShare &share) {
  {
    std::lock_guard guard(lock);
    batchLimits = limits;
  }
  limitCalls(share);
  for (const ServedFunction &entry : served)
    entry.batcher->setLimits(limitsOf(entry.facts.rows, limits));
  if (embedding)
    embedding->setLimits(limits);
}

} // namespace vx::serve

#include "model_device.h"

#include "process_facts.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vx::serve {
namespace {

// Of a device as the runtime's report names it: nothing where it does not tell how much memory that has.
std::optional<uint64_t> bytesOf(const MemoryShare &share, const std::string &device) {
  if (share.percent == 0)
    return share.bytes == 0 ? std::nullopt : std::optional(share.bytes);
  uint64_t memory = 0;
  const auto list = nlohmann::json::parse(listDevices());
  for (const nlohmann::json &backend : list["backends"])
    for (const nlohmann::json &entry : backend.value("devices", nlohmann::json::array()))
      if (entry["device"] == device)
        memory = entry["total_memory"].get<uint64_t>();
  if (device.starts_with("cpu:"))
    memory = std::min(memory, memoryOfProcess());
  return memory == 0 ? std::nullopt : std::optional(std::max<uint64_t>(memory / 100 * share.percent, 1));
}

} // namespace

ModelDevice::ModelDevice(std::shared_ptr<Shared> sharedOf, const Module &module, const InstanceOptions &options)
    : shared(std::move(sharedOf)), module(module), options(options) {
  open(options);
  const nlohmann::json about = nlohmann::json::parse(report());
  for (const nlohmann::json &backend : about["order"])
    order.push_back(backend.get<std::string>());
}

void ModelDevice::setCallMemory(const MemoryShare &share, size_t parts) {
  std::lock_guard guard(lock);
  if (callMemory == share && callParts == parts)
    return;
  callMemory = share;
  callParts = std::max<size_t>(parts, 1);
  limitCalls();
}

void ModelDevice::open(const InstanceOptions &wish) {
  std::shared_ptr<Embedder> embedder;
  Instance opened;
  if (Embedder::isEmbedder(module)) {
    embedder = std::make_shared<Embedder>(module, wish);
    opened = embedder->instance();
  } else {
    opened = Instance(module, wish);
  }
  // The former ones are destroyed without the lock.
  std::lock_guard guard(lock);
  std::swap(model, embedder);
  std::swap(instance, opened);
  limitCalls();
  resident = estimateResident();
}

void ModelDevice::limitCalls() {
  const auto report = nlohmann::json::parse(instance.report(VX_REPORT_JSON));
  deviceOfInstance = report["taken"]["device"].get<std::string>();
  mostOfCalls = bytesOf(callMemory, deviceOfInstance).value_or(0) / callParts;
  instance.limitCalls(mostOfCalls);
}

std::optional<ModelDevice::Memory> ModelDevice::estimateResident() const {
  std::optional<Memory> most;
  for (const vx_function_info &function : module.functions()) {
    // The least sizes: the memory that stays on the device does not depend on them.
    std::vector<std::pair<std::string, int64_t>> sizes;
    for (size_t s = 0; s < function.symbol_count; ++s) {
      const vx_symbol_info &symbol = function.symbols[s];
      const int64_t multiple = std::max<int64_t>(symbol.multiple, 1), least = std::max<int64_t>(symbol.min, 1);
      if (!symbol.data_dependent && !symbol.instance)
        sizes.emplace_back(symbol.name, (least - 1) / multiple * multiple + multiple);
    }
    try {
      const vx_memory_estimate estimate = instance.estimateMemory(function.name, sizes);
      most = most.value_or(Memory{});
      most->constants = std::max(most->constants, estimate.constants);
      most->variables = std::max(most->variables, estimate.variables);
      most->device = estimate.device_memory;
    } catch (const vx::Error &) {
      // A function that does not take these sizes; another one may.
    }
  }
  return most;
}

std::optional<ModelDevice::Memory> ModelDevice::memory() const {
  std::lock_guard guard(lock);
  return resident;
}

uint64_t ModelDevice::callLimit() const {
  std::lock_guard guard(lock);
  return mostOfCalls;
}

std::shared_ptr<Embedder> ModelDevice::embedder() const {
  std::lock_guard guard(lock);
  return model;
}

Instance ModelDevice::current() const {
  std::lock_guard guard(lock);
  return instance;
}

std::vector<DeviceLoss> ModelDevice::losses() const {
  std::lock_guard guard(lock);
  return lossesOfDevices;
}

bool ModelDevice::addLoss(const std::string &device, const std::string &reason) {
  static constexpr std::chrono::minutes notLong{10};
  std::lock_guard guard(lock);
  const auto before = std::find_if(lossesOfDevices.begin(), lossesOfDevices.end(),
                                   [&](const DeviceLoss &loss) { return loss.device == device; });
  const bool isAgain = before != lossesOfDevices.end() && Clock::now() - before->at < notLong;
  if (before != lossesOfDevices.end())
    lossesOfDevices.erase(before);
  lossesOfDevices.push_back({device, reason, Clock::now()});
  return isAgain;
}

std::optional<std::string> ModelDevice::reopen() {
  InstanceOptions next = options;
  if (!passedOver.empty()) {
    std::vector<std::string> left;
    std::copy_if(order.begin(), order.end(), std::back_inserter(left),
                 [this](const std::string &backend) { return !passedOver.contains(backend); });
    if (left.empty())
      return "there is no other one in the order";
    next.deviceOrder = fmt::format("{}", fmt::join(left, ","));
    if (passedOver.contains(next.device.substr(0, next.device.find(':'))))
      next.device = "auto";
  }
  try {
    open(next);
    return std::nullopt;
  } catch (const std::exception &error) {
    return error.what();
  }
}

std::optional<std::string> ModelDevice::reopenSame(const std::string &device) {
  InstanceOptions same = options;
  same.device = device;
  same.noFallback = true;
  try {
    open(same);
    return std::nullopt;
  } catch (const std::exception &error) {
    return error.what();
  }
}

std::optional<Instance> ModelDevice::replace(const Instance &gone, const std::string &reason) {
  std::lock_guard one(shared->replacing);
  // Another queue of the model may have been quicker.
  if (const Instance now = current(); now.get() != gone.get())
    return now;
  if (lost)
    return std::nullopt;
  const auto report = nlohmann::json::parse(gone.report(VX_REPORT_JSON));
  const std::string where = report["taken"]["device"], backend = report["taken"]["backend"];
  const bool isAgain = addLoss(where, reason);
  std::optional<std::string> failure = "no other one may be used";
  const bool isAlone = shared->isAlone();
  if (!options.noFallback && !isAlone) {
    failure = isAgain ? "it was lost twice in ten minutes" : reopenSame(where);
  } else if (!options.noFallback) {
    // Drivers recover, and pass over broken devices: the same options are tried once more.
    if (isAgain)
      passedOver.insert(backend);
    failure = reopen();
    if (failure && passedOver.insert(backend).second)
      failure = reopen();
  }
  lost = failure.has_value();
  if (shared->warn)
    shared->warn(fmt::format("model '{}': device {} is lost: {}; {}", shared->model, where, reason,
                             !failure  ? "it is on " + deviceName() + " now"
                             : isAlone ? "the model is not served: " + *failure
                                       : "its other devices serve: " + *failure));
  return failure ? std::nullopt : std::optional(current());
}

std::shared_ptr<Embedder> ModelDevice::replaceEmbedder(const Embedder &gone, const std::string &reason) {
  return replace(gone.instance(), reason) ? embedder() : nullptr;
}

std::string ModelDevice::report() const { return current().report(VX_REPORT_JSON); }

std::string ModelDevice::deviceName() const {
  std::lock_guard guard(lock);
  return deviceOfInstance;
}

} // namespace vx::serve

#include "served_model.h"

#include "kserve_tensors.h"
#include "process_facts.h"

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

ServedModel::ServedModel(const ModelSettings &given, Metrics &metrics, Warn warnOf)
    : settings(given), module(settings.path), warn(std::move(warnOf)), callMemory(given.callMemory),
      batchLimits(given.limits) {
  open(settings.instance);
  const nlohmann::json report = nlohmann::json::parse(deviceReport());
  for (const nlohmann::json &backend : report["order"])
    order.push_back(backend.get<std::string>());
  const size_t fixedRows = settings.deterministic ? settings.limits.rows : 0;
  for (FunctionFacts &facts : factsOf(module)) {
    const std::string refusal = refusalOf(facts, settings.stateful);
    if (!refusal.empty()) {
      refused.push_back(refusal);
      continue;
    }
    const BatchLimits limits = limitsOf(facts.rows, settings.limits);
    auto runner = std::make_unique<TensorRunner>(static_cast<InstanceSource &>(*this), facts,
                                                 settings.deterministic ? limits.rows : 0, metrics, settings.name);
    served.push_back({std::move(facts), std::make_shared<Batcher>(std::move(runner), limits)});
  }
  if (model)
    embedding = std::make_shared<Batcher>(std::make_unique<EmbedRunner>(static_cast<EmbedderSource &>(*this),
                                                                        settings.limits.tokens, fixedRows, metrics,
                                                                        settings.name),
                                          settings.limits);
}

// Runners use what is destroyed behind this.
ServedModel::~ServedModel() {
  for (const ServedFunction &entry : served)
    entry.batcher->stop();
  if (embedding)
    embedding->stop();
}

void ServedModel::open(const InstanceOptions &options) {
  std::shared_ptr<Embedder> embedder;
  Instance opened;
  if (Embedder::isEmbedder(module)) {
    embedder = std::make_shared<Embedder>(module, options);
    opened = embedder->instance();
  } else {
    opened = Instance(module, options);
  }
  // What was there before goes without the lock.
  std::lock_guard guard(lock);
  std::swap(model, embedder);
  std::swap(instance, opened);
  limitCalls();
  resident = estimateResident();
}

void ServedModel::limitCalls() {
  const auto report = nlohmann::json::parse(instance.report(VX_REPORT_JSON));
  deviceOfInstance = report["taken"]["device"].get<std::string>();
  mostOfCalls = bytesOf(callMemory, deviceOfInstance).value_or(0);
  instance.limitCalls(mostOfCalls);
}

std::optional<ServedModel::Memory> ServedModel::estimateResident() const {
  std::optional<Memory> most;
  for (const vx_function_info &function : module.functions()) {
    // The least sizes: what stays on the device does not depend on them.
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

std::optional<ServedModel::Memory> ServedModel::memory() const {
  std::lock_guard guard(lock);
  return resident;
}

uint64_t ServedModel::callLimit() const {
  std::lock_guard guard(lock);
  return mostOfCalls;
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
      .about("parameters.function");
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
    return current().estimateMemory(function.name, sizes);
  } catch (const vx::Error &) {
    return std::nullopt; // sizes that it does not take: the call says what is wrong
  }
}

std::shared_ptr<Embedder> ServedModel::embedder() const {
  std::lock_guard guard(lock);
  return model;
}

Instance ServedModel::current() const {
  std::lock_guard guard(lock);
  return instance;
}

std::vector<DeviceLoss> ServedModel::losses() const {
  std::lock_guard guard(lock);
  return lossesOfDevices;
}

bool ServedModel::addLoss(const std::string &device, const std::string &reason) {
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

std::optional<std::string> ServedModel::reopen() {
  InstanceOptions options = settings.instance;
  if (!passedOver.empty()) {
    std::vector<std::string> left;
    std::copy_if(order.begin(), order.end(), std::back_inserter(left),
                 [this](const std::string &backend) { return !passedOver.contains(backend); });
    if (left.empty())
      return "there is no other one in the order";
    options.deviceOrder = fmt::format("{}", fmt::join(left, ","));
    if (passedOver.contains(options.device.substr(0, options.device.find(':'))))
      options.device = "auto";
  }
  try {
    open(options);
    return std::nullopt;
  } catch (const std::exception &error) {
    return error.what();
  }
}

std::optional<Instance> ServedModel::replace(const Instance &gone, const std::string &reason) {
  std::lock_guard one(replacing);
  // Another queue of the model may have been quicker.
  if (const Instance now = current(); now.get() != gone.get())
    return now;
  if (lost)
    return std::nullopt;
  const auto report = nlohmann::json::parse(gone.report(VX_REPORT_JSON));
  const std::string where = report["taken"]["device"], backend = report["taken"]["backend"];
  const bool isAgain = addLoss(where, reason);
  std::optional<std::string> failure = "no other one may be used";
  if (!settings.instance.noFallback) {
    // Drivers recover, and pass over what is broken: what was wanted is tried once more.
    if (isAgain)
      passedOver.insert(backend);
    failure = reopen();
    if (failure && passedOver.insert(backend).second)
      failure = reopen();
  }
  lost = failure.has_value();
  if (warn)
    warn(fmt::format("model '{}': device {} is lost: {}; {}", settings.name, where, reason,
                     failure ? "the model is not served: " + *failure : "it is on " + device() + " now"));
  return failure ? std::nullopt : std::optional(current());
}

std::shared_ptr<Embedder> ServedModel::replaceEmbedder(const Embedder &gone, const std::string &reason) {
  return replace(gone.instance(), reason) ? embedder() : nullptr;
}

std::string ServedModel::deviceReport() const { return current().report(VX_REPORT_JSON); }

std::string ServedModel::deviceName() const {
  std::lock_guard guard(lock);
  return deviceOfInstance;
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
    if (callMemory != share) {
      callMemory = share;
      limitCalls();
    }
  }
  for (const ServedFunction &entry : served)
    entry.batcher->setLimits(limitsOf(entry.facts.rows, limits));
  if (embedding)
    embedding->setLimits(limits);
}

} // namespace vx::serve

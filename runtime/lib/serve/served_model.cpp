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

ServedModel::ServedModel(const ModelSettings &given, Metrics &metrics) : settings(given), module(settings.path) {
  open(settings.instance);
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
  if (Embedder::isEmbedder(module)) {
    model = std::make_shared<Embedder>(module, options);
    instance = model->instance();
  } else {
    instance = Instance(module, options);
  }
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

std::optional<Instance> ServedModel::replace(const Instance &gone) {
  std::lock_guard guard(lock);
  // Another queue of the model may have been quicker.
  if (instance.get() != gone.get())
    return instance;
  if (settings.instance.noFallback) {
    lost = true;
    return std::nullopt;
  }
  try {
    open(settings.instance);
  } catch (const std::exception &) {
    lost = true;
    return std::nullopt;
  }
  return instance;
}

std::shared_ptr<Embedder> ServedModel::replaceEmbedder(const Embedder &gone) {
  return replace(gone.instance()) ? embedder() : nullptr;
}

std::string ServedModel::deviceReport() const { return current().report(VX_REPORT_JSON); }

std::string ServedModel::device() const {
  return nlohmann::json::parse(deviceReport())["taken"]["device"].get<std::string>();
}

size_t ServedModel::waiting() const {
  size_t count = embedding ? embedding->waiting() : 0;
  for (const ServedFunction &entry : served)
    count += entry.batcher->waiting();
  return count;
}

void ServedModel::setLimits(const BatchLimits &limits) {
  for (const ServedFunction &entry : served)
    entry.batcher->setLimits(limitsOf(entry.facts.rows, limits));
  if (embedding)
    embedding->setLimits(limits);
}

} // namespace vx::serve

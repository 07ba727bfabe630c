#include "vx/serve/batcher.hpp"

#include "deadline_clock.h"
#include "run_failure.h"
#include "served_model.h"

namespace vx::serve {
namespace {

BatchError batchError(const ServiceError &error) {
  using Kind = BatchError::Kind;
  const auto kindOf = [](ErrorCode code) {
    switch (code) {
    case ErrorCode::invalid_value:
      return Kind::argument;
    case ErrorCode::queue_full:
      return Kind::queue_full;
    case ErrorCode::deadline:
      return Kind::deadline;
    case ErrorCode::draining:
      return Kind::stopped;
    case ErrorCode::out_of_memory:
      return Kind::out_of_memory;
    case ErrorCode::device_lost:
      return Kind::device_lost;
    default:
      return Kind::failed;
    }
  };
  return {kindOf(error.code), error.what()};
}

template <typename Function>
decltype(auto) asBatchError(const Function &function) {
  try {
    return function();
  } catch (const ServiceError &error) {
    throw batchError(error);
  }
}

ModelSettings settingsOf(const BatcherOptions &options) {
  for (const auto &[name, value] : {std::pair("queue", options.queue), std::pair("rows", options.rows)})
    if (value == 0)
      throw BatchError(BatchError::Kind::argument, fmt::format("'{}': expected 1 or more, got 0", name));
  ModelSettings settings;
  settings.name = "module";
  settings.instance = options.instance;
  settings.devices = options.devices;
  settings.limits = {.queue = options.queue, .rows = options.rows, .timeout = options.wait};
  settings.deterministic = options.deterministic;
  settings.stateful = options.stateful;
  return settings;
}

} // namespace

struct Batcher::Implementation {
  Implementation(const Module &module, const BatcherOptions &options)
      : model(settingsOf(options), module, metrics, nullptr) {}
  const ServedModel::ServedFunction &function(std::string_view name) const {
    return asBatchError([&]() -> const ServedModel::ServedFunction & { return model.function(name); });
  }

  Metrics metrics;
  DeadlineClock deadlines;
  ServedModel model; // ends its calls before the clock goes
};

Batcher::Batcher(const Module &module, const BatcherOptions &options)
    : implementation(asBatchError([&] { return std::make_unique<Implementation>(module, options); })) {}

Batcher::~Batcher() = default;

std::future<std::vector<Value>> Batcher::submit(std::vector<Value> inputs, std::string_view name, Deadline deadline) {
  const ServedModel::ServedFunction &served = implementation->function(name);
  const vx_function_info &function = *served.facts.function;
  if (inputs.size() != function.input_count)
    throw BatchError(BatchError::Kind::argument, fmt::format("'{}': expected {} inputs, got {}", function.name,
                                                             function.input_count, inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i])
      throw BatchError(BatchError::Kind::argument, fmt::format("'{}': expected a value for '{}', got none",
                                                               function.name, function.inputs[i].name));
  const auto promise = std::make_shared<std::promise<std::vector<Value>>>();
  std::future<std::vector<Value>> result = promise->get_future();
  const auto job = std::make_shared<TensorJob>(
      std::move(inputs), [promise](std::vector<Value> outputs) { promise->set_value(std::move(outputs)); },
      [promise](const ServiceError &error) { promise->set_exception(std::make_exception_ptr(batchError(error))); });
  describeJob(*job, served.facts.rows);
  job->deadline = deadline;
  asBatchError([&] { served.batcher->submit(job); });
  if (deadline != Deadline::max())
    implementation->deadlines.watch(job, served.batcher);
  return result;
}

std::vector<Value> Batcher::run(std::vector<Value> inputs, std::string_view function, Deadline deadline) {
  return submit(std::move(inputs), function, deadline).get();
}

std::vector<std::string> Batcher::functions() const {
  std::vector<std::string> names;
  for (const ServedModel::ServedFunction &served : implementation->model.functions())
    names.emplace_back(served.facts.function->name);
  return names;
}

const std::vector<std::string> &Batcher::refusals() const { return implementation->model.refusals(); }

bool Batcher::joins(std::string_view function) const { return implementation->function(function).facts.rows.canJoin; }

size_t Batcher::waiting() const { return implementation->model.waiting(); }

Batcher::Counts Batcher::counts() const {
  const Metrics::Batches batches = implementation->metrics.batchesOf("module");
  return {batches.count, batches.rows};
}

std::string Batcher::device() const { return implementation->model.device(); }

} // namespace vx::serve

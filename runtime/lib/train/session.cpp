#include "vx/train/session.hpp"

#include "failure.h"
#include "feed.h"
#include "random.h"
#include "saved_variables.h"
#include "scores.h"
#include "vx/base/printable.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

namespace vx::train {

// The input of `backward` that says whether the gradients before stay.
static constexpr char KeepInput[] = "keep";

// `backward` or `step` of a module that keeps gradients.
static void checkHalf(const vx_function_info *half, const vx_function_info &step) {
  for (size_t i = 0; half && i < half->input_count; ++i) {
    const vx_argument_info &input = half->inputs[i];
    const auto known = std::find_if(step.inputs, step.inputs + step.input_count, [&](const vx_argument_info &other) {
      return std::string_view(other.name) == input.name;
    });
    const bool isKnown = known != step.inputs + step.input_count && known->element_type == input.element_type &&
                         known->rank == input.rank;
    const bool isKeep = input.name == std::string_view(KeepInput) && input.element_type == VX_BOOL && input.rank == 0;
    if (!isKnown && !isKeep)
      throw argumentError("function '{}': input '{}' is neither one of '{}' nor a single bool '{}'", half->name,
                          input.name, step.name, KeepInput);
  }
}

static const vx_training_info *trainingOf(const Module &module) {
  const vx_training_info *training = module.training();
  if (!training || !training->train_step)
    throw argumentError("the module does not train: it has no training step; use one that was compiled with --train");
  const vx_function_info &step = *training->train_step;
  auto wantScalar = [&](const char *what, const vx_argument_info &argument, vx_element_type type) {
    if (argument.kind != VX_TENSOR || argument.element_type != type || argument.rank != 0)
      throw argumentError("function '{}': {} '{}' is no single {}", step.name, what, argument.name,
                          vx_element_type_name(type));
  };
  if (step.output_count == 0)
    throw argumentError("function '{}' gives no loss", step.name);
  wantScalar("the loss", step.outputs[0], VX_F32);
  for (size_t i = 0; i < training->metric_count; ++i)
    wantScalar("metric", step.outputs[training->metrics[i]], VX_F32);
  for (size_t i = 0; training->counts && i < training->metric_count; ++i)
    if (training->counts[i] != SIZE_MAX)
      wantScalar("count", step.outputs[training->counts[i]], VX_F32);
  std::vector<bool> isFed(step.input_count);
  for (size_t i = 0; i < training->input_count; ++i)
    isFed[training->inputs[i]] = true;
  for (size_t i = 0; i < training->hyper_count; ++i) {
    const vx_hyper_info &hyper = training->hypers[i];
    wantScalar("hyperparameter", step.inputs[hyper.input], hyper.kind == VX_HYPER_SEED ? VX_I64 : VX_F32);
    isFed[hyper.input] = true;
  }
  for (size_t i = 0; i < step.input_count; ++i)
    if (!isFed[i])
      throw argumentError("function '{}': input '{}' is neither data nor a hyperparameter", step.name,
                          step.inputs[i].name);
  checkHalf(training->backward, step);
  checkHalf(training->step, step);
  if (training->backward && training->backward->output_count != step.output_count)
    throw argumentError("function '{}' has {} outputs, expected {}, those of '{}'", training->backward->name,
                        training->backward->output_count, step.output_count, step.name);
  return training;
}

// The variables of a loss scale, in the order of the members of LossScale; none where the module has not all of them.
static std::vector<std::string> lossScaleVariables(const Instance &instance) {
  static constexpr struct {
    const char *name;
    vx_variable_role role;
    vx_element_type type;
  } wanted[] = {{"loss_scale", VX_ROLE_OPTIMIZER, VX_F32},
                {"loss_scale.good", VX_ROLE_COUNTER, VX_I64},
                {"loss_scale.skipped", VX_ROLE_COUNTER, VX_I64}};
  std::vector<std::string> names;
  for (const auto &one : wanted)
    for (const vx_variable_info &variable : instance.variables())
      if (variable.name == std::string_view(one.name) && variable.role == one.role &&
          variable.element_type == one.type && variable.rank == 0)
        names.emplace_back(one.name);
  return names.size() == std::size(wanted) ? names : std::vector<std::string>();
}

Session::Session(const std::string &path, const InstanceOptions &options) : Session(Module(path), options) {}

Session::Session(const Module &module, const InstanceOptions &options)
    : module(module), training(trainingOf(module)), instance(module, options),
      loss_scale_variables(lossScaleVariables(instance)) {}

Call &Session::call_of(const vx_function_info &function) {
  const auto found = calls.find(function.name);
  if (found != calls.end())
    return found->second;
  return calls.emplace(function.name, Call(instance, function)).first->second;
}

std::vector<Value> Session::call(const std::string &function, std::span<const Value> inputs) {
  std::vector<std::string> names;
  for (const vx_function_info &one : module.functions()) {
    if (one.name == function)
      return run(one, inputs, /*trains=*/false);
    names.emplace_back(one.name);
  }
  throw argumentError("function '{}' does not exist, the module has {}", function, quoteNames(names));
}

// A run that nobody watches stays on this thread.
std::vector<Value> Session::run(const vx_function_info &function, std::span<const Value> inputs, bool trains) {
  Call &call = call_of(function);
  return watcher ? wait(call.submit(inputs), trains) : call.run(inputs);
}

std::vector<Value> Session::wait(const Pending &run, bool trains) const {
  constexpr uint32_t sliceMs = 50;
  while (watcher) {
    try {
      return run.waitFor(sliceMs);
    } catch (const vx::Error &error) {
      if (error.code() != VX_TIMED_OUT)
        throw;
    }
    if (watcher(trains))
      run.cancel();
  }
  return run.wait();
}

void Session::watch_batches(bool trains) const {
  if (watcher && watcher(trains))
    throw vx::Error(VX_CANCELLED, "cancelled between two batches");
}

static float numberOf(const Value &value) { return value.data<float>()[0]; }

Scores Session::scores_of(std::span<const Value> outputs, int64_t rows) const {
  Scores scores;
  scores.loss = numberOf(outputs[0]);
  scores.rows = rows;
  scores.count = static_cast<double>(rows);
  for (size_t i = 0; i < training->metric_count; ++i) {
    const size_t output = training->metrics[i];
    const size_t counted = training->counts ? training->counts[i] : SIZE_MAX;
    const double count = counted == SIZE_MAX ? static_cast<double>(rows) : numberOf(outputs[counted]);
    if (output == 0) {
      scores.count = count;
      continue;
    }
    scores.metrics.emplace_back(training->train_step->outputs[output].name, numberOf(outputs[output]));
    scores.metric_counts.push_back(count);
  }
  return scores;
}

// What a step takes, in the order of its inputs; without data where `inputs` is empty.
std::vector<Value> Session::step_inputs(std::span<const Value> inputs, double rate, double scale, Draw draw) const {
  std::vector<Value> values(training->train_step->input_count);
  for (size_t i = 0; i < inputs.size(); ++i)
    values[training->inputs[i]] = inputs[i];
  for (size_t i = 0; i < training->hyper_count; ++i) {
    const vx_hyper_info &hyper = training->hypers[i];
    if (hyper.kind == VX_HYPER_SEED) {
      const auto seed = static_cast<int64_t>(randomNumber(position.seed, Use::step, draw.batch, draw.step));
      values[hyper.input] = Value::tensor<int64_t>({}, {seed});
    } else {
      const auto number = static_cast<float>(hyper.kind == VX_HYPER_RATE ? rate : scale);
      values[hyper.input] = Value::tensor<float>({}, {number});
    }
  }
  return values;
}

Scores Session::run_step(std::span<const Value> inputs, int64_t rows, double rate, double scale) {
  batch_of_step = 0;
  const std::vector<Value> outputs =
      run(*training->train_step, step_inputs(inputs, rate, scale, {position.step, 0}), /*trains=*/true);
  ++position.step;
  return scores_of(outputs, rows);
}

void Session::want_halves() const {
  if (!training->backward || !training->step)
    throw argumentError("the module does not keep gradients: it has no 'backward' and 'update'; use one that was "
                        "compiled with --keep-gradients");
}

// A half takes of the step's inputs those of its own names.
std::vector<Value> Session::half_inputs(const vx_function_info &half, std::span<const Value> inputs, double rate,
                                        double scale, Draw draw, bool keep) const {
  const std::vector<Value> known = step_inputs(inputs, rate, scale, draw);
  const uint8_t flag = keep ? 1 : 0;
  std::vector<Value> values;
  for (size_t i = 0; i < half.input_count; ++i) {
    if (half.inputs[i].name == std::string_view(KeepInput)) {
      values.push_back(Value::raw(VX_BOOL, {}, &flag, 1));
      continue;
    }
    for (size_t k = 0; k < known.size(); ++k)
      if (std::string_view(training->train_step->inputs[k].name) == half.inputs[i].name)
        values.push_back(known[k]);
  }
  return values;
}

Scores Session::run_backward(std::span<const Value> inputs, int64_t rows, bool keep, double scale) {
  batch_of_step = keep ? batch_of_step + 1 : 0;
  const vx_function_info &half = *training->backward;
  const Draw draw = {position.step, batch_of_step};
  return scores_of(run(half, half_inputs(half, inputs, 0, scale, draw, keep), /*trains=*/true), rows);
}

void Session::run_update(double rate, double scale) {
  const vx_function_info &half = *training->step;
  run(half, half_inputs(half, {}, rate, scale, {position.step, batch_of_step}, false), /*trains=*/true);
  ++position.step;
}

Pending Session::hold_step(std::span<const Value> inputs, double rate, double scale, Draw draw) {
  return call_of(*training->train_step).submit(step_inputs(inputs, rate, scale, draw), /*hold=*/true);
}

Pending Session::hold_backward(std::span<const Value> inputs, double scale, Draw draw) {
  const vx_function_info &half = *training->backward;
  return call_of(half).submit(half_inputs(half, inputs, 0, scale, draw, draw.batch > 0), /*hold=*/true);
}

// The rows of a batch that is given by hand.
static int64_t checkBatch(const char *function, std::span<const Value> inputs, size_t wanted) {
  if (inputs.size() != wanted)
    throw argumentError("{}: expected {} inputs, got {}", function, wanted, inputs.size());
  for (const Value &input : inputs)
    if (!input)
      throw argumentError("{}: expected a value, got none", function);
  const std::span<const int64_t> dims = inputs.empty() ? std::span<const int64_t>() : inputs[0].dims();
  return dims.empty() ? 1 : dims[0];
}

Scores Session::train_step(std::span<const Value> inputs, double rate, double scale) {
  return run_step(inputs, checkBatch("train_step", inputs, training->input_count), rate, scale);
}

Scores Session::backward(std::span<const Value> inputs, bool keep, double scale) {
  want_halves();
  return run_backward(inputs, checkBatch("backward", inputs, training->input_count), keep, scale);
}

void Session::update(double rate, double scale) {
  want_halves();
  run_update(rate, scale);
}

Value Session::gradient(const std::string &parameter) const {
  std::vector<std::string> names;
  for (const vx_variable_info &variable : instance.variables()) {
    const bool isMeant = parameter == variable.name || parameter == variable.source;
    const std::string name = fmt::format("grad/{}", variable.name);
    for (const vx_variable_info &kept : instance.variables())
      if (kept.role == VX_ROLE_GRADIENT && kept.name == name) {
        if (isMeant)
          return instance.readVariable(name);
        names.emplace_back(variable.name);
      }
  }
  throw argumentError("gradient: no gradient of '{}' is kept; there are those of {}", parameter, quoteNames(names));
}

std::optional<LossScale> Session::loss_scale() const {
  if (loss_scale_variables.empty())
    return std::nullopt;
  const std::vector<Value> values = instance.readVariables(loss_scale_variables);
  return LossScale{numberOf(values[0]), static_cast<uint64_t>(values[1].data<int64_t>()[0]),
                   static_cast<uint64_t>(values[2].data<int64_t>()[0])};
}

void Session::stop(const std::string &reason) {
  if (stop_reason.empty())
    stop_reason = reason.empty() ? "stopped" : reason;
}

// --- Evaluation and prediction

Scores Session::evaluate_all(const Dataset &data, int64_t batch, std::vector<std::string> &notes) {
  if (!training->evaluate)
    throw argumentError("the module has no function to evaluate with");
  const vx_function_info &function = *training->evaluate;
  if (function.input_count != training->input_count || function.output_count != training->train_step->output_count)
    throw argumentError("function '{}' has {} inputs and {} outputs, expected {} and {}, those of '{}'", function.name,
                        function.input_count, function.output_count, training->input_count,
                        training->train_step->output_count, training->train_step->name);
  std::vector<size_t> numbers(function.input_count);
  std::iota(numbers.begin(), numbers.end(), size_t(0));
  Feed feed(data, function, numbers);
  const int64_t size = feed.batch(batch, last_batch ? last_batch : UsualBatch);
  Scores sum;
  std::vector<int64_t> rows;
  for (int64_t begin = 0; begin < data.rows(); begin += size) {
    watch_batches(/*trains=*/false);
    if (running && was_interrupted())
      throw vx::Error(VX_CANCELLED, "interrupted between two batches");
    const int64_t count = std::min(size, data.rows() - begin);
    if (!feed.takes(count)) {
      notes.push_back(fmt::format("evaluation leaves out the last {} of {} rows, which are no batch of {}", count,
                                  data.rows(), feed.dimension()));
      break;
    }
    rows.resize(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), begin);
    add(sum, scores_of(run(function, feed.read(rows), /*trains=*/false), count));
  }
  if (sum.rows == 0)
    throw dataError("{}: the data has {} rows, which are no batch of {}", data.origin(0), data.rows(),
                    feed.dimension());
  divide(sum, std::numeric_limits<double>::quiet_NaN());
  return sum;
}

Scores Session::evaluate(const Dataset &data, int64_t batch) {
  std::vector<std::string> notes;
  return evaluate_all(data, batch, notes);
}

double Session::evaluate(const Dataset &data, const std::string &metric, int64_t batch) {
  return evaluate(data, batch).of(metric);
}

std::vector<Value> Session::predict(const Dataset &data, int64_t batch) {
  if (!training->predict)
    throw argumentError("the module has no function to predict with");
  const vx_function_info &function = *training->predict;
  std::vector<size_t> numbers(function.input_count);
  std::iota(numbers.begin(), numbers.end(), size_t(0));
  Feed feed(data, function, numbers);
  for (size_t i = 0; i < function.output_count; ++i) {
    const vx_argument_info &output = function.outputs[i];
    if (output.kind != VX_TENSOR || output.rank == 0 || output.dims[0].expression != feed.dimension())
      throw argumentError("function '{}': output '{}' has no rows of the batch; use call()", function.name,
                          output.name);
  }
  const int64_t size = feed.batch(batch, last_batch ? last_batch : UsualBatch);
  struct Output {
    vx_element_type type = VX_ELEMENT_NONE;
    std::vector<int64_t> dims;
    std::vector<std::byte> bytes;
  };
  std::vector<Output> outputs(function.output_count);
  std::vector<int64_t> rows;
  for (int64_t begin = 0; begin < data.rows(); begin += size) {
    watch_batches(/*trains=*/false);
    const int64_t count = std::min(size, data.rows() - begin);
    rows.resize(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), begin);
    // A row's result is its own: the last one again fills a batch of a size that the module wants.
    while (!feed.takes(static_cast<int64_t>(rows.size())))
      rows.push_back(data.rows() - 1);
    const std::vector<Value> results = run(function, feed.read(rows), /*trains=*/false);
    for (size_t i = 0; i < results.size(); ++i) {
      Output &output = outputs[i];
      const std::span<const std::byte> bytes = results[i].bytes();
      std::vector<int64_t> dims(results[i].dims().begin(), results[i].dims().end());
      dims[0] = output.dims.empty() ? count : output.dims[0] + count;
      output.type = results[i].info().element_type;
      output.dims = std::move(dims);
      const size_t wanted = bytes.size() / rows.size() * static_cast<size_t>(count);
      output.bytes.insert(output.bytes.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(wanted));
    }
  }
  std::vector<Value> values;
  for (const Output &output : outputs)
    values.push_back(Value::raw(output.type, output.dims, output.bytes.data(), output.bytes.size()));
  return values;
}

// --- The table of parameters

uint64_t Session::parameter_count() const {
  uint64_t total = 0;
  for (const SavedVariable &saved : savedVariables(instance))
    if (saved.variable->role == VX_ROLE_PARAMETER)
      total += elementCount(*saved.variable);
  return total;
}

// "235.1K"
static std::string shortCount(uint64_t count) {
  static constexpr struct {
    double size;
    const char *letter;
  } units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "K"}};
  for (const auto &unit : units)
    if (static_cast<double>(count) >= unit.size)
      return fmt::format("{:.1f}{}", static_cast<double>(count) / unit.size, unit.letter);
  return std::to_string(count);
}

std::string Session::summary() const {
  struct Row {
    std::string name, shape, count;
  };
  std::vector<Row> rows{{"parameter", "shape", "count"}};
  for (const SavedVariable &saved : savedVariables(instance)) {
    const vx_variable_info &variable = *saved.variable;
    if (variable.role == VX_ROLE_PARAMETER)
      rows.push_back({printableLine(variable.source), typeText(variable.element_type, {variable.dims, variable.rank}),
                      std::to_string(elementCount(variable))});
  }
  const uint64_t total = parameter_count();
  size_t names = 5, shapes = 0, counts = std::to_string(total).size();
  for (const Row &row : rows) {
    names = std::max(names, row.name.size());
    shapes = std::max(shapes, row.shape.size());
    counts = std::max(counts, row.count.size());
  }
  std::string text;
  for (const Row &row : rows)
    text += fmt::format("{:<{}}  {:<{}}  {:>{}}\n", row.name, names, row.shape, shapes, row.count, counts);
  text += fmt::format("{:<{}}  {:<{}}  {:>{}} ({})\n", "total", names, "", shapes, total, counts, shortCount(total));
  if (const std::optional<LossScale> scale = loss_scale())
    text += fmt::format("loss scale {}, {} good steps since it changed, {} steps skipped\n", scale->scale, scale->good,
                        scale->skipped);
  return text;
}

} // namespace vx::train

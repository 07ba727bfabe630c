#include "measurement.h"

#include "call_inputs.h"
#include "load_module.h"
#include "tool_error.h"

#include "vx/abi/version.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <tuple>

namespace vx::tools {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

static constexpr uint64_t MaxRuns = 1000000;
// Profiled calls of a turn: the median of few is good enough, and each waits for the device after every kernel.
static constexpr double ProfileSeconds = 0.1;
static constexpr size_t MaxProfiles = 10;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// 10^9 of `amount` per second; nothing when the time is too short to have been measured.
static std::optional<double> rate(std::optional<double> amount, std::optional<double> milliseconds) {
  if (!amount || !milliseconds || *milliseconds <= 0)
    return std::nullopt;
  return *amount / (*milliseconds * 1e6);
}

std::optional<double> KernelMeasurement::gflops() const { return rate(flops, medianMs); }
std::optional<double> KernelMeasurement::gbs() const { return rate(bytes, medianMs); }

void setTimes(Measurement &measurement, std::vector<double> seconds) {
  static_cast<vx::bench::Times &>(measurement) = vx::bench::summarize(std::move(seconds));
  measurement.gbs = rate(static_cast<double>(measurement.bytes), measurement.medianMs).value_or(0);
  measurement.gflops = rate(measurement.flops, measurement.medianMs);
}

static std::optional<double> numberOrNothing(const json &object, const char *key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null())
    return std::nullopt;
  return found->get<double>();
}

namespace {

class ModuleContestant final : public Contestant {
public:
  explicit ModuleContestant(const MeasurementRequest &request);

  void run(double seconds, uint32_t minRuns, std::vector<double> &times) override;
  void finishTurn() override;
  Measurement describe() override;

private:
  double runOnce();
  // Brings tensors to the device; other values stay where they are.
  void placeInputs();
  // Notes how much longer a call with inputs in the host's memory takes, and the time of bringing its results there.
  void timeTransfers();
  // One run with the work of every kernel counted and, where the device can, timed.
  json profile();
  void takeBatch(const vx_function_info &function);
  void profileKernels();
  void addKernels(Measurement &measurement, const json &first) const;

  const bool perKernel;
  Measurement facts;
  uint64_t inputBytes = 0;
  uint64_t outputBytes = 0;
  std::optional<size_t> lossOutput; // of a training step
  const vx::Module module;
  vx::Instance instance;
  vx::Call call;
  std::vector<vx::Value> inputs;
  std::vector<vx::Value> hostInputs;                      // those of resident ones
  std::vector<double> uploads, downloads;                 // seconds
  std::map<std::string, std::vector<double>> kernelTimes; // milliseconds, by key
  std::vector<vx_alias_info> aliases;                     // those that are taken
  std::vector<vx_result_place> places;
};

ModuleContestant::ModuleContestant(const MeasurementRequest &request)
    : perKernel(request.perKernel), module(loadModule(request.path)) {
  const vx_function_info &function = findFunction(module, request.function);
  facts.module = request.path;
  facts.function = function.name;
  facts.runnerVersion = VX_VERSION_STRING;
  facts.dims = request.dims;
  checkDims(module.symbols(), function, facts.dims);
  if (request.alias) {
    const std::span<const vx_alias_info> declared = module.aliases(function);
    if (declared.empty())
      throw usageError("--alias: function '{}' of '{}' declares no output that may be the memory of an input",
                       function.name, request.path);
    aliases.assign(declared.begin(), declared.end());
  }
  places.resize(function.output_count);
  for (const Value &value : makeInputs(function, request.inputs, request.seed, facts.dims, &facts.zeroInputs)) {
    const bool isOverwritten = std::any_of(aliases.begin(), aliases.end(),
                                           [this](const vx_alias_info &alias) { return alias.input == inputs.size(); });
    inputs.push_back(toRuntime(value));
    for (const Tensor &tensor : value.tensors)
      inputBytes += isOverwritten ? 0 : tensor.bytes.size();
  }
  if (request.train)
    takeBatch(function);
  // A size that is known only after the call is not reported.
  for (size_t i = 0; i < function.symbol_count; ++i)
    if (function.symbols[i].data_dependent)
      facts.dims.erase(function.symbols[i].name);

  vx::InstanceOptions options;
  options.device = request.device;
  // A benchmark of another device than the one asked for would be a lie.
  options.noFallback = request.device != "auto";
  options.threads = request.threads;
  options.symbols = instanceSizes(module, facts.dims);
  instance = vx::Instance(module, options);
  const json taken = json::parse(instance.report(VX_REPORT_JSON))["taken"];
  facts.device = taken.value("device", "");
  facts.deviceName = taken.value("name", "");
  facts.variant = taken.value("variant", "");
  facts.deviceDetails = taken.value("details", "");
  facts.threads = taken.value("threads", 0u);
  facts.isResident = request.resident;

  call = vx::Call(instance, function);
  if (facts.isResident)
    placeInputs();
}

void ModuleContestant::placeInputs() {
  // A CPU reads the host's memory in place: nothing is transferred.
  if (!facts.device.starts_with("cpu"))
    hostInputs = inputs;
  for (vx::Value &input : inputs)
    if (const vx_value_info info = input.info(); info.kind == VX_TENSOR && info.element_type != VX_STRING)
      input = instance.upload(input);
}

void ModuleContestant::timeTransfers() {
  // Before the call has memory for its own copies of inputs.
  if (!facts.memoryBytes)
    facts.memoryBytes = json::parse(call.report()).value("memory_bytes", uint64_t(0));
  const Clock::time_point begin = Clock::now();
  (void)call.runInto(hostInputs, std::vector<vx_result_place>(places.size()));
  const double fromHost = secondsSince(begin);
  for (const vx_alias_info &alias : aliases)
    places[alias.output].value = inputs[alias.input].get();
  const Clock::time_point second = Clock::now();
  const std::vector<vx::Value> results = call.runInto(inputs, places);
  uploads.push_back(std::max(0.0, fromHost - secondsSince(second)));
  const Clock::time_point done = Clock::now();
  vx::bench::fetch(results);
  downloads.push_back(secondsSince(done));
  for (const vx_alias_info &alias : aliases)
    inputs[alias.input] = results[alias.output];
}

// The first input of data says how many rows there are; inputs that steer a step are no random numbers.
void ModuleContestant::takeBatch(const vx_function_info &function) {
  const vx_training_info &training = *module.training();
  const bool isStep = &function == training.train_step;
  if (training.input_count > 0)
    if (const std::span<const int64_t> dims = inputs[isStep ? training.inputs[0] : 0].dims(); !dims.empty())
      facts.rows = dims[0];
  if (isStep && training.metric_count > 0)
    lossOutput = training.metrics[0];
  for (size_t i = 0; isStep && i < training.hyper_count; ++i) {
    const vx_hyper_info &hyper = training.hypers[i];
    const char *name = function.inputs[hyper.input].name;
    std::erase(facts.zeroInputs, name);
    if (hyper.kind == VX_HYPER_SEED)
      inputs[hyper.input] = vx::Value::tensor<int64_t>({}, {1});
    else
      inputs[hyper.input] = vx::Value::tensor<float>({}, {hyper.kind == VX_HYPER_RATE ? StepRate : 1.0f});
  }
}

double ModuleContestant::runOnce() {
  for (const vx_alias_info &alias : aliases)
    places[alias.output].value = inputs[alias.input].get();
  const Clock::time_point begin = Clock::now();
  const std::vector<vx::Value> outputs = call.runInto(inputs, places);
  if (!facts.isResident)
    vx::bench::fetch(outputs);
  const double seconds = secondsSince(begin);
  if (lossOutput && !facts.firstLoss)
    facts.firstLoss = outputs[*lossOutput].info().element_type == VX_F64 ? outputs[*lossOutput].data<double>()[0]
                                                                         : outputs[*lossOutput].data<float>()[0];
  outputBytes = 0;
  for (const vx::Value &output : outputs)
    outputBytes += output.info().size;
  for (const vx_alias_info &alias : aliases) {
    outputBytes -= outputs[alias.output].info().size;
    inputs[alias.input] = outputs[alias.output];
  }
  return seconds;
}

void ModuleContestant::run(double seconds, uint32_t minRuns, std::vector<double> &times) {
  vx::bench::repeat([this] { return runOnce(); }, seconds, minRuns, std::max<uint64_t>(MaxRuns, minRuns), times);
}

json ModuleContestant::profile() {
  call.setProfile(true);
  runOnce();
  call.setProfile(false);
  return json::parse(call.report());
}

void ModuleContestant::finishTurn() {
  if (perKernel)
    profileKernels();
  if (!hostInputs.empty())
    timeTransfers();
}

void ModuleContestant::profileKernels() {
  if (kernelTimes.empty())
    profile(); // The first profiled run makes objects that the others use again.
  const Clock::time_point begin = Clock::now();
  for (size_t i = 0; i < 1 || (i < MaxProfiles && secondsSince(begin) < ProfileSeconds); ++i) {
    const json report = profile();
    for (const json &kernel : report["kernels"])
      if (const std::optional<double> milliseconds = numberOrNothing(kernel, "total_ms"))
        kernelTimes[kernel.value("key", "")].push_back(*milliseconds);
  }
}

void ModuleContestant::addKernels(Measurement &measurement, const json &first) const {
  for (const json &kernel : first["kernels"]) {
    KernelMeasurement &one = measurement.kernels.emplace_back();
    one.name = kernel.value("kernel", "");
    one.key = kernel.value("key", "");
    one.sources = kernel.value("sources", std::vector<std::string>());
    one.dispatches = kernel.value("count", uint64_t(0));
    one.flops = numberOrNothing(kernel, "flops");
    one.bytes = numberOrNothing(kernel, "bytes");
    if (const auto times = kernelTimes.find(one.key); times != kernelTimes.end())
      one.medianMs = spreadOf(times->second).median;
  }
  std::sort(measurement.kernels.begin(), measurement.kernels.end(),
            [](const KernelMeasurement &a, const KernelMeasurement &b) {
              return std::tie(b.medianMs, a.key) < std::tie(a.medianMs, b.key);
            });
}

Measurement ModuleContestant::describe() {
  // The first profiled run makes objects that the others use again.
  profile();
  const json counted = profile();
  Measurement measurement = facts;
  measurement.flops = numberOrNothing(counted, "flops");
  measurement.kernelBytes = numberOrNothing(counted, "bytes");
  if (!facts.memoryBytes)
    measurement.memoryBytes = counted.value("memory_bytes", uint64_t(0));
  measurement.bytes = inputBytes + outputBytes;
  if (!uploads.empty()) {
    measurement.uploadMs = spreadOf(uploads).median * 1e3;
    measurement.downloadMs = spreadOf(downloads).median * 1e3;
  }
  const json description = json::parse(module.describe());
  for (const json &constant : description["constants"])
    measurement.bytes += constant.value("size", uint64_t(0));
  if (perKernel)
    addKernels(measurement, counted);
  return measurement;
}

} // namespace

std::unique_ptr<Contestant> makeModuleContestant(const MeasurementRequest &request) {
  return std::make_unique<ModuleContestant>(request);
}

} // namespace vx::tools

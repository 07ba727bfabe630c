#include "measurement.h"

#include "call_inputs.h"
#include "runtime_objects.h"
#include "tool_error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace vx::tools {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double percentile(const std::vector<double> &sorted, double part) {
  const double rank = std::ceil(part * static_cast<double>(sorted.size()));
  const size_t index = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

// Runs once; gives the seconds and the bytes of the outputs.
static double runOnce(vx_call *call, std::vector<vx_value *> &inputs, std::vector<vx_value *> &outputs,
                      uint64_t &outputBytes) {
  const Clock::time_point begin = Clock::now();
  check(vx_call_run(call, inputs.size(), inputs.data(), outputs.size(), outputs.data()));
  const double seconds = secondsSince(begin);
  outputBytes = 0;
  for (vx_value *output : outputs) {
    outputBytes += vx_value_get_info(output).size;
    vx_value_release(output);
  }
  return seconds;
}

static uint64_t constantBytes(const vx_module *module) {
  char *text = nullptr;
  check(vx_module_describe(module, &text));
  const nlohmann::json description = nlohmann::json::parse(takeString(text));
  uint64_t bytes = 0;
  for (const nlohmann::json &constant : description["constants"])
    bytes += constant.value("size", uint64_t(0));
  return bytes;
}

Measurement measure(const MeasurementRequest &request) {
  vx_module *loaded = nullptr;
  check(vx_module_load(request.path.c_str(), &loaded));
  const ModuleOwner module(loaded);
  const vx_function_info &function = findFunction(module.get(), request.function);

  Measurement result;
  result.module = request.path;
  result.function = function.name;
  result.dims = request.dims;
  checkDims(function, result.dims);
  std::vector<ValueOwner> owners;
  std::vector<vx_value *> inputs;
  for (const Value &value : makeInputs(function, request.inputs, request.seed, result.dims)) {
    owners.push_back(toRuntime(value));
    inputs.push_back(owners.back().get());
    for (const Tensor &tensor : value.tensors)
      result.bytes += tensor.bytes.size();
  }
  // What is known only after the call has no size to report.
  for (size_t i = 0; i < function.symbol_count; ++i)
    if (function.symbols[i].data_dependent)
      result.dims.erase(function.symbols[i].name);

  vx_instance_options options{};
  options.struct_size = sizeof(options);
  options.device = request.device.c_str();
  // A benchmark of another device than the one asked for would be a lie.
  options.no_fallback = request.device != "auto";
  options.threads = request.threads;
  vx_instance *createdInstance = nullptr;
  check(vx_instance_create(module.get(), &options, &createdInstance));
  const InstanceOwner instance(createdInstance);
  char *text = nullptr;
  check(vx_instance_report(instance.get(), VX_REPORT_JSON, &text));
  const nlohmann::json taken = nlohmann::json::parse(takeString(text))["taken"];
  result.device = taken.value("device", "");
  result.deviceName = taken.value("name", "");
  result.variant = taken.value("variant", "");
  result.threads = taken.value("threads", 0u);

  vx_call *createdCall = nullptr;
  check(vx_call_create(instance.get(), function.name, &createdCall));
  const CallOwner call(createdCall);
  std::vector<vx_value *> outputs(function.output_count, nullptr);
  uint64_t outputBytes = 0;
  // The first runs record commands, touch pages and wake the processor up.
  const Clock::time_point warmBegin = Clock::now();
  for (int i = 0; i < 2 || (i < 1000 && secondsSince(warmBegin) < request.minSeconds / 10); ++i)
    runOnce(call.get(), inputs, outputs, outputBytes);

  constexpr size_t maxRuns = 1000000;
  std::vector<double> seconds;
  const Clock::time_point begin = Clock::now();
  while (seconds.size() < request.minRuns || (secondsSince(begin) < request.minSeconds && seconds.size() < maxRuns))
    seconds.push_back(runOnce(call.get(), inputs, outputs, outputBytes));
  std::sort(seconds.begin(), seconds.end());
  result.runs = seconds.size();
  result.medianMs = percentile(seconds, 0.5) * 1e3;
  result.p95Ms = percentile(seconds, 0.95) * 1e3;
  result.minMs = seconds.front() * 1e3;
  result.bytes += outputBytes + constantBytes(module.get());
  result.gbs = result.medianMs > 0 ? static_cast<double>(result.bytes) / (result.medianMs * 1e6) : 0;
  return result;
}

} // namespace vx::tools

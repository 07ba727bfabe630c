#include "plan_check.h"

#include "call_inputs.h"
#include "tool_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

namespace vx::tools {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

static constexpr uint64_t MostTimedRuns = 1000;

bool hasCode(const Json &check, const std::string &device) {
  const std::string backend = device.substr(0, device.find(':'));
  if (backend == "null" || !check.contains("targets"))
    return true;
  const Json &targets = check["targets"];
  return std::find(targets.begin(), targets.end(), Json(backend)) != targets.end();
}

std::map<std::string, Tensor> tensorsOf(const vx_function_info &function, const std::vector<vx::Value> &outputs) {
  std::map<std::string, Tensor> tensors;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (Value value = fromRuntime(outputs[i]); value.kind == VX_TENSOR)
      tensors.emplace(function.outputs[i].name, std::move(value.tensors.front()));
  return tensors;
}

CheckRunner::Loaded CheckRunner::load(const std::string &name) {
  if (kept && keptName == name)
    return *kept;
  kept.reset();
  vx::Module module = files.module(name);
  vx::InstanceOptions options;
  options.device = device;
  options.noFallback = true;
  Loaded loaded{module, vx::Instance(module, options)};
  // Calls leave values in variables, which the next check must not see.
  if (module.variables().empty()) {
    kept = loaded;
    keptName = name;
  }
  return loaded;
}

static double millisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void CheckRunner::compare(const Json &check, double seconds, CheckResult &result) {
  const std::string fault = check.value("fault", "");
  std::map<std::string, Tensor> got;
  std::optional<vx::Call> call;
  std::vector<vx::Value> inputs;
  try {
    const Loaded loaded = load(check["module"]);
    const vx_function_info &function = findFunction(loaded.module, check.value("function", ""));
    inputs = files.inputs(function, check);
    call.emplace(loaded.instance, function);
    const Clock::time_point begin = Clock::now();
    got = tensorsOf(function, call->run(inputs));
    result.firstMs = millisecondsSince(begin);
  } catch (const vx::Error &error) {
    if (fault.empty())
      throw;
    if (!std::strstr(error.what(), fault.c_str()))
      throw workError("expected the error '{}', got '{}'", fault, error.what());
    ++result.results;
    return;
  }
  if (!fault.empty())
    throw workError("expected the error '{}', got none", fault);
  for (const Json &entry : check["results"]) {
    const std::string output = entry["output"];
    const std::string title = entry.value("title", "output '" + output + "'");
    const auto found = got.find(output);
    if (found == got.end()) {
      result.problems.push_back({fmt::format("{}: there is no such output", title), output, {}, {}, {}});
      continue;
    }
    const Tensor expected = files.expected(check, entry, found->second.type);
    const OutputVerdict verdict = judge(found->second, expected, files.rule(entry));
    ++result.results;
    result.elements += elementCount(expected.type, expected.dims).value_or(0);
    result.worst = std::max(result.worst, verdict.worst);
    if (!verdict.right)
      result.problems.push_back(
          {fmt::format("{}: {}", title, verdict.text), output, verdict.element, verdict.expected, verdict.got});
    if (const std::string further = files.furtherProblem(check, entry, expected); !further.empty())
      result.problems.push_back({fmt::format("{}: {}", title, further), output, {}, {}, {}});
  }
  if (check["results"].empty())
    throw workError("the plan has no result to compare");
  if (seconds > 0)
    result.times = vx::bench::measure(
        *call, inputs,
        {.seconds = seconds, .minRuns = 1, .maxRuns = MostTimedRuns, .warmUpSeconds = 0, .warmUpRuns = 0});
}

CheckResult CheckRunner::run(const Json &check, double seconds) {
  CheckResult result;
  try {
    compare(check, seconds, result);
  } catch (const std::exception &error) {
    result.problems.push_back({error.what(), {}, {}, {}, {}});
  }
  return result;
}

} // namespace vx::tools

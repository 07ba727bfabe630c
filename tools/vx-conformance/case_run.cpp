#include "case_run.h"

#include "call_inputs.h"
#include "command_line.h"
#include "expected_outputs.h"
#include "signature.h"
#include "tensor_file.h"

#include "vx/compiler/vxc.h"

#include <chrono>
#include <memory>
#include <new>

namespace vx::tools {

using Clock = std::chrono::steady_clock;

namespace {

struct ReleaseModule {
  void operator()(vxc_module *module) const { vxc_module_release(module); }
};
using ModuleBytes = std::unique_ptr<vxc_module, ReleaseModule>;

struct Compiled {
  vxc_result result = VXC_DONE;
  std::string errors; // "; " between them
  ModuleBytes bytes;
};

// What ends the work on a target before its outputs are right.
struct Stopped {
  Outcome outcome;
  std::string message;
};

} // namespace

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

static Compiled compileModel(const CaseRequest &request, const std::string &model,
                             const std::vector<std::string> &targets, const char *stopAfter) {
  Compiled compiled;
  std::string list;
  std::vector<const char *> variants;
  for (const std::string &target : targets) {
    list += (list.empty() ? "" : ",") + target;
    for (const std::string &variant : request.variants)
      if (variant.starts_with(target + "="))
        variants.push_back(variant.c_str());
  }
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = list.c_str();
  options.variants = variants.data();
  options.num_variants = variants.size();
  options.threads = 1; // the other processors have cases of their own
  options.stop_after = stopAfter;
  options.data_folder = request.folder.path.c_str();
  options.user_data = &compiled.errors;
  options.on_message = [](void *data, vxc_severity severity, const char *message) {
    std::string &errors = *static_cast<std::string *>(data);
    if (severity == VXC_ERROR)
      errors += (errors.empty() ? "" : "; ") + std::string(message);
  };
  vxc_module *bytes = nullptr;
  compiled.result = vxc_compile_bytes(model.data(), model.size(), "model.onnx", &options, &bytes);
  compiled.bytes.reset(bytes);
  return compiled;
}

static Stopped refusal(const Compiled &compiled) {
  if (compiled.result == VXC_UNSUPPORTED && !compiled.errors.empty())
    return {Outcome::Unsupported, compiled.errors};
  return {Outcome::CompileError, fmt::format("the compiler ends with {}: {}", static_cast<int>(compiled.result),
                                             compiled.errors.empty() ? "it says no reason" : compiled.errors)};
}

// What a failed call of the runtime means. A device that has not what the code wants is none for this case.
static Stopped failure(const vx::Error &error) {
  switch (error.code()) {
  case VX_NO_DEVICE:
    return {Outcome::Skipped, error.what()};
  case VX_UNSUPPORTED:
    return {Outcome::Unsupported, error.what()};
  default:
    return {Outcome::RunFailure, error.what()};
  }
}

static std::optional<Stopped> runSet(vx::Call &call, const vx_function_info &function, const CaseData::Set &set,
                                     const ExpectedOutputs &expected) {
  std::map<std::string, Value> outputs;
  std::vector<vx::Value> given;
  for (size_t i = 0; i < function.input_count; ++i) {
    const vx_argument_info &argument = function.inputs[i];
    const auto file = set.inputs.find(argument.name);
    if (file == set.inputs.end())
      return Stopped{Outcome::RunFailure,
                     fmt::format("the module has an input '{}', the model has none", argument.name)};
    Value value = readTensorFile(file->second, argument.kind);
    if (value.tensors.empty()) // the file does not say of what there is none
      value.type = argument.element_type;
    given.push_back(toRuntime(value));
  }
  const std::vector<vx::Value> results = call.run(given);
  for (size_t i = 0; i < results.size(); ++i)
    outputs.emplace(function.outputs[i].name, fromRuntime(results[i]));
  if (std::optional<std::string> difference = expected.difference(set, outputs))
    return Stopped{Outcome::Wrong, *difference};
  return std::nullopt;
}

static std::optional<Stopped> runOn(const std::string &target, const Compiled &compiled, Mode mode,
                                    const CaseData &data, const ExpectedOutputs &expected) try {
  const std::span bytes(static_cast<const std::byte *>(vxc_module_data(compiled.bytes.get())),
                        vxc_module_size(compiled.bytes.get()));
  const vx::Module module(bytes, "model");
  vx::InstanceOptions options;
  options.device = target;
  options.noFallback = true;
  options.threads = 1;
  const vx::Instance instance(module, options);
  const vx_function_info &function = findFunction(module, "");
  vx::Call call(instance, function);
  for (const CaseData::Set &set : data.sets()) {
    if (std::optional<Stopped> stopped = runSet(call, function, set, expected)) {
      if (data.sets().size() > 1)
        stopped->message = set.name + ": " + stopped->message;
      return stopped;
    }
    if (mode == Mode::Constant) // the constants are those of the first set
      break;
  }
  return std::nullopt;
} catch (const ToolError &error) {
  return Stopped{Outcome::Unreadable, error.what()};
} catch (const vx::Error &error) {
  return failure(error);
} catch (const std::exception &error) {
  return Stopped{Outcome::RunFailure, error.what()};
}

static void runCompiled(const CaseRequest &request, const std::vector<std::string> &targets, const Compiled &compiled,
                        double compileSeconds, const CaseData &data,
                        const std::function<void(const TargetOutcome &)> &tell) {
  const ExpectedOutputs expected(data, request.folder.name);
  for (const std::string &target : targets) {
    const Clock::time_point begin = Clock::now();
    std::optional<Stopped> stopped;
    if (compiled.result != VXC_DONE)
      stopped = refusal(compiled);
    else
      stopped = runOn(target, compiled, request.mode, data, expected);
    TargetOutcome outcome{target, Outcome::Passed, "", compileSeconds + secondsSince(begin)};
    if (stopped) {
      outcome.outcome = stopped->outcome;
      outcome.message = std::move(stopped->message);
    }
    tell(outcome);
  }
}

static void compileAndRun(const CaseRequest &request, const std::function<void(const TargetOutcome &)> &tell) {
  const CaseData data(request.folder.path);
  const std::string model = data.modelFor(request.mode);
  Clock::time_point begin = Clock::now();
  Compiled compiled = compileModel(request, model, request.targets, nullptr);
  if (compiled.result == VXC_DONE || request.targets.size() == 1)
    return runCompiled(request, request.targets, compiled, secondsSince(begin), data, tell);
  // What cannot even be imported has no code for any target; else each target says for itself.
  if (Compiled imported = compileModel(request, model, request.targets, "import"); imported.result != VXC_DONE)
    return runCompiled(request, request.targets, imported, secondsSince(begin), data, tell);
  for (const std::string &target : request.targets) {
    begin = Clock::now();
    compiled = compileModel(request, model, {target}, nullptr);
    runCompiled(request, {target}, compiled, secondsSince(begin), data, tell);
  }
}

void runCase(const CaseRequest &request, const std::function<void(const TargetOutcome &)> &tell) {
  size_t told = 0;
  auto count = [&](const TargetOutcome &outcome) {
    ++told;
    tell(outcome);
  };
  try {
    compileAndRun(request, count);
  } catch (const ToolError &error) {
    for (; told < request.targets.size(); ++told)
      tell({request.targets[told], Outcome::Unreadable, error.what(), 0});
  }
}

} // namespace vx::tools

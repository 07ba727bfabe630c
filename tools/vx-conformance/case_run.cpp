#include "case_run.h"

#include "call_inputs.h"
#include "case_compiler.h"
#include "command_line.h"
#include "drawn_values.h"
#include "expected_outputs.h"
#include "packed_cases.h"
#include "second_sizes.h"
#include "signature.h"
#include "tool_error.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <new>

namespace vx::tools {

using Clock = std::chrono::steady_clock;

namespace {

// A use of a device, with the bytes that its module is in.
struct LatestUse {
  CompiledCase compiled;
  vx::Instance instance;
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

static Stopped refusal(const CompiledCase &compiled) {
  return {compiled.result == CompiledCase::Result::Unsupported ? Outcome::Unsupported : Outcome::CompileError,
          compiled.errors};
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

using Outputs = std::map<std::string, Value>;

static Outputs runCall(vx::Call &call, const vx_function_info &function,
                       const std::function<std::optional<Value>(const vx_argument_info &)> &inputOf) {
  std::vector<vx::Value> given;
  for (size_t i = 0; i < function.input_count; ++i) {
    const vx_argument_info &argument = function.inputs[i];
    std::optional<Value> value = inputOf(argument);
    if (!value)
      throw workError("the module has an input '{}', the model has none", argument.name);
    if (value->tensors.empty()) // the file does not say of what there is none
      value->type = argument.element_type;
    given.push_back(toRuntime(*value));
  }
  const std::vector<vx::Value> results = call.run(given);
  Outputs outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs.emplace(function.outputs[i].name, fromRuntime(results[i]));
  return outputs;
}

static std::optional<Stopped> runSet(vx::Call &call, const vx_function_info &function, const CaseData::Set &set,
                                     const ExpectedOutputs &expected, Outputs &outputs) {
  outputs = runCall(call, function,
                    [&](const vx_argument_info &argument) { return set.input(argument.name, argument.kind); });
  if (std::optional<std::string> difference = expected.difference(set, outputs))
    return Stopped{Outcome::Wrong, *difference};
  return std::nullopt;
}

namespace {

// Of a case, for all of its targets: looked for when the first one gives the outputs of the files.
class SharedSecondSizes {
public:
  SharedSecondSizes(const CaseRequest &request, const std::string &model, const CaseData &data,
                    const ExpectedOutputs &expected)
      : request(request), model(model), data(data), expected(expected) {}

  const SecondSizes &get() {
    if (!found)
      found = find();
    return *found;
  }

private:
  SecondSizes find() const {
    const CaseData::Set &set = data.sets().front();
    if (request.isPacked)
      return unpackSecondSizes(request.folder, request.mode, data);
    const bool hasOthers = request.mode == Mode::Dynamic || request.mode == Mode::Constant;
    auto none = [&](SecondSizesResult result, const std::string &message) {
      return hasOthers ? SecondSizes{result, message} : SecondSizes{SecondSizesResult::Untried};
    };
    if (expected.areRandom(set))
      return none(SecondSizesResult::Random, "an op draws numbers");
    std::string problem;
    const std::unique_ptr<ReferenceModel> reference = importReference(model, request.folder.dataFolder(), problem);
    if (!reference)
      return none(SecondSizesResult::Unknown, problem);
    SecondSizes second =
        hasOthers ? findSecondSizes(data, request.mode, set, *reference, /*withOthers=*/request.packInto.empty())
                  : SecondSizes{SecondSizesResult::Untried};
    second.own = callOwnSizes(data, request.mode, *reference);
    return second;
  }

  const CaseRequest &request;
  const std::string &model;
  const CaseData &data;
  const ExpectedOutputs &expected;
  std::optional<SecondSizes> found;
};

} // namespace

// The outputs at the sizes of the files are those of the reference evaluator, which has all their digits.
static std::optional<Stopped> compareOwn(const SizedCall &own, const Outputs &outputs) {
  if (!own.refusal.empty())
    return Stopped{Outcome::Wrong,
                   fmt::format("the call is done, and the reference evaluator refuses it: {}", own.refusal)};
  if (std::optional<std::string> difference = outputsDifference(own, outputs))
    return Stopped{Outcome::Wrong, fmt::format("beside the reference evaluator: {}", *difference)};
  return std::nullopt;
}

// Each call gives what the reference evaluator gives, and is refused where that refuses the sizes. Beside the second
// sizes, checks of the module may refuse more: an op may need a size that is not 0 where the evaluator finds nothing to
// do.
static std::optional<Stopped> runSecond(vx::Call &call, const vx_function_info &function, const SecondSizes &second,
                                        SecondSizesOutcome &outcome) {
  outcome.result = second.result;
  outcome.message = second.message;
  for (const SizedCall &sized : second.calls) {
    const std::string place = fmt::format("at the second sizes {}: ", sized.sizes);
    const bool isSecond = &sized == &second.calls.front();
    try {
      const Outputs outputs = runCall(call, function, [&](const vx_argument_info &argument) {
        const auto input = sized.inputs.find(argument.name);
        return input == sized.inputs.end() ? std::nullopt : std::optional(input->second);
      });
      if (!sized.refusal.empty())
        return Stopped{Outcome::Wrong, fmt::format("{}the call is done, and the reference evaluator refuses it: {}",
                                                   place, sized.refusal)};
      if (std::optional<std::string> difference = outputsDifference(sized, outputs))
        return Stopped{Outcome::Wrong, place + *difference};
      ++outcome.compared;
    } catch (const vx::Error &error) {
      const bool isTaken = sized.refusal.empty(); // by the evaluator
      if (error.code() != VX_INVALID_ARGUMENT && (isTaken || error.code() != VX_FAULT))
        return Stopped{Outcome::RunFailure, place + error.what()};
      if (isTaken && isSecond)
        return Stopped{Outcome::RunFailure,
                       fmt::format("{}the reference evaluator computes the call, and the module refuses it: {}", place,
                                   error.what())};
      ++(isTaken ? outcome.refusedByModule : outcome.refused);
    }
  }
  return std::nullopt;
}

// Of a graph that draws numbers: many calls, and some of a second instance, say whether it draws what it should.
static std::optional<Stopped> runDraws(const std::vector<vx::Instance> &instances, const vx_function_info &function,
                                       const CaseData &data, const CaseData::Set &set,
                                       const ExpectedOutputs &expected) {
  DrawnValues drawn(data, set);
  for (size_t i = 0; i < instances.size(); ++i) {
    vx::Call call(instances[i], function);
    for (size_t number = 0; number < (i == 0 ? DrawnValues::calls : DrawnValues::callsAgain); ++number) {
      Outputs outputs;
      if (std::optional<Stopped> stopped = runSet(call, function, set, expected, outputs))
        return stopped;
      if (std::optional<std::string> difference = drawn.add(i, number, outputs))
        return Stopped{Outcome::Wrong, *difference};
    }
  }
  if (std::optional<std::string> difference = drawn.difference())
    return Stopped{Outcome::Wrong, *difference};
  return std::nullopt;
}

static std::optional<Stopped> runOn(TargetOutcome &outcome, const CompiledCase &compiled, Mode mode,
                                    const CaseData &data, const ExpectedOutputs &expected,
                                    SharedSecondSizes &secondSizes, bool isPacked) try {
  const vx::Module module = compiled.file.empty() ? vx::Module(compiled.bytes, "model") : vx::Module(compiled.file);
  vx::InstanceOptions options;
  options.device = outcome.target;
  options.noFallback = true;
  options.threads = 1;
  const vx::Instance instance(module, options);
  // As long as somebody uses a device it stays open, and to open one takes longer than most cases.
  static std::map<std::string, std::unique_ptr<LatestUse>> latest;
  latest[outcome.target] = std::make_unique<LatestUse>(compiled, instance);
  const vx_function_info &function = findFunction(module, "");
  vx::Call call(instance, function);
  for (size_t i = 0; i < countSets(data, mode); ++i) {
    const CaseData::Set &set = data.sets()[i];
    std::optional<Stopped> stopped;
    Outputs outputs;
    if (expected.areDrawn())
      stopped = runDraws({vx::Instance(module, options), vx::Instance(module, options)}, function, data, set, expected);
    else
      stopped = runSet(call, function, set, expected, outputs);
    if (!stopped && i < secondSizes.get().own.size()) {
      stopped = compareOwn(secondSizes.get().own[i], outputs);
      ++outcome.second.comparedOwn;
    }
    if (stopped) {
      if (data.sets().size() > 1)
        stopped->message = set.name + ": " + stopped->message;
      return stopped;
    }
  }
  outcome.second.isPacked = isPacked;
  return runSecond(call, function, secondSizes.get(), outcome.second);
} catch (const ToolError &error) {
  return Stopped{Outcome::Unreadable, error.what()};
} catch (const vx::Error &error) {
  return failure(error);
} catch (const std::exception &error) {
  return Stopped{Outcome::RunFailure, error.what()};
}

// What comes of a case once it is compiled: it is run, or packed.
static void finish(const CaseRequest &request, const std::vector<std::string> &targets, const CompiledCase &compiled,
                   double compileSeconds, const CaseData &data, const std::string &model,
                   const std::function<void(const TargetOutcome &)> &tell) {
  const ExpectedOutputs expected(data, request.folder.name);
  SharedSecondSizes secondSizes(request, model, data, expected);
  for (const std::string &target : targets) {
    const Clock::time_point begin = Clock::now();
    TargetOutcome outcome{target};
    std::optional<Stopped> stopped;
    if (!request.packInto.empty()) {
      packCompiled(request.packInto, request.folder.name, request.mode, target, compiled);
      outcome.outcome = Outcome::Compiled;
      if (compiled.result == CompiledCase::Result::Done &&
          (secondSizes.get().result != SecondSizesResult::Untried || !secondSizes.get().own.empty()))
        packSecondSizes(request.packInto, request.folder.name, request.mode, secondSizes.get());
    }
    if (compiled.result != CompiledCase::Result::Done)
      stopped = refusal(compiled);
    else if (request.packInto.empty())
      stopped = runOn(outcome, compiled, request.mode, data, expected, secondSizes, request.isPacked);
    if (stopped) {
      outcome.outcome = stopped->outcome;
      outcome.message = std::move(stopped->message);
    }
    outcome.seconds = compileSeconds + secondsSince(begin);
    tell(outcome);
  }
}

static void compileAndFinish(const CaseRequest &request, const std::function<void(const TargetOutcome &)> &tell) {
  const CaseData data(request.folder);
  Clock::time_point begin = Clock::now();
  const std::string model = request.isPacked ? "" : data.modelFor(request.mode);
  if (request.isPacked) {
    for (const std::string &target : request.targets) {
      begin = Clock::now();
      const CompiledCase compiled = unpackCompiled(request.folder, request.mode, target);
      finish(request, {target}, compiled, secondsSince(begin), data, model, tell);
    }
    return;
  }
  CompiledCase together;
  // In a pack each target has a module of its own.
  if (request.packInto.empty() || request.targets.size() == 1) {
    together = compileCase(request, model, request.targets, nullptr);
    // One target alone may cause a refusal, so each target is then compiled by itself. Any other error is an error of
    // all targets.
    if (together.result != CompiledCase::Result::Unsupported || request.targets.size() == 1)
      return finish(request, request.targets, together, secondsSince(begin), data, model, tell);
  }
  // What cannot even be imported has no code for any target; else each target says for itself.
  const CompiledCase imported = compileCase(request, model, request.targets, "import");
  if (imported.result != CompiledCase::Result::Done)
    return finish(request, request.targets, imported, secondsSince(begin), data, model, tell);
  std::vector<CompiledCase> alone;
  std::vector<double> seconds;
  for (const std::string &target : request.targets) {
    begin = Clock::now();
    alone.push_back(compileCase(request, model, {target}, nullptr));
    seconds.push_back(secondsSince(begin));
  }
  const bool isEachDone = std::all_of(alone.begin(), alone.end(), [](const CompiledCase &compiled) {
    return compiled.result == CompiledCase::Result::Done;
  });
  if (isEachDone && together.result == CompiledCase::Result::Unsupported) {
    together.result = CompiledCase::Result::Failed;
    together.errors = fmt::format("refused for {} together, and for none alone: {}", joinWords(request.targets, "and"),
                                  together.errors);
    return finish(request, request.targets, together, seconds.front(), data, model, tell);
  }
  for (size_t i = 0; i < alone.size(); ++i)
    finish(request, {request.targets[i]}, alone[i], seconds[i], data, model, tell);
}

void runCase(const CaseRequest &request, const std::function<void(const TargetOutcome &)> &tell) {
  size_t told = 0;
  auto count = [&](const TargetOutcome &outcome) {
    ++told;
    tell(outcome);
  };
  try {
    compileAndFinish(request, count);
  } catch (const ToolError &error) {
    for (; told < request.targets.size(); ++told)
      tell({request.targets[told], Outcome::Unreadable, error.what(), 0});
  }
}

} // namespace vx::tools

#include "gradient_check.h"

#include "call_inputs.h"
#include "command_line.h"
#include "tensor.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace vx::tools {

using Json = nlohmann::ordered_json;

static constexpr std::string_view kFunctionName = "gradient", kResultPrefix = "grad/";

// The first of several steps changes the output by this power of epsilon, as a share of its magnitudes, as long as
// nothing moves by more than that other power, where roundings and the terms that the formula leaves out are about
// equal. Where a function bends, as relu does, a shorter step sees less of it.
static constexpr double kChangePower = 0.4, kLongestPower = 0.2;
static constexpr int kTries = 4;
// How much of a direction is along the gradient: its derivative is about so many times that of the random rest.
static constexpr double kAlong = 4;
static constexpr double kShorter = 0.25;
// How many roundings of its elements' size the sum of an output may be off by.
static constexpr double kRoundings = 8;

//===-- Which functions ---------------------------------------------------------------------------------------===//

static std::vector<std::string> functionNames(const vx::Module &module) {
  std::vector<std::string> names;
  for (const vx_function_info &function : module.functions())
    names.push_back(function.name);
  return names;
}

static bool hasSameInputs(const vx_function_info &a, const vx_function_info &b) {
  if (a.input_count != b.input_count)
    return false;
  for (size_t i = 0; i < a.input_count; ++i)
    if (argumentText(a.inputs[i]) != argumentText(b.inputs[i]))
      return false;
  return true;
}

static bool isFloatTensor(const vx_argument_info &argument) {
  return argument.kind == VX_TENSOR && isFloat(argument.element_type);
}

GradientPair findGradient(const vx::Module &module, const std::string &function, const std::string &output) {
  GradientPair pair;
  for (const vx_function_info &candidate : module.functions())
    if (candidate.name == kFunctionName)
      pair.gradient = &candidate;
  if (!pair.gradient)
    throw fileError("--check-gradient needs a module with a function 'gradient', as vx-compile --grad=OUTPUT:NAME,... "
                    "makes it; its functions are {}",
                    quoteNames(functionNames(module)));
  for (size_t i = 0; i < pair.gradient->output_count; ++i) {
    const vx_argument_info &result = pair.gradient->outputs[i];
    if (!std::string_view(result.name).starts_with(kResultPrefix) || !isFloatTensor(result))
      throw fileError("--check-gradient needs results 'grad/NAME' of function 'gradient', which are floats, got '{}'",
                      argumentText(result));
  }

  if (!function.empty())
    (void)findFunction(module, function);
  std::vector<std::pair<const vx_function_info *, size_t>> found;
  std::vector<std::string> texts;
  for (const vx_function_info &candidate : module.functions()) {
    if (&candidate == pair.gradient || !hasSameInputs(candidate, *pair.gradient) ||
        (!function.empty() && candidate.name != function))
      continue;
    for (size_t i = 0; i < candidate.output_count; ++i)
      if (isFloatTensor(candidate.outputs[i]) && (output.empty() || candidate.outputs[i].name == output)) {
        found.emplace_back(&candidate, i);
        texts.push_back(fmt::format("'{}' of function '{}'", candidate.outputs[i].name, candidate.name));
      }
  }
  if (found.empty())
    throw fileError("--check-gradient needs a function with the inputs of function 'gradient' and an output{} of "
                    "floats; the functions are {}",
                    output.empty() ? "" : fmt::format(" '{}'", output), quoteNames(functionNames(module)));
  if (found.size() > 1)
    throw usageError("--check-gradient: the gradient may be of {}: choose by --gradient-of and --function",
                     joinWords(texts, "or"));
  std::tie(pair.function, pair.output) = found.front();
  return pair;
}

//===-- Numbers -----------------------------------------------------------------------------------------------===//

// The distance from 1 to the next number of the type.
static double epsilonOf(vx_element_type type) {
  switch (type) {
  case VX_F64:
    return 0x1p-52;
  case VX_F32:
    return 0x1p-23;
  case VX_F16:
    return 0x1p-10;
  case VX_BF16:
    return 0x1p-7;
  default:
    throw fileError("--check-gradient needs elements of f64, f32, f16 or bf16, got {}", vx_element_type_name(type));
  }
}

namespace {

// A sum of elements, and the sum of their magnitudes.
struct Sum {
  double value = 0, magnitude = 0;
};

class Checker {
public:
  explicit Checker(const GradientCheckRequest &request)
      : request(request), instance(request.module, request.instance), forward(instance, *request.pair.function),
        inputs(request.inputs) {
    for (const vx_variable_info &variable : instance.variables())
      names.emplace_back(variable.name);
    if (!names.empty())
      variables = instance.readVariables(names);
  }

  GradientCheck run() {
    GradientCheck check;
    check.device = Json::parse(instance.report(VX_REPORT_JSON))["taken"].value("device", "");
    const vx_function_info &gradient = *request.pair.gradient;
    vx::Call call(instance, gradient);
    const std::vector<vx::Value> results = call.run(inputs);
    double epsilon = epsilonOf(request.pair.function->outputs[request.pair.output].element_type);
    for (size_t i = 0; i < gradient.output_count; ++i)
      epsilon = std::max(epsilon, epsilonOf(gradient.outputs[i].element_type));
    check.tolerance = request.tolerance.value_or(std::pow(epsilon, 0.25));
    for (size_t i = 0; i < gradient.output_count; ++i) {
      const std::string name = std::string(gradient.outputs[i].name).substr(kResultPrefix.size());
      const Tensor result = fromRuntime(results[i]).tensors.front();
      const std::string seedText = fmt::format("{} {}", request.seed, name);
      std::seed_seq seed(seedText.begin(), seedText.end());
      std::mt19937_64 random(seed);
      vx::Value *moved = nullptr;
      std::string title;
      for (size_t j = 0; j < request.pair.function->input_count && !moved; ++j)
        if (request.pair.function->inputs[j].name == name) {
          moved = &inputs[j];
          title = fmt::format("input '{}'", name);
        }
      if (auto at = std::find(names.begin(), names.end(), name); at != names.end() && !moved) {
        moved = &variables[static_cast<size_t>(at - names.begin())];
        title = fmt::format("variable '{}'", name);
      }
      if (!moved) {
        check.constants.push_back(name);
        continue;
      }
      for (uint64_t direction = 0; direction < request.directions; ++direction) {
        check.differences.push_back(compare(*moved, result, epsilon, check.tolerance, random));
        check.differences.back().name = title;
        check.differences.back().direction = direction;
      }
    }
    if (check.differences.empty())
      throw fileError("--check-gradient: all that the gradient is of are constants of the module, which no call can "
                      "move: {}",
                      quoteNames(check.constants));
    return check;
  }

private:
  // The output's elements with all variables as they were.
  Sum evaluate() {
    if (!names.empty())
      instance.writeVariables(names, variables);
    const std::vector<vx::Value> results = forward.run(inputs);
    const Tensor output = fromRuntime(results[request.pair.output]).tensors.front();
    const uint64_t count = *elementCount(output.type, output.dims);
    Sum sum;
    for (uint64_t i = 0; i < count; ++i) {
      const double element = elementAsDouble(output, i);
      sum.value += element;
      sum.magnitude += std::abs(element);
    }
    return sum;
  }

  // `moved` is one of `inputs` or `variables`, and has its first value again at the end.
  GradientDifference compare(vx::Value &moved, const Tensor &gradient, double epsilon, double tolerance,
                             std::mt19937_64 &random) {
    const vx::Value before = moved;
    const Tensor start = fromRuntime(before).tensors.front();
    const uint64_t count = *elementCount(start.type, start.dims);
    double squares = 0;
    for (uint64_t i = 0; i < count; ++i)
      squares += elementAsDouble(start, i) * elementAsDouble(start, i);
    const double size = squares > 0 ? std::sqrt(squares / static_cast<double>(count)) : 1;
    double gradientSquares = 0;
    for (uint64_t i = 0; i < count; ++i)
      gradientSquares += elementAsDouble(gradient, i) * elementAsDouble(gradient, i);
    const double slope = std::sqrt(gradientSquares / static_cast<double>(count));
    GradientDifference difference;
    // Random, and along the gradient by as much as makes several times the derivative of that: where it is next to
    // none, the share of points where the function bends on the way is more. Along the gradient alone, nothing would be
    // seen of where it is 0 and should not be.
    std::vector<double> direction(count);
    for (uint64_t i = 0; i < count; ++i) {
      direction[i] = size * (static_cast<double>(random() >> 11) * 0x1p-52 - 1);
      if (slope > 0 && slope < INFINITY)
        direction[i] += size * kAlong / std::sqrt(count) * elementAsDouble(gradient, i) / slope;
      difference.analytic += direction[i] * elementAsDouble(gradient, i);
    }
    double least = INFINITY;
    double step = std::pow(epsilon, kLongestPower);
    if (const double change = std::pow(epsilon, kChangePower) * evaluate().magnitude / std::abs(difference.analytic);
        change > 0 && change < step)
      step = change;
    for (int attempt = 0; attempt < kTries; ++attempt, step *= kShorter) {
      double numeric = 0, magnitude = 0;
      for (const auto &[factor, times] : {std::pair(8, 1), {-8, -1}, {-1, 2}, {1, -2}}) {
        Tensor tensor = start;
        for (uint64_t i = 0; i < count; ++i)
          setElement(tensor, i, elementAsDouble(start, i) + times * step * direction[i]);
        moved = vx::Value::raw(tensor.type, tensor.dims, tensor.bytes.data(), tensor.bytes.size());
        const Sum sum = evaluate();
        numeric += factor * sum.value / (12 * step);
        magnitude = std::max(magnitude, sum.magnitude);
      }
      const double larger = std::max(std::abs(difference.analytic), std::abs(numeric));
      const double off = std::abs(difference.analytic - numeric);
      const double allowed = tolerance * larger + kRoundings * epsilon * magnitude / step;
      if (attempt > 0 && !(off / allowed < least))
        continue;
      least = off <= INFINITY && allowed > 0 ? off / allowed : off == 0 ? 0 : INFINITY;
      difference.numeric = numeric;
      difference.relative = off == 0 ? 0 : off / larger;
      difference.allowed = allowed;
      difference.agrees = off <= allowed; // false for NaN
      if (difference.agrees)
        break;
    }
    moved = before;
    return difference;
  }

  const GradientCheckRequest &request;
  vx::Instance instance;
  vx::Call forward;
  std::vector<vx::Value> inputs;
  std::vector<std::string> names; // of the variables
  std::vector<vx::Value> variables;
};

} // namespace

GradientCheck checkGradient(const GradientCheckRequest &request) { return Checker(request).run(); }

//===-- The report --------------------------------------------------------------------------------------------===//

bool GradientCheck::agrees() const {
  return std::all_of(differences.begin(), differences.end(), std::mem_fn(&GradientDifference::agrees));
}

std::string GradientCheck::message(const GradientPair &pair) const {
  const std::string output =
      fmt::format("'{}' of function '{}'", pair.function->outputs[pair.output].name, pair.function->name);
  const auto isOff = std::not_fn(std::mem_fn(&GradientDifference::agrees));
  const auto wrong = std::find_if(differences.begin(), differences.end(), isOff);
  if (wrong == differences.end())
    return fmt::format("the gradient of {} and differences of it agree on {}", output, device);
  return fmt::format("the gradient of {} is off on {}: {}, direction {}: analytic {:.6g}, numeric {:.6g}, allowed is a "
                     "difference of {:.3g}; {} of {} directions are off",
                     output, device, wrong->name, wrong->direction, wrong->analytic, wrong->numeric, wrong->allowed,
                     std::count_if(differences.begin(), differences.end(), isOff), differences.size());
}

Json GradientCheck::json() const {
  Json json{{"device", device}, {"tolerance", tolerance}, {"agree", agrees()}, {"directions", Json::array()}};
  for (const GradientDifference &difference : differences)
    json["directions"].push_back({{"name", difference.name},
                                  {"direction", difference.direction},
                                  {"analytic", difference.analytic},
                                  {"numeric", difference.numeric},
                                  {"relative_difference", difference.relative},
                                  {"allowed_difference", difference.allowed},
                                  {"agrees", difference.agrees}});
  json["constants"] = constants;
  return json;
}

} // namespace vx::tools

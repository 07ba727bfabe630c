// Comparing the results of two runs, as vx-run --compare does: of two devices, or of a device and of values from
// somewhere else, such as a file. Header only, over vx.hpp.
//
//   const vx::compare::Report report = vx::compare::devices({module, inputs, {"cpu", "cuda:0"}});
//   if (!report.agrees())
//     std::printf("%s\n", report.text().c_str());
//
// Threads: the functions keep no state, so each may run on several threads at once.
// Ownership: arguments are borrowed, and results are values, except that a compare::Tensor borrows its bytes.
// Errors: Error with VX_INVALID_ARGUMENT for a tolerance or a tensor that is wrong in itself, and the errors of an
// instance and a call. A difference is a result, and no error.
#ifndef VX_COMPARE_HPP
#define VX_COMPARE_HPP

#include "vx/compare/elements.hpp"
#include "vx/runtime/vx.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <map>

namespace vx::compare {

// The view of a tensor of the runtime, which a device's memory is copied to the host for. `value` must outlive it.
// Throws Error: VX_INVALID_ARGUMENT for a value that is no tensor, and the errors of vx_tensor_data.
inline Tensor view(const Value &value) {
  const vx_value_info info = value.info();
  if (info.kind != VX_TENSOR)
    throw Error(VX_INVALID_ARGUMENT, "compare: expected a tensor, got a sequence or an optional");
  Tensor tensor{info.element_type, {info.dims, info.dims + info.rank}, {}};
  if (info.element_type == VX_STRING)
    tensor.strings = value.strings();
  else
    tensor.bytes = value.bytes();
  return tensor;
}

// How far apart two elements may be. Floats a and b agree if
//
//   |a - b| <= absolute + relative * |b| + ofLargest * L + limits[i],   L the largest finite magnitude in both tensors,
//
// or if at most `units` numbers of their type lie between them, one of the two included. NaN agrees with NaN, and an
// infinity with itself alone; 0 agrees with -0. All other types must be equal, integers up to `ofIntegers`.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double ofLargest = 0;
  // Units in the last place. A number below the least normal one also agrees with 0, except in f16: devices flush it.
  double units = 0;
  double ofIntegers = 0; // of integers of up to 53 bits; 0: equal
  std::span<const double> limits =
      {}; // one for each element in row-major order, or none. One that is NaN allows nothing
  // The root mean square of the difference of finite elements, as a share of that of the second tensor.
  double rms = std::numeric_limits<double>::infinity();
  bool isExact = false; // floats have the same bits too, except that NaN agrees with NaN

  // The default: of the largest magnitude 1e-10 for f64, 1e-4 for f32, 4e-3 for f16, 3e-2 for bf16 and a quarter for
  // narrower floats, which have two or three bits of mantissa.
  static Tolerance of(vx_element_type type) {
    switch (type) {
    case VX_F64:
      return {.ofLargest = 1e-10};
    case VX_F32:
      return {.ofLargest = 1e-4};
    case VX_F16:
      return {.ofLargest = 4e-3};
    case VX_BF16:
      return {.ofLargest = 3e-2};
    default:
      return {.ofLargest = 0.25};
    }
  }
};

// An element by its place and its values in both tensors.
struct Element {
  std::vector<int64_t> index;
  std::string first, second;
};

// The result of comparing two tensors.
struct Difference {
  // "f32[2,3]", or "f32[2,3] and f32[3,2]" if the tensors are of different types or sizes: these are not compared.
  std::string type;
  bool isComparable = true;
  uint64_t elements = 0;
  uint64_t differing = 0;     // elements that are further apart than allowed
  double largest = 0;         // of the differences of finite elements
  double largestRelative = 0; // the same, each to the larger magnitude of its two elements
  double allowed = 0;         // absolute + ofLargest * L
  double share = 0;           // the greatest of the elements' differences, each as a share of its bound
  double rms = 0;             // as in Tolerance
  double rmsShare = 0;        // of Tolerance.rms
  // The element with the greatest difference, of those that are too far apart if there are any; the first of several.
  // An infinity or NaN on one side is further than any number. Empty if no element differs at all.
  std::optional<Element> worst;
  std::optional<Element> earliest; // the first in row-major order that is too far apart

  bool agrees() const { return isComparable && differing == 0 && rmsShare <= 1; }
  // "f32[2,3]: 4 of 6 elements differ, the most at [1,0]: 2.5 and 0, allowed is a difference of 0.00025",
  // with ", the first at [0,1]: 1 and 0" before ", allowed" if that is another one.
  std::string text() const;
};

namespace detail {

inline std::string shortText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

inline std::string indexText(const std::vector<int64_t> &index) {
  std::string text = "[";
  for (size_t i = 0; i < index.size(); ++i)
    text += (i ? "," : "") + std::to_string(index[i]);
  return text + "]";
}

inline std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

// How many numbers of the type lie between two finite ones, one of the two included.
inline double unitsApart(double a, double b, FloatSteps steps) {
  if (steps.mantissaBits == 52) {
    auto ordered = [](double value) {
      const int64_t magnitude = std::bit_cast<int64_t>(std::fabs(value));
      return std::signbit(value) ? -magnitude : magnitude;
    };
    const int64_t first = ordered(a), second = ordered(b);
    return static_cast<double>(first > second ? uint64_t(first) - uint64_t(second)
                                              : uint64_t(second) - uint64_t(first));
  }
  auto ordered = [steps](double value) {
    const double magnitude = std::fabs(value);
    const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), steps.leastExponent) : steps.leastExponent;
    // Numbers of one exponent are at equal distances, and those below the least exponent as at it.
    const double place = std::ldexp(magnitude, steps.mantissaBits - exponent) +
                         std::ldexp(static_cast<double>(exponent - steps.leastExponent), steps.mantissaBits);
    return std::signbit(value) ? -place : place;
  };
  return std::fabs(ordered(a) - ordered(b));
}

inline void checkTolerance(const Tolerance &tolerance, uint64_t elements) {
  auto check = [](const char *name, double value) {
    if (!(value >= 0))
      throw Error(VX_INVALID_ARGUMENT,
                  std::string("compare: ") + name + ": expected a number of 0 or more, got " + numberText(value));
  };
  check("absolute", tolerance.absolute);
  check("relative", tolerance.relative);
  check("ofLargest", tolerance.ofLargest);
  check("units", tolerance.units);
  check("ofIntegers", tolerance.ofIntegers);
  check("rms", tolerance.rms);
  if (!tolerance.limits.empty() && tolerance.limits.size() != elements)
    throw Error(VX_INVALID_ARGUMENT, "compare: limits: expected one for each of " + std::to_string(elements) +
                                         " elements, got " + std::to_string(tolerance.limits.size()));
}

// Two tensors of one type and size.
class TensorComparer {
public:
  TensorComparer(const Tensor &first, const Tensor &second, const Tolerance &tolerance)
      : first(first), second(second), tolerance(tolerance), isReal(isFloat(first.type)), steps(floatSteps(first.type)) {
  }

  void run(Difference &result) {
    if (isReal)
      result.allowed =
          tolerance.absolute + tolerance.ofLargest * std::max(largestMagnitude(first), largestMagnitude(second));
    std::optional<uint64_t> worst, earliest;
    double most = 0; // of the elements that are too far apart, or of all if there are none yet
    double squares = 0, squaresOfSecond = 0;
    for (uint64_t i = 0; i < result.elements; ++i) {
      const auto [distance, share] = isReal ? compareFloats(i, result.allowed) : compareOthers(i);
      const bool differs = !(share <= 1);
      if (const double a = elementAsDouble(first, i), b = elementAsDouble(second, i);
          std::isfinite(a) && std::isfinite(b)) {
        result.largest = std::max(result.largest, distance);
        if (distance > 0)
          result.largestRelative = std::max(result.largestRelative, distance / std::max(std::fabs(a), std::fabs(b)));
        squares += distance * distance;
        squaresOfSecond += b * b;
      }
      result.share = std::max(result.share, std::isnan(share) ? INFINITY : share);
      if ((differs && (!earliest || distance > most)) || (!differs && !earliest && distance > most)) {
        worst = i;
        most = distance;
      }
      result.differing += differs;
      if (differs && !earliest)
        earliest = i;
    }
    if (squares > 0)
      result.rms = std::sqrt(squares / squaresOfSecond);
    if (isReal && result.rms > 0 && std::isfinite(tolerance.rms))
      result.rmsShare = result.rms / tolerance.rms;
    if (worst)
      result.worst = element(*worst);
    if (earliest)
      result.earliest = element(*earliest);
  }

private:
  struct Found {
    double distance;
    double share; // of the bound; above 1 or NaN: it is too far
  };

  Found compareFloats(uint64_t i, double always) const {
    const double a = elementAsDouble(first, i), b = elementAsDouble(second, i);
    if (std::isnan(a) && std::isnan(b))
      return {0, 0};
    const double distance = std::fabs(a - b);
    if (tolerance.isExact)
      return elementBits(first, i) == elementBits(second, i) ? Found{0, 0} : Found{far(a, b), INFINITY};
    if (!std::isfinite(a) || !std::isfinite(b))
      return a == b ? Found{0, 0} : Found{INFINITY, INFINITY};
    const double allowed =
        always + tolerance.relative * std::fabs(b) + (tolerance.limits.empty() ? 0 : tolerance.limits[i]);
    double share = distance == 0 && allowed >= 0 ? 0 : distance / allowed;
    if (tolerance.units > 0 && !(share <= 1)) {
      const double tiny = std::ldexp(1.0, steps.leastExponent);
      const bool isFlushed = first.type != VX_F16 && std::fabs(a) <= tiny && std::fabs(b) <= tiny && (a == 0 || b == 0);
      share = isFlushed ? 0 : unitsApart(a, b, steps) / tolerance.units;
    }
    return {distance, share};
  }

  // NaN on one side is as far as an infinity.
  static double far(double a, double b) { return std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY; }

  Found compareOthers(uint64_t i) const {
    if (first.type == VX_STRING)
      return first.strings[i] == second.strings[i] ? Found{0, 0} : Found{0, INFINITY};
    const uint64_t a = elementBits(first, i), b = elementBits(second, i);
    if (a == b)
      return {0, 0};
    const double x = elementAsDouble(first, i), y = elementAsDouble(second, i);
    double distance = std::fabs(x - y);
    // 64-bit integers above 2^53 are no exact doubles; their difference is.
    if (vx_element_type_bits(first.type) == 64) {
      const bool isLess = isSignedInteger(first.type) ? int64_t(a) < int64_t(b) : a < b;
      distance = static_cast<double>(isLess ? b - a : a - b);
    }
    return {distance, first.type != VX_BOOL && tolerance.ofIntegers > 0 ? distance / tolerance.ofIntegers : INFINITY};
  }

  Element element(uint64_t i) const { return {indexOf(i, first.dims), elementText(first, i), elementText(second, i)}; }

  const Tensor &first, &second;
  const Tolerance &tolerance;
  const bool isReal;
  const FloatSteps steps;
};

} // namespace detail

// Compares two tensors; without a tolerance by the type's default. Throws Error, VX_INVALID_ARGUMENT: a tolerance with
// a negative number or NaN, or with limits that are not as many as the elements; a tensor with another size than its
// type and dims state.
inline Difference tensors(const Tensor &first, const Tensor &second, const std::optional<Tolerance> &tolerance = {}) {
  Difference result;
  result.type = typeText(first.type, first.dims);
  result.elements = countElements(first);
  const uint64_t others = countElements(second);
  const Tolerance used = tolerance.value_or(Tolerance::of(first.type));
  if (first.type != second.type || first.dims != second.dims) {
    detail::checkTolerance(used, used.limits.size());
    result.type += " and " + typeText(second.type, second.dims);
    result.isComparable = false;
    result.elements = 0;
    return result;
  }
  detail::checkTolerance(used, others);
  // Equal bytes, as most integers have, are not read one by one.
  if (!isFloat(first.type) && first.type != VX_STRING && std::ranges::equal(first.bytes, second.bytes))
    return result;
  detail::TensorComparer(first, second, used).run(result);
  return result;
}

inline std::string Difference::text() const {
  if (!isComparable)
    return type + " do not compare";
  if (differing == 0 && rmsShare > 1)
    return type + ": the root mean square of the difference is " + detail::shortText(rms) +
           " of that of the second, allowed is " + detail::shortText(rms / rmsShare);
  if (differing == 0)
    return type + ": largest difference " + detail::shortText(largest) + ", allowed " + detail::shortText(allowed);
  auto textOf = [](const Element &element) {
    return detail::indexText(element.index) + ": " + element.first + " and " + element.second;
  };
  std::string text = type + ": " + std::to_string(differing) + " of " + std::to_string(elements) +
                     " elements differ, the most at " + textOf(*worst);
  if (earliest->index != worst->index)
    text += ", the first at " + textOf(*earliest);
  return text + ", allowed is a difference of " + detail::shortText(allowed);
}

// The results of a run: each tensor output, each tensor of an output that is a sequence or an optional, and each
// variable after the run.
struct Run {
  std::string device;                                 // that was used, "vulkan:0"; or another origin, "reference"
  std::vector<std::pair<std::string, Value>> results; // tensors by name: "output 'y'", "variable 'sum'"

  // Appends the tensors of an output: "output 'y'", or "element 2 of output 'y'" of a sequence.
  void addOutput(const std::string &name, const Value &value) {
    const std::string title = "output '" + name + "'";
    switch (value.info().kind) {
    case VX_TENSOR:
      results.emplace_back(title, value);
      break;
    case VX_OPTIONAL_SEQUENCE:
      if (value.info().count > 0)
        addElements(title, value.element(0));
      break;
    default:
      addElements(title, value);
    }
  }
  void addVariable(const std::string &name, const Value &value) {
    results.emplace_back("variable '" + name + "'", value);
  }

private:
  void addElements(const std::string &title, const Value &value) {
    for (size_t i = 0; i < value.info().count; ++i)
      results.emplace_back("element " + std::to_string(i) + " of " + title, value.element(i));
  }
};

// A result of two runs.
struct Result {
  std::string name;
  Difference difference;
};

// Compares the results of two runs by name: in the order of the first, then those that the second one alone has. A
// result of one run alone does not compare. Throws as `tensors`.
inline std::vector<Result> runs(const Run &first, const Run &second, const std::optional<Tolerance> &tolerance = {}) {
  std::vector<Result> results;
  auto alone = [](const Value &value) {
    Difference difference;
    difference.type = typeText(value.info().element_type, value.dims()) + " and nothing";
    difference.isComparable = false;
    return difference;
  };
  std::map<std::string_view, const Value *> others;
  for (const auto &[name, value] : second.results)
    others.emplace(name, &value);
  for (const auto &[name, value] : first.results) {
    const auto other = others.find(name);
    results.push_back(
        {name, other == others.end() ? alone(value) : tensors(view(value), view(*other->second), tolerance)});
    if (other != others.end())
      others.erase(other);
  }
  for (const auto &[name, value] : second.results)
    if (others.contains(name)) {
      results.push_back({name, alone(value)});
      others.erase(name);
    }
  return results;
}

// A kernel, or an op in one, whose results differ.
struct Kernel {
  std::string name;               // of the kernel on the first device
  std::vector<std::string> nodes; // of the model, that it computes
  Difference difference;
};

struct Report {
  std::array<std::string, 2> devices; // that were used, "vulkan:0"
  std::vector<Result> results;
  // Looked for only if results differ: the first kernel, in the order of the first device, whose results differ though
  // the results of all kernels before it agree. The second device continues with the first one's results where these
  // agree, so that rounding does not add up.
  std::optional<Kernel> firstKernel;
  uint64_t kernels = 0;          // dispatches of the first device
  uint64_t kernelsCompared = 0;  // that the second device has as well, with the same nodes and the same results
  uint64_t kernelsDiffering = 0; // of these
  bool onEqualInputs = false;    // each kernel read the same inputs on both sides, whatever differed before it

  bool agrees() const {
    return std::all_of(results.begin(), results.end(), [](const Result &result) { return result.difference.agrees(); });
  }
  // One line: the first result that differs, and the first kernel.
  std::string text() const;
};

struct Request {
  Module module;
  std::vector<Value> inputs;          // one for each input of the function
  std::array<std::string, 2> devices; // "cpu", "vulkan:0"; a refused device is an error
  std::string function = {};          // empty: the module's first one
  std::optional<Tolerance> tolerance = {};
  InstanceOptions options = {}; // of both instances, except the device
};

namespace detail {

inline const vx_function_info &findFunction(const Module &module, const std::string &name) {
  std::vector<std::string> names;
  for (const vx_function_info &function : module.functions()) {
    if (name.empty() || name == function.name)
      return function;
    names.push_back("'" + std::string(function.name) + "'");
  }
  throw Error(VX_NOT_FOUND, "compare: there is no function '" + name + "'; the functions are " + join(names));
}

// The device that an instance uses, of its report: {"taken":{"device":"vulkan:0", ...
inline std::string deviceOf(const Instance &instance) {
  const std::string report = instance.report(VX_REPORT_JSON);
  size_t at = 0;
  for (const std::string_view mark : {"\"taken\"", "\"device\"", ":", "\""}) {
    at = report.find(mark, at);
    if (at == std::string::npos)
      return "";
    at += mark.size();
  }
  return report.substr(at, report.find('"', at) - at);
}

} // namespace detail

// Runs the request's function once on a new instance on `device`; an observer sees each dispatch (see
// vx_call_set_observer). Throws Error: VX_NOT_FOUND for a function that the module has not, and as an instance and a
// call do.
inline Run run(const Request &request, const std::string &device, vx_dispatch_observer observer = nullptr,
               void *user = nullptr) {
  InstanceOptions options = request.options;
  options.device = device;
  options.noFallback = true;
  const vx_function_info &function = detail::findFunction(request.module, request.function);
  const Instance instance(request.module, options);
  Call call(instance, function);
  call.setObserver(observer, user);
  const std::vector<Value> outputs = call.run(request.inputs);
  Run result;
  result.device = detail::deviceOf(instance);
  for (size_t i = 0; i < outputs.size(); ++i)
    result.addOutput(function.outputs[i].name, outputs[i]);
  for (const vx_variable_info &variable : request.module.variables())
    result.addVariable(variable.name, instance.readVariable(variable.name));
  return result;
}

namespace detail {

// Dispatches are the same on two devices if they compute the same nodes to results of the same types, up to the order
// of their dims. Two targets may fuse differently: then a kernel has no counterpart.
inline std::string keyOf(const vx_dispatch_info &info) {
  std::string key;
  for (size_t i = 0; i < info.node_count; ++i)
    key += std::string(info.nodes[i]) + '\n';
  for (size_t i = 0; i < info.output_count; ++i) {
    const vx_value_info value = vx_value_get_info(info.outputs[i]);
    std::vector<int64_t> dims(value.dims, value.dims + value.rank);
    std::sort(dims.begin(), dims.end());
    key += typeText(value.element_type, dims) + info.layouts[i] + '\n';
  }
  return key;
}

// A tensor's bytes with the dim `from` moved to the place `to`.
struct MovedTensor {
  std::vector<std::byte> bytes;
  Tensor tensor;

  MovedTensor(const Tensor &given, size_t from, size_t to) : bytes(given.bytes.size()), tensor(given) {
    tensor.dims.erase(tensor.dims.begin() + static_cast<ptrdiff_t>(from));
    tensor.dims.insert(tensor.dims.begin() + static_cast<ptrdiff_t>(to), given.dims[from]);
    // Both are [outer, a, b, inner] with a and b swapped.
    auto product = [&](size_t begin, size_t end) {
      uint64_t size = 1;
      for (size_t i = begin; i < end; ++i)
        size *= static_cast<uint64_t>(given.dims[i]);
      return size;
    };
    const size_t first = std::min(from, to), last = std::max(from, to);
    const uint64_t outer = product(0, first), inner = product(last + 1, given.dims.size());
    const uint64_t a = from < to ? product(first, first + 1) : product(first, last);
    const uint64_t b = from < to ? product(first + 1, last + 1) : product(last, last + 1);
    const uint64_t size = inner * vx_element_type_bits(given.type) / 8;
    for (uint64_t o = 0; o < outer; ++o)
      for (uint64_t i = 0; i < a; ++i)
        for (uint64_t j = 0; j < b; ++j)
          std::copy_n(given.bytes.begin() + static_cast<ptrdiff_t>(((o * a + i) * b + j) * size), size,
                      bytes.begin() + static_cast<ptrdiff_t>(((o * b + j) * a + i) * size));
    tensor.bytes = bytes;
  }
};

// Targets may have the channels of an image first or last, so a tensor agrees if it does in one of these orders.
inline Difference compareInAnyOrder(const Tensor &first, const Tensor &second,
                                    const std::optional<Tolerance> &tolerance) {
  Difference difference = tensors(first, second, tolerance);
  const size_t rank = second.dims.size();
  if (difference.agrees() || rank < 3 || second.type == VX_STRING || vx_element_type_bits(second.type) < 8)
    return difference;
  for (const auto &[from, to] : {std::pair<size_t, size_t>(rank - 1, 1), std::pair<size_t, size_t>(1, rank - 1)}) {
    const MovedTensor moved(second, from, to);
    if (Difference other = tensors(first, moved.tensor, tolerance); other.isComparable)
      if (other.agrees() || !difference.isComparable)
        difference = std::move(other);
  }
  return difference;
}

// Observes the dispatches of a run on the first device, then those of a run on the second. An observer must not throw:
// `finish` throws its errors.
class KernelComparer {
public:
  KernelComparer(Report &report, const std::optional<Tolerance> &tolerance) : report(report), tolerance(tolerance) {}

  static void rememberOne(void *user, const vx_dispatch_info *info) {
    auto &self = *static_cast<KernelComparer *>(user);
    self.guard([&] { self.remember(*info); });
  }
  static void compareOne(void *user, const vx_dispatch_info *info) {
    auto &self = *static_cast<KernelComparer *>(user);
    self.guard([&] { self.compare(*info); });
  }
  void finish() const {
    if (problem)
      std::rethrow_exception(problem);
  }

private:
  struct Dispatch {
    std::string kernel;
    std::vector<std::string> nodes;
    std::vector<Value> outputs; // copies: the runtime reuses its own
  };

  template <typename Work>
  void guard(Work &&work) noexcept {
    try {
      if (!problem)
        work();
    } catch (...) {
      problem = std::current_exception();
    }
  }

  static Value copyOf(const Value &value) {
    const Tensor tensor = view(value);
    if (tensor.type == VX_STRING) {
      const std::vector<std::string> texts(tensor.strings.begin(), tensor.strings.end());
      return Value::strings(tensor.dims, texts);
    }
    return Value::raw(tensor.type, tensor.dims, tensor.bytes.data(), tensor.bytes.size());
  }

  void remember(const vx_dispatch_info &info) {
    Dispatch dispatch{info.kernel, {info.nodes, info.nodes + info.node_count}, {}};
    for (size_t i = 0; i < info.output_count; ++i)
      dispatch.outputs.push_back(copyOf(Value::share(info.outputs[i])));
    // A kernel without nodes cannot be recognised.
    if (info.node_count)
      waiting[keyOf(info)].push_back(dispatches.size());
    dispatches.push_back(std::move(dispatch));
    ++report.kernels;
  }

  void compare(const vx_dispatch_info &info) {
    const auto found = waiting.find(keyOf(info));
    if (found == waiting.end() || found->second.empty())
      return;
    const size_t index = found->second.front();
    found->second.pop_front();
    ++report.kernelsCompared;
    Dispatch &dispatch = dispatches[index];
    bool differs = false;
    for (size_t i = 0; i < info.output_count; ++i) {
      const Value output = Value::share(info.outputs[i]);
      const Value &other = dispatch.outputs[i];
      // Results that differ by rounding alone are made equal, so that this does not add up to a difference of a later
      // kernel.
      if (tensors(view(other), view(output), tolerance).agrees()) {
        vx_value_retain(other.get());
        info.replacements[i] = other.get();
      }
      Difference difference = compareInAnyOrder(view(other), view(output), tolerance);
      differs |= !difference.agrees();
      if (difference.agrees() || index >= first)
        continue;
      first = index;
      report.firstKernel = Kernel{dispatch.kernel, dispatch.nodes, std::move(difference)};
    }
    report.kernelsDiffering += differs;
    dispatch.outputs.clear();
  }

  Report &report;
  const std::optional<Tolerance> tolerance;
  std::vector<Dispatch> dispatches; // of the first device
  std::map<std::string, std::deque<size_t>> waiting;
  size_t first = SIZE_MAX; // the first dispatch that differs
  std::exception_ptr problem;
};

} // namespace detail

// Runs the function once on a new instance on each device and compares the results; if these differ it runs it once
// more with every dispatch observed, which copies each kernel's results to the host. Throws as `run`.
inline Report devices(const Request &request) {
  Report report;
  const Run first = run(request, request.devices[0]), second = run(request, request.devices[1]);
  report.devices = {first.device, second.device};
  report.results = runs(first, second, request.tolerance);
  if (report.agrees())
    return report;
  detail::KernelComparer comparer(report, request.tolerance);
  (void)run(request, request.devices[0], detail::KernelComparer::rememberOne, &comparer);
  (void)run(request, request.devices[1], detail::KernelComparer::compareOne, &comparer);
  comparer.finish();
  return report;
}

inline std::string Report::text() const {
  const auto wrong =
      std::find_if(results.begin(), results.end(), [](const Result &result) { return !result.difference.agrees(); });
  if (wrong == results.end())
    return devices[0] + " and " + devices[1] + " agree";
  std::string text = devices[0] + " and " + devices[1] + " differ: " + wrong->name + ": " + wrong->difference.text();
  if (!firstKernel)
    return text + "; of " + std::to_string(kernels) + " kernels " + std::to_string(kernelsCompared) +
           " compare, and none of them differs" + (onEqualInputs ? " on equal inputs" : "");
  return text + (onEqualInputs ? "; first on equal inputs" : "; first") + " in kernel '" + firstKernel->name + "' of " +
         detail::join(firstKernel->nodes) + ": " + firstKernel->difference.text();
}

} // namespace vx::compare

#endif

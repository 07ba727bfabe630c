#include "device_comparison.h"

#include "call_inputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

namespace vx::tools {

using Json = nlohmann::ordered_json;

namespace {

// Dispatches are the same on two devices when they compute the same nodes to results of the same types up to the order
// of their dimensions: two targets may fuse differently, and then have kernels that compare with none.
struct Dispatch {
  std::string kernel;
  std::vector<std::string> nodes;
  std::vector<Value> outputs;
};

std::string keyOf(const vx_dispatch_info &info) {
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

// The tensor with dimension `from` moved to place `to`.
Tensor withMovedDim(const Tensor &tensor, size_t from, size_t to) {
  Tensor moved{tensor.type, tensor.dims, std::vector<uint8_t>(tensor.bytes.size())};
  moved.dims.erase(moved.dims.begin() + static_cast<ptrdiff_t>(from));
  moved.dims.insert(moved.dims.begin() + static_cast<ptrdiff_t>(to), tensor.dims[from]);
  // Both are [outer, a, b, inner] with a and b swapped.
  const size_t first = std::min(from, to), last = std::max(from, to);
  auto product = [&](size_t begin, size_t end) {
    uint64_t size = 1;
    for (size_t i = begin; i < end; ++i)
      size *= static_cast<uint64_t>(tensor.dims[i]);
    return size;
  };
  const uint64_t outer = product(0, first), inner = product(last + 1, tensor.dims.size());
  const uint64_t a = from < to ? product(first, first + 1) : product(first, last);
  const uint64_t b = from < to ? product(first + 1, last + 1) : product(last, last + 1);
  const uint64_t size = inner * vx_element_type_bits(tensor.type) / 8;
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t i = 0; i < a; ++i)
      for (uint64_t j = 0; j < b; ++j)
        std::memcpy(moved.bytes.data() + ((o * b + j) * a + i) * size,
                    tensor.bytes.data() + ((o * a + i) * b + j) * size, size);
  return moved;
}

// Targets may keep the channels of an image first or last, so a tensor agrees when it does in one of these orders.
TensorDifference compareInAnyOrder(const Tensor &first, const Tensor &second, std::optional<double> tolerance) {
  TensorDifference difference = compareTensors(first, second, tolerance);
  const size_t rank = second.dims.size();
  if (difference.agrees() || rank < 3 || vx_element_type_bits(second.type) < 8)
    return difference;
  for (const auto &[from, to] : {std::pair<size_t, size_t>(rank - 1, 1), std::pair<size_t, size_t>(1, rank - 1)})
    if (TensorDifference other = compareTensors(first, withMovedDim(second, from, to), tolerance); other.isComparable)
      if (other.agrees() || !difference.isComparable)
        difference = std::move(other);
  return difference;
}

class KernelComparer {
public:
  KernelComparer(DeviceComparison &comparison, std::optional<double> tolerance)
      : comparison(comparison), tolerance(tolerance) {}

  static void rememberOne(void *user, const vx_dispatch_info *info) {
    static_cast<KernelComparer *>(user)->remember(*info);
  }
  static void compareOne(void *user, const vx_dispatch_info *info) {
    static_cast<KernelComparer *>(user)->compare(*info);
  }

private:
  void remember(const vx_dispatch_info &info) {
    Dispatch dispatch{info.kernel, {info.nodes, info.nodes + info.node_count}, {}};
    for (size_t i = 0; i < info.output_count; ++i)
      dispatch.outputs.push_back(fromRuntime(vx::Value::share(info.outputs[i])));
    // Without nodes there is nothing to know a kernel by.
    if (info.node_count)
      waiting[keyOf(info)].push_back(dispatches.size());
    dispatches.push_back(std::move(dispatch));
    ++comparison.kernels;
  }

  void compare(const vx_dispatch_info &info) {
    const auto found = waiting.find(keyOf(info));
    if (found == waiting.end() || found->second.empty())
      return;
    const size_t index = found->second.front();
    found->second.pop_front();
    ++comparison.kernelsCompared;
    Dispatch &dispatch = dispatches[index];
    bool differs = false;
    for (size_t i = 0; i < info.output_count; ++i) {
      const Value output = fromRuntime(vx::Value::share(info.outputs[i]));
      const Value &other = dispatch.outputs[i];
      // What differs by rounding alone is made equal, so that it does not add up to what a later kernel is blamed for.
      if (compareTensors(other.tensors.front(), output.tensors.front(), tolerance).agrees())
        replaceOutput(info, i, other);
      TensorDifference difference = compareInAnyOrder(other.tensors.front(), output.tensors.front(), tolerance);
      differs |= !difference.agrees();
      if (difference.agrees() || index >= first)
        continue;
      first = index;
      comparison.firstKernel = ComparedKernel{dispatch.kernel, dispatch.nodes, std::move(difference), {}, {}};
    }
    comparison.kernelsDiffering += differs;
    dispatch.outputs.clear();
  }

  DeviceComparison &comparison;
  const std::optional<double> tolerance;
  std::vector<Dispatch> dispatches; // of the first device
  std::map<std::string, std::deque<size_t>> waiting;
  size_t first = SIZE_MAX; // the first dispatch that differs
};

} // namespace

void replaceOutput(const vx_dispatch_info &info, size_t output, const Value &value) {
  const vx::Value replacement = toRuntime(value);
  vx_value_retain(replacement.get());
  info.replacements[output] = replacement.get();
}

std::string outputName(const std::string &name) { return fmt::format("output '{}'", name); }
std::string elementName(size_t element, const std::string &output) {
  return fmt::format("element {} of {}", element, output);
}
std::string variableName(const std::string &name) { return fmt::format("variable '{}'", name); }

RunOutcome runOn(const ComparisonRequest &request, size_t device, vx_dispatch_observer observer, void *user) {
  vx::InstanceOptions options;
  options.device = request.devices[device];
  options.noFallback = true;
  options.threads = request.threads;
  SymbolValues symbols = request.symbols;
  options.symbols = instanceSizes(request.module, symbols);
  options.seed = request.seed;
  options.memoryLimit = request.memoryLimit;
  const vx::Instance instance(request.module, options);
  vx::Call call(instance, *request.function);
  call.setObserver(observer, user);

  const std::vector<vx::Value> outputs = call.run(request.inputs);
  RunOutcome outcome;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value value = fromRuntime(outputs[i]);
    const std::string name = outputName(request.function->outputs[i].name);
    for (size_t j = 0; j < value.tensors.size(); ++j)
      outcome.results.emplace_back(value.kind == VX_TENSOR ? name : elementName(j, name), std::move(value.tensors[j]));
  }
  for (const vx_variable_info &variable : request.module.variables())
    outcome.results.emplace_back(variableName(variable.name),
                                 fromRuntime(instance.readVariable(variable.name)).tensors.front());
  outcome.device = Json::parse(instance.report(VX_REPORT_JSON))["taken"].value("device", "");
  return outcome;
}

std::vector<ComparedResult> compareResults(const RunOutcome &first, const RunOutcome &second,
                                           std::optional<double> tolerance) {
  std::vector<ComparedResult> results;
  // A sequence may be longer on one device.
  const Tensor none;
  for (size_t i = 0; i < std::max(first.results.size(), second.results.size()); ++i) {
    const auto &named = i < first.results.size() ? first.results[i] : second.results[i];
    results.push_back(
        {named.first, compareTensors(i < first.results.size() ? first.results[i].second : none,
                                     i < second.results.size() ? second.results[i].second : none, tolerance)});
  }
  return results;
}

DeviceComparison compareDevices(const ComparisonRequest &request) {
  DeviceComparison comparison;
  const RunOutcome first = runOn(request, 0), second = runOn(request, 1);
  comparison.devices = {first.device, second.device};
  comparison.results = compareResults(first, second, request.tolerance);
  if (!comparison.agrees()) {
    KernelComparer comparer(comparison, request.tolerance);
    runOn(request, 0, KernelComparer::rememberOne, &comparer);
    runOn(request, 1, KernelComparer::compareOne, &comparer);
  }
  return comparison;
}

bool DeviceComparison::agrees() const {
  return std::all_of(results.begin(), results.end(),
                     [](const ComparedResult &result) { return result.difference.agrees(); });
}

std::string DeviceComparison::message() const {
  std::string text = ownMessage();
  for (const DeviceComparison &other : againstReference)
    text += "; " + other.message();
  return text;
}

std::string DeviceComparison::ownMessage() const {
  const auto wrong = std::find_if(results.begin(), results.end(),
                                  [](const ComparedResult &result) { return !result.difference.agrees(); });
  if (wrong == results.end())
    return fmt::format("{} and {} agree", devices[0], devices[1]);
  std::string text =
      fmt::format("{} and {} differ: {}: {}", devices[0], devices[1], wrong->name, wrong->difference.text());
  if (!firstKernel)
    return text + fmt::format("; of {} kernels {} compare, and none of them differs{}", kernels, kernelsCompared,
                              onEqualInputs ? " on equal inputs" : "");
  text += fmt::format("; first{} in kernel '{}' of {}: {}", onEqualInputs ? " on equal inputs" : "",
                      firstKernel->kernel, fmt::join(firstKernel->nodes, ", "), firstKernel->difference.text());
  if (firstKernel->op)
    text += fmt::format("; in it first '{}' of {}: {}", firstKernel->op->op, fmt::join(firstKernel->op->nodes, ", "),
                        firstKernel->op->difference.text());
  else if (!firstKernel->noOp.empty())
    text += "; " + firstKernel->noOp;
  return text;
}

static Json differenceJson(const TensorDifference &difference) {
  Json json{{"type", difference.type},
            {"agrees", difference.agrees()},
            {"elements", difference.elements},
            {"differing", difference.differing},
            {"largest_difference", difference.largest},
            {"largest_relative_difference", difference.largestRelative},
            {"allowed", difference.allowed}};
  if (!difference.agrees() && difference.isComparable) {
    json["at"] = difference.place;
    json["values"] = {difference.first, difference.second};
    json["first_at"] = difference.firstPlace;
    json["first_values"] = difference.firstValues;
  }
  return json;
}

Json DeviceComparison::json() const {
  Json json{{"devices", devices}, {"agree", agrees()}, {"results", Json::array()}};
  for (const ComparedResult &result : results) {
    Json entry{{"name", result.name}};
    entry.update(differenceJson(result.difference));
    json["results"].push_back(std::move(entry));
  }
  json["first_kernel"] = nullptr;
  if (firstKernel) {
    json["first_kernel"] = {{"kernel", firstKernel->kernel}, {"nodes", firstKernel->nodes}};
    json["first_kernel"].update(differenceJson(firstKernel->difference));
    if (const auto &op = firstKernel->op) {
      json["first_kernel"]["first_op"] = {{"op", op->op}, {"nodes", op->nodes}};
      json["first_kernel"]["first_op"].update(differenceJson(op->difference));
    } else if (!firstKernel->noOp.empty()) {
      json["first_kernel"]["first_op"] = nullptr;
      json["first_kernel"]["reason"] = firstKernel->noOp;
    }
  }
  json["kernels"] = kernels;
  json["kernels_compared"] = kernelsCompared;
  json["kernels_differing"] = kernelsDiffering;
  json["on_equal_inputs"] = onEqualInputs;
  for (const DeviceComparison &other : againstReference)
    json["against_reference"].push_back(other.json());
  return json;
}

} // namespace vx::tools

#include "reference_comparison.h"

#include "call_inputs.h"
#include "load_module.h"
#include "npy.h"
#include "output_file.h"
#include "sibling_tool.h"
#include "temporary_folder.h"
#include "tensor_file.h"
#include "tool_error.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>

namespace vx::tools {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string targetOf(const std::string &device) {
  const std::string target = device.substr(0, device.find(':'));
  return target == "null" ? "cpu" : target;
}

static const vx_function_info &function(const ReferenceRequest &request) {
  return findFunction(request.call.module, request.call.function);
}

static vx::Value valueOf(Tensor tensor) { return toRuntime({VX_TENSOR, tensor.type, {std::move(tensor)}}); }

namespace {

// The files that the reference evaluator writes (tools/vx-interpret/dispatch_trace.h).
class ReferenceTrace {
public:
  ReferenceTrace(const ReferenceRequest &request, const fs::path &folder, const std::string &target) : folder(folder) {
    const std::string kernels = folder / "kernels.mlirbc";
    runSiblingTool(request.compiler, {request.model, "--target=" + target, "--stop-after=kernels", "-o", kernels});
    arguments = {kernels, "--function", function(request).name, "--seed", std::to_string(request.call.options.seed)};
    for (const auto &[name, size] : request.symbols)
      for (const vx_symbol_info &symbol : request.call.module.symbols())
        if (symbol.name == name) // others are bound by the inputs
          arguments.insert(arguments.end(), {"--dim", name + "=" + std::to_string(size)});
    for (size_t i = 0; i < request.call.inputs.size(); ++i) {
      const Value value = fromRuntime(request.call.inputs[i]);
      const char *name = function(request).inputs[i].name;
      if (value.type == VX_STRING)
        throw usageError("input '{}': the reference evaluator reads numbers and bools, got strings", name);
      const bool isTensor = value.kind == VX_TENSOR;
      const std::string path = folder / ("input" + std::to_string(i) + (isTensor ? ".npy" : ".pb"));
      writeFile(path, isTensor ? formatNpy(value.tensors.front()) : formatTensorFile(name, value));
      arguments.insert(arguments.end(), {"--input", fmt::format("{}=@{}", name, path)});
    }
    document = run("trace", {});
  }

  // Looks into a dispatch.
  Json examine(size_t dispatch) const { return run("examined", {"--examine", std::to_string(dispatch)})["examined"]; }

  compare::Run outcome() const {
    compare::Run result{"reference", {}};
    for (const Json &output : document["outputs"]) {
      const bool isTensor = output["kind"] == "tensor";
      const vx_value_kind kind = isTensor                       ? VX_TENSOR
                                 : output["kind"] == "sequence" ? VX_SEQUENCE
                                                                : VX_OPTIONAL_SEQUENCE;
      result.addOutput(output["name"], toRuntime(read("trace", output["file"], kind)));
    }
    for (const Json &variable : document["variables"])
      result.addVariable(variable["name"], valueOf(tensor(variable["file"])));
    return result;
  }

  const Json &dispatches() const { return document["dispatches"]; }
  Tensor tensor(const std::string &file, const char *part = "trace") const {
    return read(part, file, VX_TENSOR).tensors.front();
  }
  fs::path fileOf(const char *part, const std::string &file) const { return folder / part / file; }

private:
  Json run(const char *part, std::vector<std::string> more) const {
    fs::create_directory(folder / part);
    more.insert(more.begin(), arguments.begin(), arguments.end());
    more.insert(more.end(), {"--trace", folder / part});
    runSiblingTool("vx-interpret", more);
    std::ifstream file(folder / part / "trace.json");
    return Json::parse(file);
  }
  Value read(const char *part, const std::string &file, vx_value_kind kind) const {
    return readTensorFile(fileOf(part, file), kind);
  }

  const fs::path folder;
  std::vector<std::string> arguments;
  Json document;
};

// The place of a dispatch among those of the same nodes and results.
std::string keyOf(const Json &nodes, const std::vector<std::string> &types) {
  std::string key;
  for (const Json &node : nodes)
    key += node.get<std::string>() + '\n';
  for (const std::string &type : types)
    key += type + '\n';
  return key;
}

// Compares each dispatch of a device with the reference's, and has it continue with the reference's values.
class KernelReplacer {
public:
  KernelReplacer(const ReferenceTrace &trace, DeviceComparison &comparison, const ReferenceRequest &request,
                 bool isSecond)
      : trace(trace), comparison(comparison), request(request), isSecond(isSecond) {
    for (size_t i = 0; i < trace.dispatches().size(); ++i) {
      const Json &dispatch = trace.dispatches()[i];
      if (dispatch["derived"])
        continue;
      std::vector<std::string> types;
      for (const Json &file : dispatch["outputs"]) {
        const Tensor output = trace.tensor(file);
        types.push_back(typeText(output.type, output.dims));
      }
      waiting[keyOf(dispatch["nodes"], types)].push_back(i);
    }
  }

  static void compareOne(void *user, const vx_dispatch_info *info) {
    static_cast<KernelReplacer *>(user)->compare(*info);
  }

  // The number of the first dispatch that differs, in the reference's trace.
  std::optional<size_t> first;
  std::string problem; // of an observer that must not throw

private:
  void compare(const vx_dispatch_info &info) try {
    ++comparison.kernels;
    std::vector<std::string> types;
    for (size_t i = 0; i < info.output_count; ++i) {
      const vx_value_info value = vx_value_get_info(info.outputs[i]);
      types.push_back(typeText(value.element_type, {value.dims, value.dims + value.rank}) + info.layouts[i]);
    }
    Json nodes = Json::array();
    for (size_t i = 0; i < info.node_count; ++i)
      nodes.push_back(info.nodes[i]);
    const auto found = waiting.find(keyOf(nodes, types));
    if (found == waiting.end() || found->second.empty())
      return;
    const size_t number = found->second.front();
    found->second.pop_front();
    ++comparison.kernelsCompared;
    bool differs = false;
    for (size_t i = 0; i < info.output_count; ++i) {
      const vx::Value here = vx::Value::share(info.outputs[i]);
      const vx::Value there = valueOf(trace.tensor(trace.dispatches()[number]["outputs"][i]));
      compare::Difference difference = compare::tensors(compare::view(isSecond ? there : here),
                                                        compare::view(isSecond ? here : there), request.call.tolerance);
      vx_value_retain(there.get());
      info.replacements[i] = there.get();
      differs |= !difference.agrees();
      if (difference.agrees() || first)
        continue;
      first = number;
      comparison.firstKernel =
          compare::Kernel{info.kernel, nodes.get<std::vector<std::string>>(), std::move(difference)};
    }
    comparison.kernelsDiffering += differs;
  } catch (const std::exception &error) {
    if (problem.empty())
      problem = error.what();
  }

  const ReferenceTrace &trace;
  DeviceComparison &comparison;
  const ReferenceRequest &request;
  const bool isSecond; // the device, and not the reference
  std::map<std::string, std::deque<size_t>> waiting;
};

} // namespace

// Compiles the ops of a kernel up to each one in turn, and finds the first whose value is another one.
static void lookInto(const ReferenceRequest &request, const ReferenceTrace &trace, size_t dispatch, size_t device,
                     const fs::path &folder, DeviceComparison &comparison) {
  const Json examined = trace.examine(dispatch);
  size_t compiled = 0;
  std::string refused;
  for (const Json &op : examined["ops"]) {
    const fs::path module = folder / "op.vxm";
    try {
      runSiblingTool(request.compiler, {trace.fileOf("examined", op["program"]),
                                        "--target=" + targetOf(request.call.devices[device]), "-o", module});
    } catch (const ToolError &error) {
      refused = fmt::format("; '{}' does not compile alone: {}", op["op"].get<std::string>(), error.what());
      continue;
    }
    ++compiled;
    compare::Request single = request.call;
    single.module = loadModule(module);
    single.function.clear();
    SymbolValues defaults;
    single.options.symbols = instanceSizes(single.module, defaults);
    single.inputs.clear();
    for (size_t i = 0; i < findFunction(single.module, "").input_count; ++i)
      single.inputs.push_back(valueOf(trace.tensor(examined["inputs"][i], "examined")));
    const vx::Value value = valueOf(trace.tensor(op["value"], "examined"));
    const vx::Value here = compare::run(single, single.devices[device]).results.front().second;
    compare::Difference difference = compare::tensors(
        compare::view(device == 0 ? here : value), compare::view(device == 0 ? value : here), request.call.tolerance);
    if (difference.agrees())
      continue;
    comparison.firstOp = compare::Kernel{op["op"], op["nodes"].get<std::vector<std::string>>(), std::move(difference)};
    return;
  }
  comparison.noOp =
      fmt::format("compiled once more, each of its {} ops agrees after those before it, the last one with "
                  "all: the kernel's code is not the code that this compiler makes, or only as a whole wrong{}",
                  compiled, refused);
}

// The reference has those variables only that are set, in an order of its own; the device has all.
static void keepCommonVariables(compare::Run &here, compare::Run &there) {
  auto isVariable = [](const auto &result) { return result.first.starts_with("variable '"); };
  std::map<std::string, vx::Value> known;
  for (const auto &[name, value] : there.results)
    known.try_emplace(name, value);
  std::erase_if(there.results, isVariable);
  std::erase_if(here.results, [&](const auto &result) { return isVariable(result) && !known.contains(result.first); });
  for (const auto &result : here.results)
    if (isVariable(result))
      there.results.emplace_back(result.first, known.at(result.first));
}

DeviceComparison compareWithReference(const ReferenceRequest &request) {
  const bool isSecond = request.call.devices[0] == "reference"; // the device
  const size_t device = isSecond ? 1 : 0;
  const TemporaryFolder folder("vx-run");
  const ReferenceTrace trace(request, folder.path, targetOf(request.call.devices[device]));
  compare::Run here = compare::run(request.call, request.call.devices[device]), there = trace.outcome();
  keepCommonVariables(here, there);
  DeviceComparison comparison;
  comparison.devices = {isSecond ? there.device : here.device, isSecond ? here.device : there.device};
  comparison.results = compare::runs(isSecond ? there : here, isSecond ? here : there, request.call.tolerance);
  if (comparison.agrees())
    return comparison;
  comparison.onEqualInputs = true;
  KernelReplacer replacer(trace, comparison, request, isSecond);
  (void)compare::run(request.call, request.call.devices[device], KernelReplacer::compareOne, &replacer);
  if (!replacer.problem.empty())
    throw workError("{}", replacer.problem);
  if (request.bisects && replacer.first)
    lookInto(request, trace, *replacer.first, device, folder.path, comparison);
  return comparison;
}

} // namespace vx::tools

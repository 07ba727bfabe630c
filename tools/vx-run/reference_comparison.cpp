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

namespace {

// What the reference evaluator writes (tools/vx-interpret/dispatch_trace.h).
class ReferenceTrace {
public:
  ReferenceTrace(const ReferenceRequest &request, const fs::path &folder, const std::string &target) : folder(folder) {
    const std::string kernels = folder / "kernels.mlirbc";
    runSiblingTool(request.compiler, {request.model, "--target=" + target, "--stop-after=kernels", "-o", kernels});
    arguments = {kernels, "--function", request.call.function->name, "--seed", std::to_string(request.call.seed)};
    for (const auto &[name, size] : request.call.symbols)
      for (const vx_symbol_info &symbol : request.call.module.symbols())
        if (symbol.name == name) // others are bound by the inputs
          arguments.insert(arguments.end(), {"--dim", name + "=" + std::to_string(size)});
    for (size_t i = 0; i < request.call.inputs.size(); ++i) {
      const Value value = fromRuntime(request.call.inputs[i]);
      const char *name = request.call.function->inputs[i].name;
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

  RunOutcome outcome() const {
    RunOutcome result{"reference", {}};
    for (const Json &output : document["outputs"]) {
      const bool isTensor = output["kind"] == "tensor";
      const vx_value_kind kind = isTensor                       ? VX_TENSOR
                                 : output["kind"] == "sequence" ? VX_SEQUENCE
                                                                : VX_OPTIONAL_SEQUENCE;
      const Value value = read("trace", output["file"], kind);
      const std::string name = outputName(output["name"]);
      for (size_t i = 0; i < value.tensors.size(); ++i)
        result.results.emplace_back(isTensor ? name : elementName(i, name), value.tensors[i]);
    }
    for (const Json &variable : document["variables"])
      result.results.emplace_back(variableName(variable["name"]), tensor(variable["file"]));
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

// Compares each dispatch of a device with the reference's, and has it go on with what the reference has.
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
      const Tensor here = fromRuntime(vx::Value::share(info.outputs[i])).tensors.front();
      const Tensor there = trace.tensor(trace.dispatches()[number]["outputs"][i]);
      TensorDifference difference =
          compareTensors(isSecond ? there : here, isSecond ? here : there, request.call.tolerance);
      replaceOutput(info, i, {VX_TENSOR, there.type, {there}});
      differs |= !difference.agrees();
      if (difference.agrees() || first)
        continue;
      first = number;
      comparison.firstKernel =
          ComparedKernel{info.kernel, nodes.get<std::vector<std::string>>(), std::move(difference), {}, {}};
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
                     const fs::path &folder, ComparedKernel &kernel) {
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
    ComparisonRequest single = request.call;
    single.module = loadModule(module);
    single.function = &findFunction(single.module, "");
    single.symbols.clear();
    single.inputs.clear();
    for (size_t i = 0; i < single.function->input_count; ++i) {
      Tensor input = trace.tensor(examined["inputs"][i], "examined");
      single.inputs.push_back(toRuntime({VX_TENSOR, input.type, {std::move(input)}}));
    }
    const Tensor value = trace.tensor(op["value"], "examined");
    const Tensor here = runOn(single, device).results.front().second;
    TensorDifference difference =
        compareTensors(device == 0 ? here : value, device == 0 ? value : here, request.call.tolerance);
    if (difference.agrees())
      continue;
    kernel.op = ComparedOp{op["op"], op["nodes"].get<std::vector<std::string>>(), std::move(difference)};
    return;
  }
  kernel.noOp = fmt::format("compiled once more, each of its {} ops agrees after those before it, the last one with "
                            "all: the kernel's code is not what this compiler makes of it, or only as a whole wrong{}",
                            compiled, refused);
}

// The reference has those variables only that are set, in an order of its own; the device has all.
static void keepCommonVariables(RunOutcome &here, RunOutcome &there) {
  auto isVariable = [](const auto &result) { return result.first.starts_with("variable '"); };
  std::map<std::string, Tensor> known;
  for (const auto &[name, tensor] : there.results)
    known.try_emplace(name, tensor);
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
  RunOutcome here = runOn(request.call, device), there = trace.outcome();
  keepCommonVariables(here, there);
  DeviceComparison comparison;
  comparison.devices = {isSecond ? there.device : here.device, isSecond ? here.device : there.device};
  comparison.results = compareResults(isSecond ? there : here, isSecond ? here : there, request.call.tolerance);
  if (comparison.agrees())
    return comparison;
  comparison.onEqualInputs = true;
  KernelReplacer replacer(trace, comparison, request, isSecond);
  (void)runOn(request.call, device, KernelReplacer::compareOne, &replacer);
  if (!replacer.problem.empty())
    throw workError("{}", replacer.problem);
  if (request.bisects && replacer.first)
    lookInto(request, trace, *replacer.first, device, folder.path, *comparison.firstKernel);
  return comparison;
}

} // namespace vx::tools

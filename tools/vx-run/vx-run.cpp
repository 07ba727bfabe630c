// vx-run: runs a function of a module once and shows what came out.
#include "call_inputs.h"
#include "command_line.h"
#include "compiled_model.h"
#include "device_fallback.h"
#include "file_checks.h"
#include "gradient_check.h"
#include "load_module.h"
#include "npy.h"
#include "output_file.h"
#include "print_devices.h"
#include "reference_comparison.h"
#include "tensor_file.h"
#include "tensor_text.h"

#include "vx/base/json_text.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

using namespace vx::tools;
using Json = nlohmann::ordered_json;

static constexpr const char *Examples = R"(
Examples:
  Device:   vx-run model.vxm --device=vulkan:0 --no-fallback
            vx-run --list-devices --json
            vx-run model.onnx --device=cpu
  Inputs:   vx-run model.vxm --input image=@digit.npy --input scale=f32[1]:ones
            vx-run model.vxm --dim batch=8 --seed 7
            vx-run decoder.vxm --alias --output present=@present.npy
  Outputs:  vx-run model.vxm --output logits=@logits.npy --print
  Report:   vx-run model.vxm --report=json --profile
  Compare:  vx-run model.vxm --compare=cpu,vulkan --tolerance 1e-3
            vx-run model.onnx --compare=cuda:1,reference --bisect
            vx-run model.vxm --device=vulkan --check-gradient=4
)";

namespace {

struct Options {
  std::string module;
  std::string device = "auto";
  bool noFallback = false;
  bool listDevices = false;
  bool json = false;
  std::string variant;
  uint32_t threads = 0;
  std::string memoryLimit = "0";
  bool verify = false;
  std::string function;
  std::vector<std::string> inputs;
  std::vector<std::string> dims;
  uint64_t seed = 0;
  bool alias = false;
  std::vector<std::string> outputs;
  bool print = false;
  std::string report;
  bool profile = false;
  std::string trace;
  std::string compare;
  std::string model;
  std::string compiler = "vx-compile";
  bool bisect = false;
  std::optional<uint64_t> gradientDirections; // with --check-gradient
  std::string gradientOf;
  std::optional<double> tolerance;
};

struct OutputFile {
  size_t output;
  std::string path;
  bool npy;
};

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

} // namespace

static constexpr uint64_t PrintLimit = 1000;

static bool parseOptions(const char *name, int argc, char **argv, Options &options) {
  CLI::App app("Runs a function of a compiled module.");
  app.add_option("module", options.module,
                 "The module file (.vxm), or a model (.onnx, .mlir), which vx-compile compiles first");

  app.add_option("--device", options.device, "auto, cpu, vulkan[:N], cuda[:N], rocm[:N] or null")->group("Device");
  app.add_flag("--no-fallback", options.noFallback, "A refused device is an error (exit 4)")->group("Device");
  app.add_flag("--list-devices", options.listDevices, "Print every device, or why there is none, and exit")
      ->group("Device");
  app.add_flag("--json", options.json, "With --list-devices: as JSON")->group("Device");
  app.add_option("--threads", options.threads, "CPU threads for one call; 0: one per core")
      ->check(wholeNumber(0, 1024))
      ->group("Device");
  app.add_option("--variant", options.variant, "Take this code variant")->group("Device");
  app.add_option("--memory-limit", options.memoryLimit,
                 "The most memory of the device for variables and calls, e.g. 512M; 0: no limit")
      ->check(byteCount())
      ->group("Device");

  app.add_flag("--verify", options.verify, "Read the whole module and its weights, and compare their hashes first")
      ->group("Device");

  app.add_option("--function", options.function, "The function to run; the first one by default")->group("Inputs");
  app.add_option("--input", options.inputs,
                 "NAME=@x.npy, NAME=@x.pb or NAME=f32[2,3]:random|zeros|ones; random when not given")
      ->group("Inputs");
  app.add_option("--dim", options.dims, "NAME=N: size of a named dimension of random inputs")->group("Inputs");
  app.add_option("--seed", options.seed,
                 "Of random inputs, and of variables that start with random values; 0 by default")
      ->check(wholeNumber(0, UINT64_MAX))
      ->group("Inputs");

  app.add_flag("--alias", options.alias,
               "Compute outputs in the memory of the inputs that the function declares for it")
      ->group("Inputs");

  app.add_option("--output", options.outputs, "NAME=@y.npy or NAME=@y.pb: write an output to a file")->group("Outputs");
  app.add_flag("--print", options.print, "Print the outputs' elements")->group("Outputs");

  app.add_option("--report", options.report, "json or text: device asked for and taken, refusals, times")
      ->check(oneOf({"json", "text"}))
      ->group("Report");
  app.add_flag("--profile", options.profile, "With --report: time every kernel")->group("Report");

  app.add_option("--trace", options.trace,
                 "F: write a trace of the call for Perfetto (ui.perfetto.dev): every kernel, with the nodes that it "
                 "computes")
      ->group("Report");

  app.add_option("--compare", options.compare,
                 "Two devices, or one and 'reference', e.g. cpu,vulkan: run on both, and name the first kernel whose "
                 "results differ (exit 1)")
      ->group("Compare");
  app.add_option("--model", options.model, "With 'reference' and --bisect: the model that the module was made of")
      ->group("Compare");
  app.add_flag(
         "--bisect", options.bisect,
         "Also name the first op inside of that kernel that differs from the reference, when the ops up to it are "
         "compiled; of two devices each is compared with the reference")
      ->group("Compare");
  app.add_option("--compiler", options.compiler, "vx-compile for models; the one beside this tool by default")
      ->group("Compare");
  std::string directions;
  app.add_option("--check-gradient", directions,
                 "Of a module with a function 'gradient' (vx-compile --grad): compare it with differences along N "
                 "random directions of each input and variable, 2 by default (exit 1 where one is off)")
      ->expected(0, 1)
      ->check(wholeNumber(1, 1000))
      ->group("Compare");
  app.add_option("--gradient-of", options.gradientOf,
                 "With --check-gradient: the output that it is of, where it is one "
                 "of several")
      ->group("Compare");
  app.add_option("--tolerance", options.tolerance,
                 "Allowed difference relative to a tensor's largest magnitude, 1e-4 for f32 by default; with "
                 "--check-gradient to a derivative, 0.019 for f32")
      ->check(numberAbove(0))
      ->group("Compare");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return false;
  if (!options.listDevices && options.module.empty())
    throw usageError("expected a module file; see --help");
  if (options.json && !options.listDevices)
    throw usageError("--json goes with --list-devices; for a run use --report=json");
  if (options.profile && options.report.empty())
    throw usageError("--profile goes with --report");
  if (app.count("--check-gradient") > 0)
    options.gradientDirections = directions.empty() ? 2 : std::stoull(directions);
  if (options.tolerance && options.compare.empty() && !options.gradientDirections)
    throw usageError("--tolerance goes with --compare and --check-gradient");
  if (!options.gradientOf.empty() && !options.gradientDirections)
    throw usageError("--gradient-of goes with --check-gradient");
  if (options.gradientDirections && (!options.compare.empty() || !options.outputs.empty() || options.print ||
                                     options.profile || options.alias || options.report == "text"))
    throw usageError("--check-gradient goes with none of --alias, --compare, --output, --print, --profile and "
                     "--report=text");
  if (!options.trace.empty() && (!options.compare.empty() || options.gradientDirections))
    throw usageError("--trace goes with none of --compare and --check-gradient");
  if (!options.compare.empty()) {
    const std::vector<std::string> devices = splitList(options.compare);
    if (devices.size() != 2 || devices[0].empty() || devices[1].empty())
      throw usageError("--compare: expected two devices, e.g. cpu,vulkan, got '{}'", options.compare);
    if (!options.outputs.empty() || options.print || options.profile || !options.variant.empty() || options.alias ||
        options.device != "auto")
      throw usageError("--compare goes with none of --alias, --device, --variant, --output, --print and --profile");
    if (devices[0] == "reference" && devices[1] == "reference")
      throw usageError("--compare: expected a device on one side, got '{}'", options.compare);
  }
  const bool hasReference = options.compare.starts_with("reference,") || options.compare.ends_with(",reference");
  if (options.compare.empty() && (options.bisect || !options.model.empty()))
    throw usageError("--bisect and --model go with --compare");
  if ((hasReference || options.bisect) && !isModelFile(options.module) && options.model.empty())
    throw usageError("{} needs the model: in place of the module, or beside it with --model, got '{}' alone",
                     hasReference ? "--compare with 'reference'" : "--bisect", options.module);
  if (!hasReference && !options.bisect && !options.model.empty())
    throw usageError("--model goes with --bisect, or --compare of a device and 'reference'");
  if (!options.model.empty() && isModelFile(options.module))
    throw usageError("--model goes with a module, got '{}'", options.module);
  return true;
}

// Finds the outputs before anything runs, so that a wrong name costs nothing.
static std::vector<OutputFile> outputFiles(const vx_function_info &function, const Options &options) {
  std::vector<OutputFile> files;
  for (const std::string &text : options.outputs) {
    const auto [name, file] = splitAssignment("--output", text);
    const size_t index = findArgument("output", name, function.outputs, function.output_count);
    if (file.size() < 2 || file[0] != '@')
      throw usageError("output '{}': expected @FILE, got '{}'", name, file);
    const std::string path = file.substr(1);
    const bool npy = path.ends_with(".npy");
    // A device such as /dev/full has no ending, and takes what a tensor is written as most often.
    const bool pb = path.ends_with(".pb");
    const bool isDevice = path.rfind("/dev/", 0) == 0;
    if (!npy && !pb && !isDevice)
      throw usageError("output '{}': expected a file that ends with .npy or .pb, got '{}'", name, path);
    const vx_value_kind kind = function.outputs[index].kind;
    if ((kind == VX_SEQUENCE || kind == VX_OPTIONAL_SEQUENCE) && !pb)
      throw usageError("output '{}' is a sequence: expected a .pb file, got '{}'", name, path);
    files.push_back({index, path, !pb});
  }
  return files;
}

static std::string valueText(const Value &value) {
  if (value.kind == VX_TENSOR)
    return typeText(value.type, value.tensors.front().dims);
  if (value.isNone)
    return fmt::format("optional sequence of {}, none", vx_element_type_name(value.type));
  std::string text = value.kind == VX_SEQUENCE   ? "sequence of "
                     : value.kind == VX_OPTIONAL ? "optional of "
                                                 : "optional sequence of ";
  text += fmt::format("{} {}", value.tensors.size(), vx_element_type_name(value.type));
  return text + (value.tensors.size() == 1 ? " tensor" : " tensors");
}

static void printOutputs(const vx_function_info &function, const std::vector<Value> &outputs, bool elements) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value &value = outputs[i];
    printOut("{}: {}\n", function.outputs[i].name, valueText(value));
    if (!elements)
      continue;
    for (size_t j = 0; j < value.tensors.size(); ++j) {
      if (value.kind != VX_TENSOR)
        printOut("{}[{}]: {}\n", function.outputs[i].name, j, typeText(value.type, value.tensors[j].dims));
      printText(tensorText(value.tensors[j], PrintLimit));
    }
  }
}

static Json outputJson(const vx_function_info &function, const std::vector<Value> &outputs, bool elements) {
  static const char *const kinds[] = {"tensor", "sequence", "optional", "optional_sequence"};
  Json list = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value &value = outputs[i];
    Json entry{
        {"name", function.outputs[i].name}, {"kind", kinds[value.kind]}, {"type", vx_element_type_name(value.type)}};
    auto describe = [elements](Json &target, const Tensor &tensor) {
      target["dims"] = tensor.dims;
      if (elements)
        target["values"] = tensorJson(tensor);
    };
    if (value.kind == VX_TENSOR) {
      describe(entry, value.tensors.front());
    } else {
      Json items = Json::array();
      for (const Tensor &tensor : value.tensors)
        describe(items.emplace_back(Json::object()), tensor);
      entry["elements"] = value.isNone ? Json() : std::move(items);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

static void printKernels(const Json &call) {
  for (const Json &kernel : call.value("kernels", Json::array())) {
    const std::string time =
        kernel["total_ms"].is_null() ? "-" : fmt::format("{:.4f}", kernel["total_ms"].get<double>());
    printOut("  {:>10} ms  {:>4}x  {}\n", time, kernel.value("count", 0), kernel.value("kernel", ""));
  }
}

namespace {

// Inputs that outputs are computed in: their bytes lie in memory of our own, at multiples of 64.
class OverwrittenInputs {
public:
  OverwrittenInputs(const vx::Module &module, const vx_function_info &function, std::vector<vx::Value> &inputs)
      : places(function.output_count) {
    const std::span<const vx_alias_info> aliases = module.aliases(function);
    if (aliases.empty())
      throw usageError("--alias: function '{}' declares no output that may be the memory of an input", function.name);
    for (const vx_alias_info &alias : aliases) {
      vx::Value &input = inputs[alias.input];
      const std::span<const std::byte> bytes = input.bytes();
      auto &lines = memory.emplace_back((bytes.size() + sizeof(Line) - 1) / sizeof(Line));
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte *>(lines.data()));
      places[alias.output] = {lines.data(), bytes.size(), nullptr};
      input = vx::Value::wrap(input.info().element_type, input.dims(), lines.data(), bytes.size());
    }
  }

  std::vector<vx_result_place> places;

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<std::vector<Line>> memory;
};

} // namespace

// The module of the command line, which is made first where it is a model. `made` is what it ends with.
static std::string moduleFile(const char *tool, const Options &options, ModuleFile &made) {
  if (!isModelFile(options.module))
    return options.module;
  const bool compares = !options.compare.empty();
  std::vector<std::string> devices = compares ? splitList(options.compare) : std::vector{options.device};
  std::erase(devices, "reference");
  made = compileModelFile(tool, options.module, targetsOf(devices, !compares && !options.noFallback), options.compiler);
  return made.path;
}

// The exit code: 1 when the devices differ.
static int compare(const Options &options, const vx::Module &module, const vx_function_info &function,
                   const SymbolValues &symbols, std::vector<vx::Value> inputs) {
  const std::vector<std::string> devices = splitList(options.compare);
  vx::compare::Request request{module, std::move(inputs), {devices[0], devices[1]}};
  request.function = function.name;
  request.tolerance = toleranceOf(options.tolerance);
  request.options.threads = options.threads;
  SymbolValues sizes = symbols;
  request.options.symbols = instanceSizes(module, sizes);
  request.options.seed = options.seed;
  request.options.memoryLimit = *parseByteCount(options.memoryLimit);
  const bool hasReference = devices[0] == "reference" || devices[1] == "reference";
  const std::string &model = options.model.empty() ? options.module : options.model;
  auto beside = [&](const vx::compare::Request &call, bool bisects) {
    return compareWithReference({call, symbols, model, options.compiler, bisects});
  };
  DeviceComparison comparison =
      hasReference ? beside(request, options.bisect) : DeviceComparison(vx::compare::devices(request));
  // Which of two devices is wrong, and where, the reference says.
  if (!hasReference && options.bisect && !comparison.agrees())
    for (const std::string &device : devices) {
      vx::compare::Request one = request;
      one.devices = {device, "reference"};
      comparison.againstReference.push_back(beside(one, /*bisects=*/true));
    }
  if (options.report == "json") {
    Json report{{"version", 1}, {"module", options.module}, {"function", function.name}};
    report["dims"] = symbols;
    report.update(comparison.json());
    printText(vx::jsonText(report, 2) + "\n");
  } else {
    for (const vx::compare::Result &result : comparison.results)
      printOut("{}\n", vx::printableLine(fmt::format("{}: {}", result.name, result.difference.text())));
  }
  if (!comparison.agrees())
    throw workError("{}", comparison.message());
  if (options.report != "json")
    printOut("{}\n", comparison.message());
  return 0;
}

// The exit code: 1 when a derivative is off.
static int checkGradient(const Options &options, const vx::Module &module, const GradientPair &pair,
                         const SymbolValues &symbols, const vx::InstanceOptions &instance,
                         std::vector<vx::Value> inputs) {
  GradientCheckRequest request;
  request.module = module;
  request.pair = pair;
  request.inputs = std::move(inputs);
  request.instance = instance;
  request.directions = *options.gradientDirections;
  request.tolerance = options.tolerance;
  request.seed = options.seed;
  const GradientCheck check = checkGradient(request);
  if (options.report == "json") {
    Json report{{"version", 1},
                {"module", options.module},
                {"function", pair.function->name},
                {"output", pair.function->outputs[pair.output].name}};
    report["dims"] = symbols;
    report.update(check.json());
    printText(vx::jsonText(report, 2) + "\n");
  } else {
    for (const GradientDifference &difference : check.differences)
      printOut("{}, direction {}: analytic {:.6g}, numeric {:.6g}, relative difference {:.3g}{}\n", difference.name,
               difference.direction, difference.analytic, difference.numeric, difference.relative,
               difference.agrees ? "" : ": off");
    for (const std::string &constant : check.constants)
      printOut("constant '{}': not compared, no call can move it\n", constant);
  }
  if (!check.agrees())
    throw workError("{}", check.message(pair));
  if (options.report != "json")
    printOut("{}, within {:.3g}\n", check.message(pair), check.tolerance);
  return 0;
}

static void tellWarning(void *, vx_log_level, const char *message) {
  printMessage("vx-run: note: {}\n", vx::printableLine(message));
}

static int run(const char *name, int argc, char **argv) {
  Options options;
  if (!parseOptions(name, argc, argv, options))
    return 0;
  if (options.listDevices) {
    printDevices(name, options.json);
    return 0;
  }

  const Clock::time_point loadBegin = Clock::now();
  CommandFiles commandFiles;
  addInputFiles(commandFiles, options.inputs);
  addOutputFiles(commandFiles, options.outputs);
  if (!options.trace.empty())
    commandFiles.addOutput("the trace", options.trace, CommandFiles::Kind::RegularFileOrStream);
  commandFiles.addStandardOutput();
  if (isModelFile(options.module)) {
    commandFiles.addInput("the model", options.module);
    checkFiles(commandFiles);
  }
  ModuleFile made;
  const vx::Module module = loadModule(moduleFile(name, options, made), commandFiles);
  if (options.verify)
    module.verify();
  const double loadTime = millisecondsSince(loadBegin);

  GradientPair pair;
  if (options.gradientDirections)
    pair = findGradient(module, options.function, options.gradientOf);
  const vx_function_info &function = pair.function ? *pair.function : findFunction(module, options.function);
  const std::vector<OutputFile> files = outputFiles(function, options);
  SymbolValues symbols = parseDims(options.dims);
  checkDims(module.symbols(), function, symbols);
  std::vector<vx::Value> inputs;
  std::vector<std::string> zeros;
  for (const Value &value : makeInputs(function, options.inputs, options.seed, symbols, &zeros))
    inputs.push_back(toRuntime(value));
  if (!zeros.empty())
    printMessage("vx-run: note: {}\n", vx::printableLine(zerosNote(zeros)));
  if (!options.compare.empty())
    return compare(options, module, function, symbols, std::move(inputs));

  const Clock::time_point instanceBegin = Clock::now();
  vx::InstanceOptions instanceOptions;
  instanceOptions.device = options.device;
  instanceOptions.noFallback = options.noFallback;
  instanceOptions.threads = options.threads;
  instanceOptions.variant = options.variant;
  instanceOptions.symbols = instanceSizes(module, symbols);
  instanceOptions.seed = options.seed;
  instanceOptions.memoryLimit = *parseByteCount(options.memoryLimit);
  if (pair.function)
    return checkGradient(options, module, pair, symbols, instanceOptions, std::move(inputs));
  const vx::Instance instance(module, instanceOptions);
  if (options.device != "auto")
    tellFallback(name, options.device, instance);
  vx_set_log(tellWarning, nullptr, VX_LOG_WARNING); // from here on: which device was taken is told
  vx::Call call(instance, function);
  const double instanceTime = millisecondsSince(instanceBegin);
  call.setProfile(options.profile || !options.trace.empty());

  std::optional<OverwrittenInputs> overwritten;
  if (options.alias)
    overwritten.emplace(module, function, inputs);
  const Clock::time_point callBegin = Clock::now();
  const std::vector<vx::Value> results = overwritten ? call.runInto(inputs, overwritten->places) : call.run(inputs);
  const double callTime = millisecondsSince(callBegin);
  std::vector<Value> outputs;
  for (const vx::Value &result : results)
    outputs.push_back(fromRuntime(result));

  // Each file is tried, and the results are printed, whatever became of the file before.
  std::optional<ToolError> failed;
  auto attempt = [&](auto &&write) {
    try {
      write();
    } catch (const ToolError &error) {
      const std::string before = failed ? std::string(failed->what()) + "; " : "";
      const ExitCode code = failed ? failed->exitCode : error.exitCode;
      failed.emplace(code, before + error.what());
    }
  };
  if (!options.trace.empty())
    attempt([&] { writeFile(options.trace, call.trace()); });
  for (const OutputFile &file : files)
    attempt([&] {
      const Value &value = outputs[file.output];
      if (file.npy && value.tensors.empty())
        throw usageError("output '{}' is an optional without a value: expected a .pb file, got '{}'",
                         function.outputs[file.output].name, file.path);
      writeFile(file.path, file.npy ? formatNpy(value.tensors.front())
                                    : formatTensorFile(function.outputs[file.output].name, value));
    });

  if (options.report == "json") {
    Json report{{"version", 1}, {"module", options.module}, {"function", function.name}};
    report["device"] = Json::parse(instance.report(VX_REPORT_JSON));
    report["dims"] = symbols;
    report["zero_inputs"] = zeros;
    report["times"] = {{"load_ms", loadTime}, {"instance_ms", instanceTime}, {"call_ms", callTime}};
    report["call"] = Json::parse(call.report());
    report["outputs"] = outputJson(function, outputs, options.print);
    printText(vx::jsonText(report, 2) + "\n");
  } else {
    printOutputs(function, outputs, options.print);
  }
  if (options.report == "text") {
    printText(instance.report());
    printOut("load {:.3f} ms, instance {:.3f} ms, call {:.3f} ms\n", loadTime, instanceTime, callTime);
    printKernels(Json::parse(call.report()));
  }
  if (failed)
    throw *failed;
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-run", argc, argv, run); }

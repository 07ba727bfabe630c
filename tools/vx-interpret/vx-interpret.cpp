// vx-interpret: runs a program in IR text, of any phase up to `kernels`, with the reference evaluator. The slow and
// exact answer that tests compare devices with.

#include "command_line.h"
#include "dispatch_trace.h"
#include "file_checks.h"
#include "host_values.h"
#include "input_file.h"
#include "memory_failure.h"
#include "npy.h"
#include "output_file.h"
#include "program_inputs.h"
#include "tensor_text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "vx/Dialect/VX/IR/SourceLocation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Driver/EndOnFailure.h"
#include "llvm/Config/llvm-config.h"

#include <CLI/CLI.hpp>

using namespace vx::tools;

static constexpr const char *Examples = R"(Examples:
  Inputs:   vx-interpret model.mlir --input image=@x.npy
            vx-interpret model.mlir --input image=f32[2,1,8,8]:random --seed 7
            vx-interpret model.mlir --dim batch=8
  Calls:    vx-interpret model.mlir --calls 3        (variables live on from call to call)
  Outputs:  vx-interpret model.mlir --output logits=@logits.npy --print
  Kernels:  vx-interpret kernels.mlirbc --trace folder --examine 3)";

static constexpr uint64_t PrintLimit = 1000;

struct Options {
  std::string path;
  std::string function = "main";
  std::vector<std::string> inputs;
  std::vector<std::string> dims;
  std::vector<std::string> outputs;
  uint64_t seed = 0;
  uint64_t calls = 1;
  bool print = false;
  std::string trace;
  std::string examine;
};

struct OutputFile {
  size_t output;
  std::string path;
};

static std::vector<OutputFile> parseOutputs(mlir::func::FuncOp function, const std::vector<std::string> &texts) {
  std::vector<OutputFile> files;
  for (const std::string &text : texts) {
    const auto [name, file] = splitAssignment("--output", text);
    const size_t output = findName("output", name, resultNames(function));
    if (!llvm::isa<mlir::RankedTensorType>(function.getResultTypes()[output]))
      throw usageError("output '{}' is no tensor: only tensors are written to files, got '{}'", name, file);
    if (file.size() < 2 || file[0] != '@')
      throw usageError("output '{}': expected @FILE, got '{}'", name, file);
    files.push_back({output, file.substr(1)});
  }
  return files;
}

static void printOutputs(mlir::func::FuncOp function, const std::vector<vx::reference::HostValue> &values,
                         const Options &options) {
  const std::vector<std::string> names = resultNames(function);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string &name = names[i];
    if (const auto *tensor = std::get_if<vx::reference::HostTensor>(&values[i])) {
      printOut("{}: {}\n", name, tensor->describe());
      if (options.print)
        printText(tensorText(toTensor(*tensor), PrintLimit));
      continue;
    }
    const auto *optional = std::get_if<vx::reference::HostOptionalSequence>(&values[i]);
    if (optional && !*optional) {
      printOut("{}: none\n", name);
      continue;
    }
    const auto &sequence = optional ? **optional : std::get<vx::reference::HostSequence>(values[i]);
    printOut("{}: sequence of {}\n", name, sequence.size());
    for (size_t j = 0; j < sequence.size(); ++j) {
      printOut("{}[{}]: {}\n", name, j, sequence[j].describe());
      if (options.print)
        printText(tensorText(toTensor(sequence[j]), PrintLimit));
    }
  }
}

static int run(const char *name, int argc, char **argv) {
  Options options;
  CLI::App app("Runs a program in IR text with the reference evaluator.");
  app.add_option("program", options.path,
                 "The vx dialect as text (.mlir), or as vx-compile --stop-after writes it to a .mlirbc file");
  app.add_option("--function", options.function, "The function to call; main by default")->group("Calls");
  app.add_option("--calls", options.calls, "Calls with the same inputs; variables live on")
      ->check(wholeNumber(1, UINT64_MAX))
      ->group("Calls");
  app.add_option("--input", options.inputs, "NAME=@x.npy or NAME=f32[2,3]:random|zeros|ones")->group("Inputs");
  app.add_option("--dim", options.dims, "NAME=N: size of a symbol, for inputs that are not given and of an instance")
      ->group("Inputs");
  app.add_option("--seed", options.seed,
                 "Of random inputs, and of variables that start with random values; 0 by default")
      ->check(wholeNumber(0, UINT64_MAX))
      ->group("Inputs");
  app.add_option("--output", options.outputs, "NAME=@y.npy: write an output to a file")->group("Outputs");
  app.add_flag("--print", options.print, "Print the outputs' elements")->group("Outputs");
  app.add_option("--trace", options.trace,
                 "An empty folder: write what each dispatch of the last call makes into it, of a program of the phase "
                 "kernels")
      ->group("Kernels");
  app.add_option("--examine", options.examine,
                 "N: with --trace also what dispatch N reads, and a program and the value of each op in it")
      ->check(wholeNumber(0, UINT64_MAX))
      ->group("Kernels");
  if (!parseCommandLine(app, name, Examples, argc, argv, versionText(LLVM_VERSION_STRING)))
    return 0;
  if (options.path.empty())
    throw usageError("expected a program, a .mlir file; see --help");
  if (!options.examine.empty() && options.trace.empty())
    throw usageError("--examine goes with --trace");

  mlir::DialectRegistry registry;
  registry.insert<vx::VXDialect, mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream os(diagnostics);
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      os << (diagnostics.empty() ? "" : "; ") << vx::describeSource(diagnostic.getLocation()) << ": "
         << diagnostic.str();
    return mlir::success();
  });
  refuseModuleFile(options.path);
  const std::vector<uint8_t> text = readFile(options.path);
  // Bytecode keeps large constants where they stand in the file.
  mlir::OwningOpRef<mlir::ModuleOp> module =
      options.path.ends_with(".mlirbc")
          ? mlir::parseSourceFile<mlir::ModuleOp>(options.path, &context)
          : mlir::parseSourceString<mlir::ModuleOp>(
                llvm::StringRef(reinterpret_cast<const char *>(text.data()), text.size()), &context, options.path);
  if (!module)
    throw fileError("{}", diagnostics);
  auto function = module->lookupSymbol<mlir::func::FuncOp>(options.function);
  if (!function)
    throw usageError("{} has no function '{}'", options.path, options.function);
  const std::vector<OutputFile> files = parseOutputs(function, options.outputs);
  CommandFiles commandFiles;
  commandFiles.addInput("the program", options.path);
  addInputFiles(commandFiles, options.inputs);
  commandFiles.addStandardOutput();
  addOutputFiles(commandFiles, options.outputs);
  checkFiles(commandFiles);

  const std::map<std::string, int64_t> dims = parseDims(options.dims);
  vx::reference::ProgramState state = makeInstance(*module, dims, options.seed);
  const std::vector<vx::reference::HostValue> inputs = makeProgramInputs(function, options.inputs, dims, options.seed);
  std::vector<vx::reference::HostValue> results;
  std::optional<DispatchTrace> trace;
  for (uint64_t call = 0; call < options.calls; ++call) {
    if (!options.trace.empty() && call + 1 == options.calls)
      trace.emplace(options.trace,
                    options.examine.empty() ? std::nullopt : std::optional(std::stoull(options.examine)));
    auto observe = [&](const vx::reference::ObservedDispatch &dispatch) { trace->observe(dispatch); };
    auto values = trace ? vx::reference::evaluateFunction(function, inputs, state, observe)
                        : vx::reference::evaluateFunction(function, inputs, state);
    if (!values)
      throw workError("{}", llvm::toString(values.takeError()));
    results.assign(values->begin(), values->end());
  }
  if (trace)
    trace->finish(function, results, state);
  printOutputs(function, results, options);
  for (const OutputFile &file : files)
    writeFile(file.path, formatNpy(toTensor(std::get<vx::reference::HostTensor>(results[file.output]))));
  return 0;
}

int main(int argc, char **argv) {
  vx::endOnFailure([](bool isOutOfMemory, const char *reason) {
    if (isOutOfMemory)
      writeOutOfMemory("vx-interpret");
    else
      writeInternalError("vx-interpret", reason);
  });
  return runTool("vx-interpret", argc, argv, run);
}

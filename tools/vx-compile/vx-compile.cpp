// vx-compile: a model in, a module file out. A main() over libvx_compiler.
#include "best_target.h"
#include "command_line.h"
#include "file_checks.h"
#include "memory_failure.h"
#include "output_file.h"

#include "vx/base/cache_folder.h"
#include "vx/base/names.h"
#include "vx/compiler/vxc.h"
#include "vx/runtime/vx.h"
#include "vx/serve/embedder.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <unistd.h>

using namespace vx::tools;

static constexpr const char *Examples = R"(
Examples:
  Model:    vx-compile model.onnx
            vx-compile model.onnx --target=cpu,vulkan -o model.vxm
            vx-compile model.onnx --target=cpu --weights=external
            vx-compile model.onnx --target=cpu --strict
            vx-compile all-MiniLM-L6-v2 --target=cpu -o minilm.vxm
  Targets:  vx-compile model.onnx --target=cpu --cpu=avx512,x86-64-v3
  Sizes:    vx-compile model.onnx --target=cpu --dim batch=1,32 --dim sequence=1..512
  Numbers:  vx-compile model.onnx --target=cpu --strict-math
            vx-compile model.onnx --target=cuda --precision=f16
  Train:    vx-compile model.onnx --target=cpu --train=auto --loss=cross_entropy --optimizer=adamw:weight_decay=0.05
  Show:     vx-compile model.onnx --target=cpu --report=json
            vx-compile model.onnx --target=cpu --stop-after=graph -o -
            vx-compile model.onnx --target=cpu,vulkan --check
            vx-compile model.onnx --target=vulkan --check --report=json
  Work:     vx-compile model.onnx --target=cpu --cache kernels --threads 2
)";

namespace {

// Messages to stderr; one progress line on a terminal once the work has taken two seconds, and none in a pipe.
class Console {
public:
  ~Console() { clearLine(); }

  void say(vxc_severity severity, const char *message) {
    std::lock_guard lock(mutex);
    if (severity == VXC_PROGRESS) {
      if (!isTerminal || std::chrono::steady_clock::now() - begin < std::chrono::seconds(2))
        return;
      printMessage("\r\033[K{}", message);
      hasLine = true;
      return;
    }
    clearLine();
    static constexpr const char *names[] = {"error", "warning", "note"};
    printMessage("vx-compile: {}: {}\n", names[severity], message);
  }

private:
  void clearLine() {
    if (hasLine)
      printMessage("\r\033[K");
    hasLine = false;
  }

  const bool isTerminal = ::isatty(STDERR_FILENO);
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  bool hasLine = false;
  std::mutex mutex;
};

struct Sink {
  Console console;
  std::string text;
  std::string problem; // why the report could not be printed
  std::string reason;

  // The tokenizer's file is the user's, and who tokenises reads it like this.
  const char *verifyEmbeddings(const vx::Module &module) {
    try {
      if (vx::serve::Embedder::isEmbedder(module))
        vx::serve::Embedder::check(module);
      return nullptr;
    } catch (const vx::serve::Error &error) {
      reason = error.what();
      return reason.c_str();
    }
  }

  // What is written is checked by the loader that will read it, before it has a name.
  const char *verify(const char *path) {
    vx_module *module = nullptr;
    vx_status status = vx_module_load(path, &module);
    if (!status)
      return verifyEmbeddings(vx::Module(module));
    reason = vx_status_message(status);
    vx_status_release(status);
    // The file's name for now tells nobody anything.
    if (size_t name = reason.find(path); name != std::string::npos)
      reason.erase(0, name + std::string_view(path).size() + 2);
    return reason.c_str();
  }
};

struct Options {
  std::string model;
  std::string output;
  std::string targets;
  std::map<std::string, std::string> variants; // target -> list
  std::vector<std::string> dims;
  std::string precision = "f32";
  bool strictMath = false;
  bool strict = false;
  std::string gradient;
  std::vector<std::string> groups; // of parameters
  std::string train, freeze, loss, optimizer, batchNorm, dropout, exported, init;
  double clipNorm = 0, clipValue = 0;
  std::string memory;
  bool keepGradients = false;
  int64_t classes = 0;
  std::string stopAfter;
  std::string report; // empty: none
  bool check = false;
  std::string weights = "inside";
  std::string cache;
  bool noCache = false;
  uint32_t threads = 0;
};

} // namespace

static bool parseOptions(const char *name, int argc, char **argv, Options &options) {
  const std::vector<std::string> built = splitList(vxc_targets());
  CLI::App app("Compiles a model to a module file.");
  app.add_option("model", options.model,
                 "ONNX file, vx text in a .mlir file, or a folder with a model of embeddings and its tokenizer");
  app.add_option(
         "-o,--output", options.output,
         "Module file to write, or text with --stop-after, where '-' prints it; the model's name with .vxm by default")
      ->group("Model");
  app.add_option("--weights", options.weights,
                 "inside the module, external: in a file beside it, or reference: in the model's own GGUF or "
                 "safetensors files beside it")
      ->check(oneOf({"inside", "external", "reference"}))
      ->group("Model");

  app.add_flag("--strict", options.strict,
               "An ONNX file that states other shapes than its nodes have, or has its nodes out of order, is an error, "
               "and not a warning or a note")
      ->group("Model");

  app.add_option("--target", options.targets,
                 "Targets, of " + joinWords(built, "and") + "; by default the best device of this machine, and cpu")
      ->group("Targets");
  for (const std::string &target : built)
    app.add_option("--" + target, options.variants[target], "Variants of target " + target + ", best first")
        ->group("Targets");
  // Of targets that the build left out: not in the help, and refused with the reason.
  for (const std::string &target : vx::allTargets())
    if (!vx::leftOutTarget(target, built).empty())
      app.add_option("--" + target, options.variants[target])->group("");

  app.add_option(
         "--dim", options.dims,
         "NAME=N: specialise a dimension; NAME=N,N: a version each beside the general one; NAME=N..N: its range; "
         "NAME=N..N:MULTIPLE: that, and what it is a multiple of")
      ->group("Sizes");
  app.add_option("--grad", options.gradient,
                 "OUTPUT:NAME,...: add a function 'gradient', of an output by inputs, initializers or variables")
      ->group("Gradients");
  app.add_option("--train", options.train,
                 "auto, or initializers' names between commas, with '*': add functions 'train_step' and 'evaluate'")
      ->group("Training");
  app.add_option("--freeze", options.freeze, "Initializers that are not trained, as --train names them")
      ->group("Training");
  app.add_option("--loss", options.loss,
                 "NAME[:[OUTPUT][,KEY=VALUE...]]: cross_entropy, nll, mse, l1, huber, bce, bce_logits, kl or none")
      ->group("Training");
  app.add_option("--optimizer", options.optimizer,
                 "NAME[:KEY=VALUE,...]: sgd, adam, adamw, rmsprop, lion or adagrad; PyTorch's defaults")
      ->group("Training");
  app.add_option("--param-group", options.groups,
                 "GLOB:lr=0.1x,weight_decay=0: a learning rate, as a multiple, and a decay for parameters of these "
                 "names; may be repeated")
      ->group("Training");
  app.add_option("--clip-norm", options.clipNorm, "The greatest norm of all gradients together")->group("Training");
  app.add_option("--clip-value", options.clipValue,
                 "The greatest absolute value of a gradient, applied after --clip-norm")
      ->group("Training");
  app.add_option("--memory", options.memory,
                 "The most memory of a training step beside its variables, e.g. 512M: more of it is computed twice")
      ->check(byteCount())
      ->group("Training");
  app.add_option("--classes", options.classes,
                 "A new number of classes: the weight and bias that produce the loss's output start with random values")
      ->check(wholeNumber(1, INT32_MAX))
      ->group("Training");
  app.add_option(
         "--init", options.init,
         "What is trained starts as in the file (file, the default) or with random values, as layers start (random)")
      ->group("Training");
  app.add_flag(
         "--keep-gradients", options.keepGradients,
         "Add the halves of a step, 'backward' and 'update', for training loops of your own and vx-train --accumulate")
      ->group("Training");
  app.add_option("--batch-norm", options.batchNorm,
                 "train: batch norms are of the batch and collect statistics; frozen: these are constants; what the "
                 "model says, or frozen, by default")
      ->group("Training");
  app.add_option("--dropout", options.dropout, "train, the default: the training step drops; frozen: nothing drops")
      ->group("Training");
  app.add_option("--export", options.exported,
                 "What the module keeps of an ONNX model for vx-train --export: inside, whose weights are in the file; "
                 "external, in a file beside it; none; inside up to 1.8 GB by default")
      ->check(oneOf({"inside", "external", "none"}))
      ->group("Training");
  app.add_option("--precision", options.precision,
                 "Factors of f32 contractions and convolutions: f32, tf32, f16 or bf16; sums stay f32")
      ->check(oneOf({"f32", "tf32", "f16", "bf16"}))
      ->group("Numbers");
  app.add_flag("--strict-math", options.strictMath, "Keep every rounding step of the model")->group("Numbers");

  app.add_option("--report", options.report, "Print what was made: --report, --report=text or --report=json")
      ->expected(0, 1)
      ->check(oneOf({"text", "json"}))
      ->group("Show");
  app.add_option("--stop-after", options.stopAfter,
                 "Print the IR of a phase instead: import, graph, grad, optimised, fused, kernels, schedule or target")
      ->group("Show");
  app.add_flag("--check", options.check,
               "No code: list every node that some target cannot take, and with --grad those without a gradient; as "
               "JSON with "
               "--report=json")
      ->group("Show");

  app.add_option("--cache", options.cache, "Folder of compiled kernels")->group("Work");
  app.add_flag("--no-cache", options.noCache, "Neither read nor write compiled kernels")->group("Work");
  app.add_option("--threads", options.threads, "Threads of code generation; 0 is one for each processor")
      ->check(wholeNumber(0, 1024))
      ->group("Work");
  const std::string version = std::string(vxc_version()) + "\n";
  if (!parseCommandLine(app, name, Examples, argc, argv, version))
    return false;

  if (options.model.empty())
    throw usageError("expected a model file, got none; see --help");
  if (isStandardOutput(options.output) && options.stopAfter.empty() && !options.check)
    throw usageError("--output: expected a file for a module, got '{}'; '-' prints the text of --stop-after",
                     options.output);
  if (app.count("--report") > 0 && options.report.empty())
    options.report = "text";
  if (options.cache.empty() && !options.noCache)
    options.cache = vx::defaultCacheFolder();
  for (const auto &[name, value] : {std::pair("--clip-norm", options.clipNorm), {"--clip-value", options.clipValue}})
    if (app.count(name) > 0 && !(value > 0))
      throw usageError("{}: expected a number above 0, got {}", name, value);
  if (!options.groups.empty() && options.optimizer.empty())
    throw usageError("--param-group: expected --optimizer with it, got none");
  for (const std::string &group : options.groups)
    options.optimizer += ";" + group;
  if (options.targets.empty()) {
    options.targets = defaultTargets(built);
    printMessage("{}: note: compiling for this machine: --target={}\n", name, options.targets);
  }
  const std::vector<std::string> chosen = splitList(options.targets);
  for (const std::string &target : chosen)
    if (const std::string reason = vx::leftOutTarget(target, built); !reason.empty())
      throw usageError("--target: this {} {}", name, reason);
  for (const auto &[target, list] : options.variants) {
    if (list.empty())
      continue;
    if (const std::string reason = vx::leftOutTarget(target, built); !reason.empty())
      throw usageError("--{}: this {} {}", target, name, reason);
    if (std::find(chosen.begin(), chosen.end(), target) == chosen.end())
      throw usageError("--{}: expected '{}' among the targets, got --target={}", target, target, options.targets);
  }
  return true;
}

// Beside the model. The name of a folder has no ending: "bge-small-en-v1.5".
static std::string defaultOutput(const std::string &model) {
  std::filesystem::path path = model;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    return path.replace_extension(".vxm").string();
  path = std::filesystem::absolute(path).lexically_normal();
  if (!path.has_filename())
    path = path.parent_path();
  return path.string() + ".vxm";
}

static int64_t memoryOption(const std::string &text) {
  const uint64_t bytes = *parseByteCount(text);
  if (bytes == 0 || bytes > INT64_MAX)
    throw usageError("--memory: expected a number of bytes of 1 or more, got '{}'", text);
  return static_cast<int64_t>(bytes);
}

static int run(const char *name, int argc, char **argv) {
  Options options;
  if (!parseOptions(name, argc, argv, options))
    return 0;
  refuseModuleFile(options.model);
  if (options.output.empty() && options.stopAfter.empty())
    options.output = defaultOutput(options.model);

  CommandFiles files;
  files.addInput("the model", options.model);
  files.addStandardOutput();
  if (!options.check && !options.output.empty() && !isStandardOutput(options.output)) {
    files.addOutput(options.stopAfter.empty() ? "the module" : "the output", options.output,
                    options.stopAfter.empty() ? CommandFiles::Kind::RegularFile
                                              : CommandFiles::Kind::RegularFileOrStream);
    checkFiles(files);
  }

  std::vector<std::string> variants;
  for (const auto &[target, list] : options.variants)
    if (!list.empty())
      variants.push_back(target + "=" + list);
  auto pointersTo = [](const std::vector<std::string> &texts) {
    std::vector<const char *> pointers;
    for (const std::string &text : texts)
      pointers.push_back(text.c_str());
    return pointers;
  };
  const std::vector<const char *> dimPointers = pointersTo(options.dims), variantPointers = pointersTo(variants);

  Sink sink;
  vxc_options request = {};
  request.struct_size = sizeof(request);
  request.targets = options.targets.c_str();
  request.variants = variantPointers.data();
  request.num_variants = variantPointers.size();
  request.dims = dimPointers.data();
  request.num_dims = dimPointers.size();
  request.stop_after = options.stopAfter.empty() ? nullptr : options.stopAfter.c_str();
  request.report = options.report.empty() ? nullptr : options.report.c_str();
  request.cache_folder = options.noCache || options.cache.empty() ? nullptr : options.cache.c_str();
  request.threads = options.threads;
  request.check_only = options.check;
  request.strict_math = options.strictMath;
  request.strict = options.strict;
  request.gradient = options.gradient.empty() ? nullptr : options.gradient.c_str();
  auto orNull = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
  request.train = orNull(options.train);
  request.freeze = orNull(options.freeze);
  request.loss = orNull(options.loss);
  request.optimizer = orNull(options.optimizer);
  request.clip_norm = options.clipNorm;
  request.clip_value = options.clipValue;
  request.batch_norm = orNull(options.batchNorm);
  request.keep_gradients = options.keepGradients;
  request.classes = options.classes;
  request.memory = options.memory.empty() ? 0 : memoryOption(options.memory);
  request.init = orNull(options.init);
  request.onnx_export = orNull(options.exported);
  request.dropout = orNull(options.dropout);
  request.precision = options.precision.c_str();
  request.weights = options.weights == "external"    ? VXC_WEIGHTS_EXTERNAL
                    : options.weights == "reference" ? VXC_WEIGHTS_REFERENCE
                                                     : VXC_WEIGHTS_INSIDE;
  request.on_message = [](void *data, vxc_severity severity, const char *message) {
    static_cast<Sink *>(data)->console.say(severity, message);
  };
  request.on_text = [](void *data, const char *text, size_t size) {
    static_cast<Sink *>(data)->text.append(text, size);
  };
  request.verify = [](void *data, const char *path) { return static_cast<Sink *>(data)->verify(path); };
  request.user_data = &sink;
  // A report that cannot be printed is found before the module has its name.
  request.confirm = [](void *data) -> const char * {
    auto *sink = static_cast<Sink *>(data);
    try {
      printText(std::exchange(sink->text, std::string()));
      flushStandardOutput();
      return nullptr;
    } catch (const std::exception &error) {
      sink->problem = error.what();
      return sink->problem.c_str();
    }
  };
  const vxc_result result = vxc_compile(options.model.c_str(), options.output.c_str(), &request);
  if (options.check) {
    printText(sink.text);
    flushStandardOutput();
  }
  if (result != VXC_DONE || options.check)
    return result;
  // The text of a phase goes to the output file when there is one; a report always to stdout.
  if (!options.stopAfter.empty() && !options.output.empty() && !isStandardOutput(options.output))
    writeFile(options.output, sink.text);
  else
    printText(sink.text);
  return 0;
}

int main(int argc, char **argv) {
  vxc_end_on_failure([](int isOutOfMemory, const char *reason) {
    if (isOutOfMemory)
      writeOutOfMemory("vx-compile");
    else
      writeInternalError("vx-compile", reason);
  });
  return runTool("vx-compile", argc, argv, run);
}

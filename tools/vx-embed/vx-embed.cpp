// vx-embed: texts to vectors, one on the command line or those of a file.
#include "command_line.h"
#include "compile_folder.h"
#include "device_fallback.h"
#include "embedding_output.h"
#include "file_checks.h"
#include "interruption.h"
#include "load_module.h"
#include "model_registry.h"
#include "text_file.h"
#include "tool_configuration.h"

#include "vx/base/json_text.h"
#include "vx/serve/embedder.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <unistd.h>

using namespace vx::tools;
using Json = nlohmann::json;
namespace serve = vx::serve;

static constexpr const char *Examples = R"(
MODEL is a module (.vxm) that vx-compile has made of a folder with a model of embeddings, or such a folder, which is compiled when it is
first used; what is neither is the name of one in the configuration or its model_dir, as vx-models lists them. A file has one text in each line, or where its name ends in .jsonl a JSON string or an object with 'text'.

Examples:
  One text:  vx-embed test --model minilm.vxm --text "Hello world"
             vx-embed test --model all-MiniLM-L6-v2 --text "Hello world" --print
  A file:    vx-embed batch --model minilm.vxm --file input.txt -o out.npy
             vx-embed batch --model minilm.vxm --file input.jsonl -o out.jsonl --batch-tokens 32768
  Tokens:    vx-embed test --model minilm.vxm --text "Hello world" --max-tokens 64 --no-truncate
             vx-embed test --model e5.vxm --text "Hello world" --prompt query
             vx-embed test --model e5.vxm --text "Hello world" --prompt-text "query: "
  Vectors:   vx-embed test --model minilm.vxm --text "Hello world" --pooling cls --normalize=off --dimensions 128
  Device:    vx-embed test --model minilm.vxm --text "Hello world" --device=vulkan:0 --no-fallback
)";

namespace {

struct Options {
  std::string verb, model;
  ConfigurationOptions configuration; // where names of models are looked up
  std::optional<std::string> text;
  std::string file, output;
  bool print = false, json = false;
  serve::EmbedOptions embed;
  std::string pooling, normalize;
  bool noTruncate = false;
  std::string device = "auto";
  bool noFallback = false;
  uint32_t threads = 0;
};

// One line on a terminal, none in a pipe.
class Progress {
public:
  ~Progress() { clear(); }
  void show(size_t done, size_t all) {
    if (!isTerminal || all == 0)
      return;
    constexpr size_t Width = 30;
    const size_t filled = done * Width / all;
    printMessage("\r\033[K[{}{}] {}/{} texts", std::string(filled, '#'), std::string(Width - filled, '.'), done, all);
    std::fflush(stderr);
    isShown = true;
  }
  void clear() {
    if (isShown)
      printMessage("\r\033[K");
    isShown = false;
  }

private:
  const bool isTerminal = ::isatty(STDERR_FILENO);
  bool isShown = false;
};

} // namespace

static bool parseOptions(const char *name, int argc, char **argv, Options &options) {
  CLI::App app("Makes vectors of texts, by a model of embeddings.");
  app.add_option("command", options.verb, "test: one text; batch: those of a file");
  app.add_option("--model", options.model,
                 "A module (.vxm), a folder with a model, or the name of one, as vx-models lists them")
      ->group("Model");
  options.configuration.addTo(app, {"--model-dir"});

  app.add_option("--text", options.text, "The text of test")->group("Texts");
  app.add_option("--file", options.file, "The texts of batch; '-' is standard input")->group("Texts");
  app.add_option("--prompt", options.embed.tokenize.promptName, "One of the model's prompts, by name, before each text")
      ->group("Texts");
  app.add_option("--prompt-text", options.embed.tokenize.prompt, "What stands before each text")->group("Texts");
  app.add_option("--max-tokens", options.embed.tokenize.maxTokens, "Of a text; what the model takes by default")
      ->check(wholeNumber(1, 1 << 24))
      ->group("Texts");
  app.add_flag("--no-truncate", options.noTruncate, "A text that is too long is an error")->group("Texts");

  app.add_option("--pooling", options.pooling,
                 "cls, mean or last, of those that the module has; the model's own by default")
      ->check(oneOf({"cls", "mean", "last"}))
      ->group("Vectors");
  app.add_option("--normalize", options.normalize, "on: vectors of length 1; off; as the model has it by default")
      ->check(oneOf({"on", "off"}))
      ->group("Vectors");
  app.add_option("--dimensions", options.embed.run.dimensions,
                 "Keep the first ones, where the model says that they are a vector")
      ->check(wholeNumber(1, 1 << 24))
      ->group("Vectors");
  app.add_option("--batch-tokens", options.embed.batchTokens,
                 "Tokens of a batch at the most, padding included; 16384 by default")
      ->check(wholeNumber(1, 1 << 30))
      ->group("Vectors");

  app.add_option("-o,--output", options.output, "The vectors of batch: a .npy or a .jsonl file")->group("Output");
  app.add_flag("--print", options.print, "With test: all numbers")->group("Output");
  app.add_flag("--json", options.json, "What is printed as one JSON document; with test it has the vector")
      ->group("Output");

  app.add_option("--device", options.device, "auto, cpu, vulkan[:N], cuda[:N], rocm[:N] or null")->group("Device");
  app.add_flag("--no-fallback", options.noFallback, "A refused device is an error (exit 4)")->group("Device");
  app.add_option("--threads", options.threads, "CPU threads for one batch; 0: one per core")
      ->check(wholeNumber(0, 1024))
      ->group("Device");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return false;

  if (options.verb != "test" && options.verb != "batch")
    throw usageError("expected the command test or batch, got {}; see --help",
                     options.verb.empty() ? "none" : "'" + options.verb + "'");
  if (options.model.empty())
    throw usageError("{} needs --model, a module or a folder; see --help", options.verb);
  const bool isTest = options.verb == "test";
  if (isTest && !options.text)
    throw usageError("test needs --text");
  if (!isTest && (options.file.empty() || options.output.empty()))
    throw usageError("batch needs --file and --output, got no {}", options.file.empty() ? "--file" : "--output");
  for (auto [flag, isGiven, isOfTest] : {std::tuple("--text", options.text.has_value(), true),
                                         {"--print", options.print, true},
                                         {"--file", !options.file.empty(), false},
                                         {"--output", !options.output.empty(), false}})
    if (isGiven && isOfTest != isTest)
      throw usageError("{} goes with {}", flag, isOfTest ? "test" : "batch");
  if (options.print && options.json)
    throw usageError("--json has all numbers, give it without --print");
  if (!options.embed.tokenize.prompt.empty() && !options.embed.tokenize.promptName.empty())
    throw usageError("--prompt-text is given with --prompt; give one of them");
  if (!isTest)
    checkEmbeddingsName(options.output);
  options.embed.tokenize.truncate = !options.noTruncate;
  if (!options.pooling.empty())
    options.embed.run.pooling = serve::parsePooling(options.pooling);
  if (!options.normalize.empty())
    options.embed.run.normalize = options.normalize == "on";
  return true;
}

// "all-MiniLM-L6-v2   384 dims   mean, unit norm   cpu:0 (AMD EPYC)"
static void printModel(const serve::Embedder &embedder, const Options &options) {
  const serve::EmbedderInfo &info = embedder.info();
  const serve::RunOptions &run = options.embed.run;
  const Json device = Json::parse(embedder.deviceReport(VX_REPORT_JSON))["taken"];
  printOut("{}   {} dims   {}{}   {} ({})\n", info.name, run.dimensions == 0 ? info.dimensions : run.dimensions,
           serve::poolingName(run.pooling.value_or(info.pooling)),
           run.normalize.value_or(info.normalizes) ? ", unit norm" : "", embedder.device(), device.value("name", ""));
}

static Json describeRun(const serve::Embedder &embedder, const Options &options, const serve::EmbedStatistics &done) {
  const serve::EmbedderInfo &info = embedder.info();
  const serve::RunOptions &run = options.embed.run;
  return {{"version", 1},
          {"model", info.name},
          {"dimensions", run.dimensions == 0 ? info.dimensions : run.dimensions},
          {"pooling", serve::poolingName(run.pooling.value_or(info.pooling))},
          {"normalized", run.normalize.value_or(info.normalizes)},
          {"device", Json::parse(embedder.deviceReport(VX_REPORT_JSON))},
          {"texts", done.texts},
          {"tokens", done.tokens},
          {"padding", done.padding},
          {"truncated", done.truncated},
          {"batches", done.batches},
          {"tokenize_ms", done.tokenizeSeconds * 1e3},
          {"run_ms", done.runSeconds * 1e3}};
}

static void tellTruncated(const char *name, const serve::EmbedStatistics &done, const serve::Embedder &embedder,
                          const Options &options) {
  if (done.truncated == 0)
    return;
  const size_t most =
      options.embed.tokenize.maxTokens == 0 ? embedder.info().maxTokens : options.embed.tokenize.maxTokens;
  std::fflush(stdout);
  printMessage("{}: note: {} of {} texts had more than {} tokens, and were cut to that\n", name, done.truncated,
               done.texts, most);
}

static void test(const char *name, const serve::Embedder &embedder, const Options &options) {
  serve::EmbedStatistics done;
  const serve::Matrix vectors = embedder.embed(std::span(&*options.text, 1), options.embed, &done);
  tellTruncated(name, done, embedder, options);
  if (options.json) {
    // The numbers as they read back, which a DOM of doubles would not write.
    std::string text = vx::jsonText(describeRun(embedder, options, done), 2);
    text.resize(text.rfind('\n'));
    return printText(text + ",\n  \"embedding\": " + vectorJson(vectors.row(0)) + "\n}\n");
  }
  printModel(embedder, options);
  printOut("{} tokens   tokenize {:.2f} ms   run {:.1f} ms   {}\n", done.tokens, done.tokenizeSeconds * 1e3,
           done.runSeconds * 1e3, showVector(vectors.row(0), options.print));
}

static void add(serve::EmbedStatistics &sum, const serve::EmbedStatistics &part) {
  sum.texts += part.texts;
  sum.tokens += part.tokens;
  sum.padding += part.padding;
  sum.truncated += part.truncated;
  sum.batches += part.batches;
  sum.tokenizeSeconds += part.tokenizeSeconds;
  sum.runSeconds += part.runSeconds;
}

static void batch(const char *name, const serve::Embedder &embedder, const Options &options, TextFile &texts) {
  // So many are sorted by length at a time: batches have little padding, and memory does not grow with the file.
  constexpr size_t PartSize = 8192;
  embedder.checkOptions(options.embed.run);
  const Interruption interruption;
  Progress progress;
  serve::EmbedStatistics done;
  serve::EmbedOptions embed = options.embed;
  embed.progress = [&](size_t count, size_t) {
    progress.show(done.texts + count, texts.count());
    interruption.check();
  };
  if (const std::string &reason = embedder.info().apart; !reason.empty() && texts.count() > 1)
    printMessage("{}: note: each text is run by itself, since its vector may depend on others of a batch: {}\n", name,
                 reason);
  const size_t columns = embed.run.dimensions == 0 ? embedder.info().dimensions : embed.run.dimensions;
  EmbeddingsFile file(options.output, texts.count(), columns);
  while (done.texts < texts.count()) {
    const std::vector<std::string> part = texts.next(PartSize);
    serve::EmbedStatistics partDone;
    embed.firstText = done.texts;
    file.add(embedder.embed(part, embed, &partDone));
    add(done, partDone);
  }
  file.commit();
  progress.clear();
  tellTruncated(name, done, embedder, options);
  if (options.json) {
    Json report = describeRun(embedder, options, done);
    report["output"] = options.output;
    return printText(vx::jsonText(report, 2) + "\n");
  }
  printModel(embedder, options);
  const double seconds = std::max(done.tokenizeSeconds + done.runSeconds, 1e-9);
  printOut("{} texts   {} tokens   tokenize {:.2f} ms   run {:.1f} ms   {:.0f} texts/s   {:.0f} tokens/s   {:.1f} % "
           "padding\n",
           done.texts, done.tokens, done.tokenizeSeconds * 1e3, done.runSeconds * 1e3,
           static_cast<double>(done.texts) / seconds, static_cast<double>(done.tokens) / seconds,
           100.0 * static_cast<double>(done.padding) /
               static_cast<double>(std::max<size_t>(done.tokens + done.padding, 1)));
  printOut("wrote {}\n", options.output);
}

static bool isPath(const std::string &model) {
  std::error_code error;
  return model.find('/') != std::string::npos || model.ends_with(".vxm") || std::filesystem::exists(model, error);
}

// Puts the path in the place of the name. False where the configuration cannot be used, which has been said.
static bool findByName(const char *name, Options &options) {
  const std::optional<serve::Configuration> configuration = readOrTell(name, options.configuration.sources());
  if (!configuration)
    return false;
  const serve::ModelRegistry registry = serve::ModelRegistry::read(*configuration);
  const serve::ModelChoice choice = registry.find(options.model);
  if (!choice.model)
    throw usageError("{}", choice.problem);
  options.model = choice.model->path;
  return true;
}

static int run(const char *name, int argc, char **argv) {
  Options options;
  if (!parseOptions(name, argc, argv, options))
    return 0;
  CommandFiles files;
  if (!options.file.empty() && options.file != "-")
    files.addInput("the file of texts", options.file);
  files.addStandardOutput();
  if (!options.output.empty())
    files.addOutput("the output", options.output, CommandFiles::Kind::RegularFileOrStream);
  checkFiles(files);
  // Before a model is compiled and loaded, which would be for nothing.
  std::optional<TextFile> texts;
  if (!options.file.empty())
    texts.emplace(options.file);
  std::error_code error;
  if (!isPath(options.model))
    if (!findByName(name, options))
      return static_cast<int>(ExitCode::Usage);
  const bool isFolder = std::filesystem::is_directory(options.model, error);
  const std::string path =
      isFolder ? compileFolder(name, options.model, options.device, options.noFallback) : options.model;
  try {
    vx::InstanceOptions instance;
    instance.device = options.device;
    instance.noFallback = options.noFallback;
    instance.threads = options.threads;
    const serve::Embedder embedder(loadModule(path, files), instance);
    if (options.device != "auto")
      tellFallback(name, options.device, embedder.instance());
    if (options.verb == "test")
      test(name, embedder, options);
    else
      batch(name, embedder, options, *texts);
  } catch (const Interrupted &interrupted) {
    interrupted.endProcess();
  } catch (const serve::Error &failure) {
    if (failure.kind() == serve::Error::Kind::data)
      throw fileError("{}: {}", path, failure.what());
    if (failure.kind() == serve::Error::Kind::io)
      throw workError("{}", failure.what());
    throw usageError("{}", failure.what());
  }
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-embed", argc, argv, run); }

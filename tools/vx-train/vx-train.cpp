// vx-train: trains a module on the data of a folder.
#include "command_line.h"
#include "compile_model.h"
#include "data_folder.h"
#include "device_fallback.h"
#include "file_checks.h"
#include "load_module.h"
#include "schedule_option.h"
#include "trained_files.h"

#include "vx/train.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <optional>

using namespace vx::tools;
namespace train = vx::train;

static constexpr const char *Examples = R"(
--data is a folder with an .npy file for each input of the training step, INPUT.npy; that of the labels may be
label.npy. Or it is a folder of images by class, DIR/CLASS/*.png, or a CSV file with the names of its columns.

Examples:
  Model:       vx-train model.onnx --loss=cross_entropy --optimizer=adamw:weight_decay=.05 --data digits/train --save trained.safetensors
               vx-train model.onnx --loss=cross_entropy --data digits/train --export trained.onnx
               vx-train model.onnx --loss=mse --freeze='encoder.*' --clip-norm 1 --emit=model.vxm --data pairs --save trained.safetensors
  Train:       vx-train model.vxm --data digits/train --epochs 20 --save trained.safetensors
               vx-train model.vxm --data digits/train --batch-size 64 --seed 7 --validation=0.1
               vx-train model.vxm --data train --validation=test --early-stop=5,1e-4 --stop-on-nan
  Images:      vx-train model.onnx --loss=cross_entropy --classes=2 --data pets --validation=0.1 --normalize=imagenet --resize=256 --save-module pets.vxm
  CSV:         vx-train model.onnx --loss=cross_entropy --data flowers.csv --label=species --epochs 50 --export flowers.onnx
  Rate:        vx-train model.vxm --data digits/train --lr 3e-3 --schedule=cosine:1e-5 --warmup 100
  Checkpoints: vx-train model.vxm --data digits/train --epochs 100 --checkpoint=run1,10
               vx-train model.vxm --data digits/train --epochs 100 --checkpoint=run1,10 --resume run1
  Export:      vx-train model.vxm --data digits/train --epochs 20 --export trained.onnx
               vx-train model.vxm --resume trained.safetensors --export trained.onnx
               vx-train model.vxm --data digits/train --export trained.onnx --export-form=training
               vx-train model.vxm --data digits/train --epochs 20 --save-module trained.vxm
  Device:      vx-train model.vxm --data digits/train --device=vulkan:0 --no-fallback
  Report:      vx-train model.vxm --summary
               vx-train model.vxm --data digits/train --history history.json
)";

namespace {

constexpr double usualRate = 1e-3;

struct Options {
  std::string module;
  std::string data;
  DataOptions dataOptions;
  uint64_t epochs = 1;
  int64_t batch = 0;
  std::string memory;
  uint64_t accumulate = 1;
  std::optional<uint64_t> seed;
  uint64_t maxSteps = 0;
  std::string validation;
  std::string earlyStop;
  bool stopOnNan = false;
  std::optional<double> rate; // the module's, or `usualRate`
  std::string schedule = "constant";
  uint64_t warmup = 0;
  std::string checkpoint;
  std::string resume;
  std::string save;
  std::string exported;
  std::string exportForm = "inference";
  std::string savedModule;
  std::string history;
  std::string device = "auto";
  bool noFallback = false;
  uint32_t threads = 0;
  bool summary = false;
  ModelOptions model;
};

// Notes go to stderr, as all messages of tools.
class Notes : public train::Callback {
public:
  explicit Notes(const char *tool) : tool(tool) {}
  void on_note(train::Session &, const std::string &note) override {
    tell(note);
    history.notes.push_back(note);
  }
  void on_epoch(train::Session &, const train::Epoch &epoch) override { history.epochs.push_back(epoch); }
  void tell(const std::string &note) const {
    std::fflush(stdout);
    printMessage("{}: note: {}\n", tool, vx::printableLine(note));
  }

  train::History history; // so far

private:
  const char *tool;
};

std::atomic<train::Session *> interruptible{nullptr};

// The first signal ends training behind its step; the next one ends the process.
void onSignal(int signal) {
  if (train::Session *session = interruptible.load())
    session->interrupt();
  std::signal(signal, SIG_DFL);
}

// What signals reach, for as long as it lives.
class Interruptible {
public:
  explicit Interruptible(train::Session &session) {
    interruptible.store(&session);
    for (size_t i = 0; i < 2; ++i)
      old[i] = std::signal(signals[i], onSignal);
  }
  ~Interruptible() {
    for (size_t i = 0; i < 2; ++i)
      std::signal(signals[i], old[i]);
    interruptible.store(nullptr);
  }

private:
  static constexpr int signals[] = {SIGINT, SIGTERM};
  void (*old[2])(int);
};

} // namespace

// The text of a group with its learning rate as a multiple of `rate`, as the compiler takes it: "fc.*:lr=0.1x". The
// compiler refuses what is no number.
static std::string groupText(const std::string &group, double rate) {
  const size_t colon = group.rfind(':');
  if (colon == std::string::npos)
    return group;
  std::string text = group.substr(0, colon);
  char separator = ':';
  for (size_t begin = colon + 1; begin <= group.size();) {
    const size_t end = std::min(group.find(',', begin), group.size());
    std::string entry = group.substr(begin, end - begin);
    double value = 0;
    if (entry.starts_with("lr=") && !entry.ends_with('x')) {
      const auto [last, error] = std::from_chars(entry.data() + 3, entry.data() + entry.size(), value);
      if (error == std::errc() && last == entry.data() + entry.size() && value >= 0) {
        if (!(rate > 0))
          throw usageError("--param-group '{}': expected --lr above 0, of which {} is a multiple, got {}", group, value,
                           rate);
        entry = fmt::format("lr={}x", value / rate);
      }
    }
    text += separator + entry;
    separator = ',';
    begin = end + 1;
  }
  return text;
}

static bool parseOptions(const char *name, int argc, char **argv, Options &options) {
  CLI::App app("Trains a module that vx-compile --train has made, or a model, which is compiled first.");
  app.add_option("module", options.module, "The module file (.vxm), or a model: ONNX, or vx text in a .mlir file");

  ModelOptions &model = options.model;
  app.add_option("--loss", model.loss, "NAME[:[OUTPUT][,KEY=VALUE...]], as vx-compile takes it")->group("Model");
  app.add_option("--optimizer", model.optimizer, "NAME[:KEY=VALUE,...], as vx-compile takes it; adamw by default")
      ->group("Model");
  std::vector<std::string> groups;
  app.add_option(
         "--param-group", groups,
         "GLOB:lr=3e-5,weight_decay=0: a learning rate, as a number or as a multiple (lr=0.1x), and a decay for "
         "parameters of these names; may be repeated")
      ->group("Model");
  app.add_option("--train", model.train, "What is trained: auto, the default, or initializers' names, with '*'")
      ->group("Model");
  app.add_option("--freeze", model.freeze, "Initializers that are not trained")->group("Model");
  app.add_option("--classes", model.classes, "A new number of classes, whose weight and bias start with random values")
      ->check(wholeNumber(1, INT32_MAX))
      ->group("Model");
  app.add_option("--init", model.init, "What is trained starts as in the file (file) or with random values (random)")
      ->group("Model");
  app.add_option("--clip-norm", model.clipNorm, "The greatest norm of all gradients together")->group("Model");
  app.add_option("--clip-value", model.clipValue,
                 "The greatest absolute value of a gradient, applied after --clip-norm")
      ->group("Model");
  app.add_option("--batch-norm", model.batchNorm, "train or frozen, as vx-compile takes it")->group("Model");
  app.add_option("--dropout", model.dropout, "train, the default, or frozen, as vx-compile takes it")->group("Model");
  app.add_option("--precision", model.precision, "Factors of contractions and convolutions: f32, tf32, f16 or bf16")
      ->check(oneOf({"f32", "tf32", "f16", "bf16"}))
      ->group("Model");
  app.add_option("--memory", options.memory,
                 "The most memory of a step beside its variables, e.g. 512M: more of it is computed twice")
      ->check(byteCount())
      ->group("Model");
  app.add_option("--emit", model.emit, "F: write the module that is made of the model")->group("Model");

  app.add_option("--data", options.data,
                 "The data to train on: a folder of .npy files, a folder of images by class (DIR/CLASS/*.png), or a "
                 "CSV file")
      ->group("Train");
  app.add_option("--label", options.dataOptions.label, "The column of a CSV file with the labels or targets")
      ->group("Data");
  app.add_option("--image-size", options.dataOptions.imageSize,
                 "Height and width of images, 224 or 224x320; those of the model by default")
      ->group("Data");
  app.add_option("--resize", options.dataOptions.resize,
                 "N: resize the shorter side of images to N pixels and cut out the centre; by default images are "
                 "resized as a whole")
      ->check(wholeNumber(1, 1 << 14))
      ->group("Data");
  app.add_option("--normalize", options.dataOptions.normalize,
                 "Samples of images: unit (0 to 1, the default), signed (-1 to 1), imagenet, or "
                 "MEAN,...:DEVIATION,... of samples from 0 to 1")
      ->group("Data");
  app.add_option("--epochs", options.epochs,
                 "Ends when so many epochs are done, those before --resume too; 1 by default")
      ->check(wholeNumber(1, 1'000'000'000))
      ->group("Train");
  app.add_option("--batch-size", options.batch, "Rows of a batch; the module's, or 32 by default")
      ->check(wholeNumber(1, INT32_MAX))
      ->group("Train");
  app.add_option("--accumulate", options.accumulate,
                 "Batches of a step, whose gradients are added up; a module for it is made with --keep-gradients")
      ->check(wholeNumber(1, INT32_MAX))
      ->group("Train");
  app.add_option("--max-steps", options.maxSteps, "Ends when so many steps are done")
      ->check(wholeNumber(1, INT64_MAX))
      ->group("Train");
  app.add_option("--seed", options.seed,
                 "Of the order of rows, of steps' random numbers, and of variables that start with random values; 0 by "
                 "default, or the checkpoint's")
      ->check(wholeNumber(0, UINT64_MAX))
      ->group("Train");
  app.add_option("--validation", options.validation,
                 "A part of the data that is not trained on, 0.1, or data as --data: evaluated after each epoch")
      ->group("Train");
  app.add_option("--early-stop", options.earlyStop,
                 "EPOCHS[,LEAST]: end when the loss has not become less by more than LEAST for so many epochs")
      ->group("Train");
  app.add_flag("--stop-on-nan", options.stopOnNan, "End, with exit code 1, when a loss is no finite number")
      ->group("Train");

  app.add_option("--lr", options.rate, "The learning rate; that of the module, or 1e-3, by default")
      ->check(numberAbove(0))
      ->group("Rate");
  app.add_option("--schedule", options.schedule,
                 "constant, cosine[:END], step:EPOCHS[,FACTOR], exponential:FACTOR or one-cycle[:PART]")
      ->group("Rate");
  app.add_option("--warmup", options.warmup, "Steps in which the rate grows to that of the schedule")
      ->check(wholeNumber(0, INT64_MAX))
      ->group("Rate");

  app.add_option("--checkpoint", options.checkpoint,
                 "DIR[,EPOCHS]: save a checkpoint every so many epochs, 1 by default, after the last one and on Ctrl-C")
      ->group("Checkpoints");
  app.add_option("--resume", options.resume,
                 "F: go on from a checkpoint, the newest whole one where F is a folder, or begin with a file's weights")
      ->group("Checkpoints");
  app.add_option("--save", options.save, "F: save a checkpoint at the end (safetensors)")->group("Checkpoints");
  app.add_option("--export", options.exported,
                 "F: write the ONNX model with what was trained at the end; without --data as --resume leaves it")
      ->group("Checkpoints");
  app.add_option("--save-module", options.savedModule,
                 "F.vxm: write the module with what was trained at the end, for all of its targets; needs no compiler")
      ->group("Checkpoints");
  app.add_option(
         "--export-form", options.exportForm,
         "inference, the default: without dropouts, batch norms with their statistics; training: as the model's "
         "file says")
      ->check(oneOf({"inference", "training"}))
      ->group("Checkpoints");

  app.add_option("--device", options.device, "auto, cpu, vulkan[:N], cuda[:N], rocm[:N] or null")->group("Device");
  app.add_flag("--no-fallback", options.noFallback, "A refused device is an error (exit 4)")->group("Device");
  app.add_option("--threads", options.threads, "CPU threads for one step; 0: one per core")
      ->check(wholeNumber(0, 1024))
      ->group("Device");

  app.add_flag("--summary", options.summary, "Print the parameters; without --data, and exit")->group("Report");
  app.add_option("--history", options.history, "F: write what each epoch gave, as JSON")->group("Report");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return false;
  if (options.module.empty())
    throw usageError("expected a module file; see --help");
  if (options.data.empty() && !options.summary && options.exported.empty() && options.savedModule.empty())
    throw usageError("expected --data DIR, --export F, --save-module F or --summary; see --help");
  if (app.count("--export-form") > 0 && options.exported.empty())
    throw usageError("--export-form: expected --export F with it, got none");
  options.dataOptions.normalizes = app.count("--normalize") > 0;
  for (const char *flag : {"--label", "--image-size", "--resize", "--normalize"})
    if (options.data.empty() && app.count(flag) > 0)
      throw usageError("{}: expected --data with it, got none", flag);
  const bool isModule = options.module.ends_with(".vxm");
  for (const char *flag :
       {"--loss", "--optimizer", "--param-group", "--train", "--freeze", "--classes", "--init", "--clip-norm",
        "--clip-value", "--batch-norm", "--dropout", "--precision", "--memory", "--emit"})
    if (isModule && app.count(flag) > 0)
      throw usageError("{} is for a model; '{}' is a module, which is compiled", flag, options.module);
  for (const auto &[flag, value] : {std::pair("--clip-norm", model.clipNorm), {"--clip-value", model.clipValue}})
    if (app.count(flag) > 0 && !(value > 0))
      throw usageError("{}: expected a number above 0, got {}", flag, value);
  if (!options.memory.empty()) {
    const uint64_t bytes = *parseByteCount(options.memory);
    if (bytes == 0 || bytes > INT64_MAX)
      throw usageError("--memory: expected a number of bytes of 1 or more, got '{}'", options.memory);
    model.memory = static_cast<int64_t>(bytes);
  }
  for (const std::string &group : groups)
    model.optimizer += ";" + groupText(group, options.rate.value_or(usualRate));
  model.batch = options.batch > 0 ? options.batch : 32; // what batches have by default
  model.device = options.device;
  model.noFallback = options.noFallback;
  model.keepGradients = options.accumulate > 1;
  return true;
}

static std::pair<std::string, uint64_t> checkpointOption(const std::string &text) {
  const size_t comma = text.rfind(',');
  uint64_t every = 1;
  if (comma != std::string::npos) {
    const char *begin = text.data() + comma + 1, *end = text.data() + text.size();
    const auto [last, error] = std::from_chars(begin, end, every);
    if (error != std::errc() || last != end || every == 0 || comma == 0)
      throw usageError("--checkpoint: expected DIR[,EPOCHS], got '{}'", text);
  }
  return {text.substr(0, comma), every};
}

// The training set and, where there is one, that of the validation.
static std::pair<train::Dataset, std::optional<train::Dataset>>
readData(const Options &options, uint64_t seed, const vx_training_info &training, CommandFiles &files) {
  train::Dataset all = openData(options.data, options.dataOptions, training, {}, files);
  if (options.validation.empty())
    return {all, std::nullopt};
  double part = 0;
  const char *begin = options.validation.data(), *end = begin + options.validation.size();
  const auto [last, error] = std::from_chars(begin, end, part);
  if (error != std::errc() || last != end)
    return {all, openData(options.validation, options.dataOptions, training, all.classes(), files)};
  if (!(part > 0 && part < 1))
    throw usageError("--validation: expected a part between 0 and 1, or data as --data, got '{}'", options.validation);
  auto [validation, rest] = all.split(part, seed);
  return {rest, validation};
}

// Which number each class has, and what else there is to know of the data.
static void tellData(const Notes &notes, const train::Dataset &data) {
  for (const std::string &note : data.notes())
    notes.tell(note);
  if (!data.description().empty())
    notes.tell(fmt::format("{} {}", data.rows(), data.description()));
  constexpr size_t mostNames = 20;
  std::string text;
  for (size_t i = 0; i < std::min(data.classes().size(), mostNames); ++i)
    text += fmt::format("{}{} '{}'", i ? ", " : "", i, data.classes()[i]);
  if (data.classes().size() > mostNames)
    text += fmt::format(" and {} more", data.classes().size() - mostNames);
  if (!text.empty())
    notes.tell("classes: " + text);
}

static train::History historySoFar(const Notes &notes, const vx_training_info &training, const train::FitOptions &fit,
                                   const train::Session &session, const train::Dataset &data) {
  train::History history = notes.history;
  history.optimizer = training.optimizer;
  history.loss = training.loss;
  history.schedule = fit.schedule->text();
  history.seed = session.progress().seed;
  history.data = data.description();
  history.classes = data.classes();
  return history;
}

static train::ExportForm formOf(const Options &options) {
  return options.exportForm == "training" ? train::ExportForm::training : train::ExportForm::inference;
}

// All that was asked for, whatever of it fails. Gives what failed, and where it is instead.
static std::string writeTrained(const Options &options, const std::string &folder, const train::Session &session,
                                train::History &history, bool hasFailed, bool isInterrupted) {
  TrainedFiles files(folder);
  std::vector<std::string> checkpoints;
  // Training that has not failed has saved it.
  if (hasFailed && !folder.empty())
    checkpoints.push_back(train::checkpoint_path(folder, session.progress().step));
  const bool isWanted = hasFailed || !isInterrupted || folder.empty();
  if (!options.save.empty() && isWanted)
    checkpoints.push_back(options.save);
  files.write("the checkpoint, from which --resume goes on,", checkpoints,
              [&](const std::string &path) { session.save(path); });
  if (!options.exported.empty() && isWanted)
    files.write("the exported model", std::span(&options.exported, 1),
                [&](const std::string &path) { session.export_onnx(path, formOf(options)); });
  if (!options.savedModule.empty() && isWanted)
    files.write("the module", std::span(&options.savedModule, 1),
                [&](const std::string &path) { session.save_module(path); });
  if (!options.history.empty())
    files.write("the history", std::span(&options.history, 1), [&](const std::string &path) { history.save(path); });
  return files.problems();
}

static int trainModule(const char *name, const Options &options, train::Session &session, CommandFiles &files) {
  const vx_training_info &training = *session.get_module().training();
  train::FitOptions fit;
  const double usual = training.rate > 0 ? training.rate : usualRate;
  fit.schedule = scheduleOption(options.schedule, options.rate.value_or(usual), options.warmup);
  fit.epochs = options.epochs;
  fit.batch = options.batch;
  fit.accumulate = options.accumulate;
  fit.seed = options.seed;
  fit.max_steps = options.maxSteps;
  fit.stop_on_nan = options.stopOnNan;
  const auto notes = std::make_shared<Notes>(name);
  fit.callbacks = {train::progress(), train::log(stdout, false), notes};
  if (!options.earlyStop.empty()) {
    const std::vector<double> given = numbersOption("--early-stop", options.earlyStop, 1, 2, "EPOCHS[,LEAST]");
    if (given[0] < 1 || given[0] > 1e9 || given[0] != static_cast<double>(static_cast<uint64_t>(given[0])))
      throw usageError("--early-stop: expected a whole number of epochs of 1 or more, got '{}'", options.earlyStop);
    fit.callbacks.push_back(train::early_stopping(static_cast<uint64_t>(given[0]), given.size() > 1 ? given[1] : 0));
  }
  std::string folder;
  if (!options.checkpoint.empty()) {
    const auto [path, every] = checkpointOption(options.checkpoint);
    folder = path;
    fit.callbacks.push_back(train::checkpoint(every, folder));
  } else if (options.save.empty() && options.exported.empty() && options.savedModule.empty()) {
    notes->tell("what is trained is not kept: there is no --save, no --save-module, no --export and no --checkpoint");
  }

  if (!options.resume.empty())
    for (const std::string &note : session.load(options.resume))
      notes->tell(note);
  // Training that goes on leaves out the same rows.
  const uint64_t seed = options.seed.value_or(session.progress().seed);
  const auto [data, validation] = readData(options, seed, training, files);
  checkFiles(files);
  tellData(*notes, data);
  fit.validation = validation ? &*validation : nullptr;

  train::History history;
  std::string failure;
  const uint64_t firstStep = session.progress().step;
  try {
    const Interruptible reached(session);
    history = session.fit(data, fit);
  } catch (const std::exception &error) {
    if (session.progress().step == firstStep)
      throw;
    failure = error.what(); // of a step or a checkpoint: what the steps before it have trained is kept
    history = historySoFar(*notes, training, fit, session, data);
  }
  const bool isInterrupted = history.stopped == "interrupted";
  const std::string written = writeTrained(options, folder, session, history, !failure.empty(), isInterrupted);
  const uint64_t step = session.progress().step;
  if (!failure.empty())
    throw workError("training ended after step {}: {}{}", step, failure, written.empty() ? "" : "; " + written);
  if (!written.empty())
    throw workError("{}{}", isInterrupted ? fmt::format("interrupted after step {}; ", step) : "", written);
  if (isInterrupted && !folder.empty())
    throw workError("interrupted after step {}; go on with --resume {}", step, folder);
  if (isInterrupted && !options.save.empty())
    throw workError("interrupted after step {}; go on with --resume {}", step, options.save);
  if (const std::string &kept = options.exported.empty() ? options.savedModule : options.exported;
      isInterrupted && !kept.empty())
    throw workError("interrupted after step {}; '{}' has what was trained, but there is no --save and no --checkpoint "
                    "to go on from",
                    step, kept);
  if (isInterrupted)
    throw workError("interrupted after step {}; nothing is saved: there is no --save and no --checkpoint", step);
  if (options.stopOnNan && history.stopped.find("the loss is ") != std::string::npos)
    throw workError("{}", history.stopped);
  if (!history.stopped.empty())
    notes->tell("stopped: " + history.stopped);
  return 0;
}

// What a checkpoint or the module itself holds, as an ONNX model.
static int exportModel(const char *name, const Options &options, train::Session &session, const CommandFiles &files) {
  checkFiles(files);
  const Notes notes(name);
  if (!options.resume.empty())
    for (const std::string &note : session.load(options.resume))
      notes.tell(note);
  if (!options.exported.empty())
    session.export_onnx(options.exported, formOf(options));
  if (!options.savedModule.empty())
    session.save_module(options.savedModule);
  return 0;
}

// The kit's errors as this tool's.
template <typename F>
static auto asToolErrors(ExitCode ofArguments, F &&body) {
  try {
    return body();
  } catch (const train::Error &error) {
    const ExitCode code = error.kind() == train::Error::Kind::argument ? ofArguments
                          : error.kind() == train::Error::Kind::data   ? ExitCode::BadInput
                                                                       : ExitCode::Failed;
    throw ToolError(code, error.what());
  }
}

static int run(const char *name, int argc, char **argv) {
  Options options;
  if (!parseOptions(name, argc, argv, options))
    return 0;
  CommandFiles files;
  std::error_code ignored;
  if (!options.resume.empty() && !std::filesystem::is_directory(options.resume, ignored))
    files.addInput("the checkpoint to resume from", options.resume);
  if (!options.save.empty())
    files.addOutput("the checkpoint", options.save);
  if (!options.exported.empty()) {
    files.addOutput("the exported model", options.exported);
    files.addOutput("the exported model's weights,", options.exported + ".data"); // where the module wants them there
  }
  if (!options.savedModule.empty())
    files.addOutput("the module with what was trained", options.savedModule);
  if (!options.history.empty())
    files.addOutput("the history", options.history);
  files.addStandardOutput();
  CompiledModel compiled;
  vx::Module module;
  if (options.module.ends_with(".vxm")) {
    module = loadModule(options.module, files);
  } else {
    files.addInput("the model", options.module);
    if (!options.model.emit.empty())
      files.addOutput("the module", options.model.emit);
    checkFiles(files);
    compiled = compileModel(name, options.module, options.model);
    module = compiled.module;
  }

  vx::InstanceOptions instanceOptions;
  instanceOptions.device = options.device;
  instanceOptions.noFallback = options.noFallback;
  instanceOptions.threads = options.threads;
  instanceOptions.seed = options.seed.value_or(0);
  const auto session =
      asToolErrors(ExitCode::BadInput, [&] { return std::make_unique<train::Session>(module, instanceOptions); });
  if (options.device != "auto")
    tellFallback(name, options.device, session->get_instance());
  if (options.summary)
    printText(session->summary());
  // Before training, which would be for nothing.
  if (!options.exported.empty() && !session->exports_onnx())
    throw usageError("--export: '{}' has no ONNX model to export: use one that vx-compile --train has made of an ONNX "
                     "file, without --export=none, or such a file",
                     options.module);
  if (options.data.empty() && options.exported.empty() && options.savedModule.empty())
    return 0;
  return asToolErrors(ExitCode::Usage, [&] {
    return options.data.empty() ? exportModel(name, options, *session, files)
                                : trainModule(name, options, *session, files);
  });
}

int main(int argc, char **argv) { return runTool("vx-train", argc, argv, run); }

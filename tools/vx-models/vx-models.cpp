// vx-models: which models there are, and why others are none; and models of a hub.
#include "command_line.h"
#include "language_model.h"
#include "load_module.h"
#include "model_registry.h"
#include "pull.h"
#include "tool_configuration.h"

#include "vx/base/json_text.h"
#include "vx/base/partial_file.h"
#include "vx/serve/error.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace vx::tools;
using vx::serve::ModelKind;
using vx::serve::ModelRegistry;
using vx::serve::RegisteredModel;
using Json = nlohmann::ordered_json;

static constexpr const char *Examples = R"(
scan [DIR] looks through a folder, the configuration's model_dir by default, and tells of GGUF files too, which no server serves yet. With --write it writes registry.json there: sizes
and hashes of all files, and the inputs and outputs of modules. A server then warns of files that differ. list has what a server would serve, with the models that the configuration
names; show NAME tells of one.

pull hf:ORG/NAME[:FILE] gets a model of a hub into ORG/NAME of the model folder: the .onnx file with its configuration and tokenizer, or FILE. The hub is https://huggingface.co or
VX_HUB_URL, HF_TOKEN the token for it. Files are checked by size and hash; one that was cut off is gone on with.

Examples:
  Show:           vx-models scan ~/models
                  vx-models list --json
                  vx-models show minilm
  Registry:       vx-models scan ~/models --write
  Pull:           vx-models pull hf:sentence-transformers/all-MiniLM-L6-v2
                  vx-models pull hf:org/name:model.gguf --model-dir models --revision v1.0
                  vx-models pull hf:org/name --offline
  Configuration:  vx-models list --config config.toml
                  vx-models show digits --model-dir models
)";

static Json describe(const RegisteredModel &model) {
  const auto orNull = [](const std::string &text) { return text.empty() ? Json() : Json(text); };
  Json json = {{"name", model.name},   {"aliases", model.aliases},        {"kind", modelKindName(model.kind)},
               {"path", model.path},   {"onnx", orNull(model.onnx)},      {"tokenizer", orNull(model.tokenizer)},
               {"bytes", model.bytes}, {"refused", orNull(model.refusal)}};
  json["device"] = model.configuration ? Json(model.configuration->device->device) : Json();
  return json;
}

static std::string filesText(const RegisteredModel &model) {
  if (model.kind != ModelKind::folder)
    return "";
  return model.tokenizer.empty() ? "  " + model.onnx : fmt::format("  {}, {}", model.onnx, model.tokenizer);
}

static std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The models of a registry, for `scan` without GGUF files, which it lists by themselves.
static std::vector<RegisteredModel> listedModels(const ModelRegistry &registry, bool isScan) {
  std::vector<RegisteredModel> models(registry.models().begin(), registry.models().end());
  if (isScan)
    std::erase_if(models, [](const RegisteredModel &model) { return model.path.ends_with(".gguf"); });
  return models;
}

static void printModels(const ModelRegistry &registry, const std::vector<RegisteredModel> &models) {
  size_t refused = 0, width = 0;
  for (const RegisteredModel &model : models) {
    refused += !model.isUsable();
    width = std::max(width, model.name.size());
  }
  if (registry.refusal().empty())
    printOut("{}: {} found, {} refused\n", registry.folder(), models.size(), refused);
  for (const RegisteredModel &model : models) {
    if (model.isUsable())
      printOut("  {:<{}}  {:<6} {:>10}{}{}\n", model.name, width, modelKindName(model.kind),
               vx::roundedByteCount(model.bytes), filesText(model),
               model.aliases.empty() ? "" : "  also " + join(model.aliases));
    else
      printOut("  {:<{}}  refused: {}\n", model.name, width, model.refusal);
  }
}

// A language model's file in a folder, or the reason why it is none.
struct LanguageModelFile {
  std::string name, refusal;
  std::optional<LanguageModelFacts> facts;
};

// The GGUF files of a folder, of a split model the first one only, in order of their names.
static std::vector<LanguageModelFile> findLanguageModels(const std::string &folder) {
  std::vector<LanguageModelFile> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const size_t of = name.rfind("-of-");
    const bool isLaterPart = of != name.npos && of >= 6 && name[of - 6] == '-' && name.substr(of - 5, 5) != "00001" &&
                             name.find_first_not_of("0123456789", of - 5) == of;
    if (name.ends_with(".gguf") && !isLaterPart)
      files.push_back({name, {}, {}});
  }
  std::ranges::sort(files, {}, &LanguageModelFile::name);
  for (LanguageModelFile &file : files) {
    const std::string path = (std::filesystem::path(folder) / file.name).string();
    try {
      file.facts = readFacts(openGguf(path), path);
    } catch (const ToolError &reason) {
      file.refusal = reason.what();
    }
  }
  return files;
}

static void printLanguageModels(const std::vector<LanguageModelFile> &files) {
  for (const LanguageModelFile &file : files)
    if (file.facts)
      printOut("  {}  gguf {} {:>10}  {}  context {}\n", file.name, file.facts->architecture,
               vx::roundedByteCount(file.facts->bytes), typesText(*file.facts),
               file.facts->context ? std::to_string(*file.facts->context) : "?");
    else
      printOut("  {}  refused: {}\n", file.name, file.refusal);
}

static void show(const RegisteredModel &model, bool asJson) {
  Json json = {{"version", 1}};
  json.update(describe(model));
  if (asJson)
    return printText(vx::jsonText(json, 2) + "\n");
  printOut("{}: {}, {}\n", model.name, modelKindName(model.kind), vx::roundedByteCount(model.bytes));
  for (const char *key : {"path", "onnx", "tokenizer", "device", "refused"})
    if (json[key].is_string())
      printOut("  {:<9} {}\n", key, json[key].get<std::string>());
  if (!model.aliases.empty())
    printOut("  {:<9} {}\n", "aliases", join(model.aliases));
  if (model.kind != ModelKind::module || !model.isUsable())
    return;
  const vx::Module module = loadModule(model.path);
  for (const vx_function_info &function : module.functions())
    printOut("  {:<9} {}\n", "function", function.name);
  printOut("vx-info tells more of it\n");
}

// Writes the folder's registry.json. The path of the file.
static std::string writeRegistry(const char *name, const ModelRegistry &registry) {
  std::vector<vx::serve::ModelPlace> models;
  for (const RegisteredModel &model : registry.models())
    if (model.isUsable())
      models.push_back(model);
  std::vector<std::string> notes;
  std::string text;
  try {
    text = vx::jsonText(describeRegistry(registry.folder(), models, notes), 1) + "\n";
  } catch (const vx::serve::Error &error) {
    throw workError("{}", error.what());
  }
  for (const std::string &note : notes)
    printMessage("{}: warning: {}\n", name, note);
  const std::string path = (std::filesystem::path(registry.folder()) / vx::serve::RegistryFileName).string();
  vx::PartialFile file;
  int number = file.open(path);
  number = number ? number : file.write(text.data(), text.size());
  if (number != 0)
    throw workError("cannot write '{}': {}", path, std::strerror(number));
  if (std::string error; !file.commit(error))
    throw workError("{}", error);
  return path;
}

static void pullAndTell(const char *name, const PullOptions &options, bool asJson) {
  const PulledModel model = pull(options, [&](const HubFile &file) {
    if (!asJson)
      printMessage("{}: {}  {}\n", name, file.path, file.size ? vx::roundedByteCount(*file.size) : "size unknown");
  });
  if (!asJson)
    return printOut("{} at {}: {} file{}, {}, {} fetched\nwrote {}\n", model.name, model.commit, model.files.size(),
                    model.files.size() == 1 ? "" : "s", vx::roundedByteCount(model.bytes()), model.fetched,
                    model.folder);
  Json files = Json::array();
  for (const HubFile &file : model.files)
    files.push_back({{"path", file.path}, {"bytes", file.size.value_or(0)}, {"hash", file.hash}});
  const Json document = {{"version", 1},           {"name", model.name},       {"commit", model.commit},
                         {"folder", model.folder}, {"fetched", model.fetched}, {"files", files}};
  printText(vx::jsonText(document, 2) + "\n");
}

static int run(const char *name, int argc, char **argv) {
  std::string command, what;
  bool json = false, writes = false;
  PullOptions pulling;
  ConfigurationOptions options;
  CLI::App app("Lists models: of a folder, and of a server's configuration.");
  app.add_option("command", command, "scan, list, show or pull");
  app.add_option("what", what, "The folder to scan, the model to show, or hf:ORG/NAME[:FILE] to pull");
  app.add_flag("--write", writes, "scan: write registry.json of the folder")->group("Registry");
  const CLI::Option *revision =
      app.add_option("--revision", pulling.revision, "pull: a branch, a tag or a commit; main by default")
          ->group("Pull");
  app.add_flag("--offline", pulling.isOffline, "pull: ask nobody, only check the files that are there")->group("Pull");
  app.add_flag("--json", json, "As one JSON document")->group("Show");
  options.addTo(app, {"--model-dir"});
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  const std::vector<std::string> commands = {"scan", "list", "show", "pull"};
  if (command.empty())
    throw usageError("expected scan, list, show or pull; see --help");
  if (std::find(commands.begin(), commands.end(), command) == commands.end())
    throw usageError("expected scan, list, show or pull, got '{}'{}", command, vx::didYouMean(command, commands));
  if (command == "show" && what.empty())
    throw usageError("show: expected the name of a model");
  if (command == "pull" && what.empty())
    throw usageError("pull: expected hf:ORG/NAME or hf:ORG/NAME:FILE");
  if (command != "scan" && writes)
    throw usageError("--write: expected scan, got {}", command);
  if (command != "pull" && (pulling.isOffline || revision->count() > 0))
    throw usageError("--{}: expected pull, got {}", pulling.isOffline ? "offline" : "revision", command);
  if (command == "list" && !what.empty())
    throw usageError("unexpected argument '{}'; see --help", what);

  const std::optional<vx::serve::Configuration> configuration = readOrTell(name, options.sources());
  if (!configuration)
    return static_cast<int>(ExitCode::Usage);
  if (command == "pull") {
    pulling.address = what;
    pulling.folder = *configuration->modelDir;
    pullAndTell(name, pulling, json);
    return 0;
  }
  const ModelRegistry registry = command != "scan"
                                     ? ModelRegistry::read(*configuration)
                                     : ModelRegistry::read(what.empty() ? *configuration->modelDir : what);
  if (command == "show") {
    const vx::serve::ModelChoice choice = registry.find(what);
    if (!choice.model)
      throw usageError("{}", choice.problem);
    show(*choice.model, json);
    return 0;
  }
  // Without the folder there may still be what the configuration lists.
  if (!registry.refusal().empty() && (command == "scan" || registry.models().empty()))
    throw fileError("{}", registry.refusal());
  const std::string written = writes ? writeRegistry(name, registry) : "";
  if (command == "scan" && !writes)
    for (const std::string &line : registry.compareFiles())
      printMessage("{}: warning: {}\n", name, line);
  const std::vector<LanguageModelFile> languageModels =
      command == "scan" ? findLanguageModels(registry.folder()) : std::vector<LanguageModelFile>();
  const std::vector<RegisteredModel> models = listedModels(registry, command == "scan");
  if (!json) {
    printModels(registry, models);
    printLanguageModels(languageModels);
    if (!written.empty())
      printOut("wrote {}\n", written);
    return 0;
  }
  Json document = {{"version", 1},
                   {"folder", registry.folder()},
                   {"refused", registry.refusal().empty() ? Json() : Json(registry.refusal())},
                   {"models", Json::array()}};
  for (const RegisteredModel &model : models)
    document["models"].push_back(describe(model));
  if (command == "scan") {
    document["language_models"] = Json::array();
    for (const LanguageModelFile &file : languageModels) {
      Json described = {{"file", file.name}, {"refused", file.facts ? Json() : Json(file.refusal)}};
      if (file.facts)
        described.update(describeFacts(*file.facts));
      document["language_models"].push_back(std::move(described));
    }
  }
  printText(vx::jsonText(document, 2) + "\n");
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-models", argc, argv, run); }

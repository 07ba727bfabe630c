// vx-models: which models there are, and why others are none.
#include "command_line.h"
#include "language_model.h"
#include "load_module.h"
#include "model_registry.h"
#include "tool_configuration.h"

#include "vx/base/json_text.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

using namespace vx::tools;
using vx::serve::ModelKind;
using vx::serve::ModelRegistry;
using vx::serve::RegisteredModel;
using Json = nlohmann::ordered_json;

static constexpr const char *Examples = R"(
scan [DIR] looks through a folder, the configuration's model_dir by default, and tells of GGUF files too, which no server serves yet; list has what a server would serve, with the models that
the configuration names; show NAME tells of one.

Examples:
  Show:           vx-models scan ~/models
                  vx-models list --json
                  vx-models show minilm
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

static int run(const char *name, int argc, char **argv) {
  std::string command, what;
  bool json = false;
  ConfigurationOptions options;
  CLI::App app("Lists models: of a folder, and of a server's configuration.");
  app.add_option("command", command, "scan, list or show");
  app.add_option("what", what, "The folder to scan, or the model to show");
  app.add_flag("--json", json, "As one JSON document")->group("Show");
  options.addTo(app, {"--model-dir"});
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  const std::vector<std::string> commands = {"scan", "list", "show"};
  if (command.empty())
    throw usageError("expected scan, list or show; see --help");
  if (std::find(commands.begin(), commands.end(), command) == commands.end())
    throw usageError("expected scan, list or show, got '{}'{}", command, vx::didYouMean(command, commands));
  if (command == "show" && what.empty())
    throw usageError("show: expected the name of a model");
  if (command == "list" && !what.empty())
    throw usageError("unexpected argument '{}'; see --help", what);

  const std::optional<vx::serve::Configuration> configuration = readOrTell(name, options.sources());
  if (!configuration)
    return static_cast<int>(ExitCode::Usage);
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
  const std::vector<LanguageModelFile> languageModels =
      command == "scan" ? findLanguageModels(registry.folder()) : std::vector<LanguageModelFile>();
  const std::vector<RegisteredModel> models = listedModels(registry, command == "scan");
  if (!json) {
    printModels(registry, models);
    printLanguageModels(languageModels);
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

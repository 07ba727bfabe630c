// vx-models: which models there are, and why others are none.
#include "command_line.h"
#include "load_module.h"
#include "model_registry.h"
#include "tool_configuration.h"

#include "vx/base/json_text.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace vx::tools;
using vx::serve::ModelKind;
using vx::serve::ModelRegistry;
using vx::serve::RegisteredModel;
using Json = nlohmann::ordered_json;

static constexpr const char *Examples = R"(
scan [DIR] looks through a folder, the configuration's model_dir by default; list has what a server would serve, with the models that
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

static void printModels(const ModelRegistry &registry) {
  size_t refused = 0, width = 0;
  for (const RegisteredModel &model : registry.models()) {
    refused += !model.isUsable();
    width = std::max(width, model.name.size());
  }
  if (registry.refusal().empty())
    printOut("{}: {} found, {} refused\n", registry.folder(), registry.models().size(), refused);
  for (const RegisteredModel &model : registry.models()) {
    if (model.isUsable())
      printOut("  {:<{}}  {:<6} {:>10}{}{}\n", model.name, width, modelKindName(model.kind),
               vx::roundedByteCount(model.bytes), filesText(model),
               model.aliases.empty() ? "" : "  also " + join(model.aliases));
    else
      printOut("  {:<{}}  refused: {}\n", model.name, width, model.refusal);
  }
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
  if (!json) {
    printModels(registry);
    return 0;
  }
  Json document = {{"version", 1},
                   {"folder", registry.folder()},
                   {"refused", registry.refusal().empty() ? Json() : Json(registry.refusal())},
                   {"models", Json::array()}};
  for (const RegisteredModel &model : registry.models())
    document["models"].push_back(describe(model));
  printText(vx::jsonText(document, 2) + "\n");
  return 0;
}

int main(int argc, char **argv) { return runTool("vx-models", argc, argv, run); }

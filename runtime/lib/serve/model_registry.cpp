#include "model_registry.h"

#include "model_names.h"

#include "vx/base/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>

namespace vx::serve {

ModelRegistry ModelRegistry::read(const std::string &folder) {
  ModelRegistry registry;
  registry.addFolder(folder);
  registry.refuseDuplicates();
  return registry;
}

ModelRegistry ModelRegistry::read(const Configuration &configuration) {
  ModelRegistry registry;
  const auto hasPath = [](const ModelConfiguration &model) { return !model.path->empty(); };
  const bool needsFolder =
      !configuration.onlyModels || !std::all_of(configuration.models.begin(), configuration.models.end(), hasPath);
  if (!needsFolder)
    ; // nothing is looked for in it
  else if (!configuration.modelDir->empty())
    registry.addFolder(*configuration.modelDir);
  else
    registry.folderRefusal = "expected 'model_dir', because HOME is not set";
  registry.refuseDuplicates();
  for (const ModelConfiguration &model : configuration.models)
    registry.addConfigured(model);
  if (configuration.onlyModels)
    std::erase_if(registry.all, [](const RegisteredModel &model) { return !model.configuration; });
  return registry;
}

void ModelRegistry::addFolder(const std::string &path) {
  folderPath = path;
  inFolder = findModels(path, folderRefusal, folderWarning);
  for (const ModelPlace &place : inFolder) {
    RegisteredModel &model = all.emplace_back();
    static_cast<ModelPlace &>(model) = place;
  }
  if (folderRefusal.empty())
    registryFile = readRegistryFile(path);
}

// A model that was compiled stands beside its file: of several with one name the module counts, then the folder.
void ModelRegistry::refuseDuplicates() {
  const auto rank = [](const RegisteredModel &model) {
    constexpr std::array order = {ModelKind::module, ModelKind::folder, ModelKind::onnx};
    return std::pair(!model.isUsable(), std::find(order.begin(), order.end(), model.kind) - order.begin());
  };
  std::sort(all.begin(), all.end(), [&](const RegisteredModel &a, const RegisteredModel &b) {
    return std::tuple(a.name, rank(a), a.path) < std::tuple(b.name, rank(b), b.path);
  });
  for (size_t i = 1, first = 0; i < all.size(); ++i) {
    if (all[i].name != all[first].name)
      first = i;
    else if (all[i].isUsable())
      all[i].refusal = fmt::format("'{}' has this name too, and is taken", all[first].path);
  }
}

void ModelRegistry::addConfigured(const ModelConfiguration &given) {
  const auto configuration = std::make_shared<const ModelConfiguration>(given);
  RegisteredModel model;
  if (!given.path->empty()) {
    static_cast<ModelPlace &>(model) = lookAtModel(*given.path);
    // It takes the place of one in the folder.
    std::erase_if(all, [&](const RegisteredModel &other) { return other.name == *given.name; });
  } else {
    const ModelChoice choice = find(*given.name);
    if (choice.model) {
      model = *choice.model;
      std::erase_if(all, [&](const RegisteredModel &other) { return other.name == model.name; });
      if (model.name != *given.name)
        model.aliases.push_back(model.name);
    } else {
      model.refusal = choice.problem;
      std::error_code error;
      if (given.name.origin.kind != Origin::Kind::file && std::filesystem::exists(*given.name, error))
        model.refusal += fmt::format("; for '{}' of the current folder, expected ./{}", *given.name, *given.name);
    }
  }
  model.name = *given.name;
  model.aliases.insert(model.aliases.end(), given.alias->begin(), given.alias->end());
  model.configuration = configuration;
  const auto place =
      std::upper_bound(all.begin(), all.end(), model,
                       [](const RegisteredModel &a, const RegisteredModel &b) { return a.name < b.name; });
  all.insert(place, std::move(model));
}

std::vector<ConfigurationMessage> ModelRegistry::warnings(const Configuration &configuration) const {
  std::vector<ConfigurationMessage> messages;
  const auto say = [&](const Origin &origin, const std::string &text) {
    if (!text.empty())
      messages.push_back({ConfigurationMessage::Kind::warning, origin, printableLine(text)});
  };
  say(configuration.modelDir.origin, folderWarning);
  for (const std::string &line : compareFiles())
    say(configuration.modelDir.origin, line);
  for (const RegisteredModel &model : all)
    if (model.isUsable())
      say(model.configuration && !model.configuration->path->empty() ? model.configuration->path.origin
                                                                     : configuration.modelDir.origin,
          model.warning);
  return messages;
}

// Models of the folder that are not served are not read.
std::vector<std::string> ModelRegistry::compareFiles() const {
  RegistryFile served = registryFile;
  std::erase_if(served.models, [&](const RegistryFile::Model &model) {
    const auto place =
        std::find_if(inFolder.begin(), inFolder.end(), [&](const ModelPlace &one) { return one.name == model.name; });
    return place != inFolder.end() && std::none_of(all.begin(), all.end(), [&](const RegisteredModel &one) {
             return one.path == place->path && one.isUsable();
           });
  });
  return compareWithRegistry(folderPath, served, inFolder);
}

std::vector<ConfigurationMessage> ModelRegistry::missing(const Configuration &configuration,
                                                         const Present &present) const {
  std::vector<ConfigurationMessage> messages;
  const auto say = [&](const Origin &origin, const std::string &text) {
    messages.push_back({ConfigurationMessage::Kind::error, origin, printableLine(text)});
  };
  if (!folderRefusal.empty() && configuration.modelDir.isGiven() && folderPath != present.folder)
    say(configuration.modelDir.origin, folderRefusal);
  for (const RegisteredModel &model : all) {
    if (!model.configuration || model.isUsable() ||
        std::find(present.models.begin(), present.models.end(), model.name) != present.models.end())
      continue;
    const Setting<std::string> &path = model.configuration->path;
    const std::string text = model.path.empty() || model.refusal.find(model.path) != std::string::npos
                                 ? model.refusal
                                 : fmt::format("'{}': {}", model.path, model.refusal);
    say(path->empty() ? model.configuration->name.origin : path.origin, text);
  }
  return messages;
}

ModelChoice ModelRegistry::find(std::string_view name) const {
  static constexpr size_t mostShown = 10;
  std::vector<ModelNames> names;
  std::vector<std::string> usable;
  for (const RegisteredModel &model : all) {
    names.push_back({model.name, model.aliases});
    if (model.isUsable())
      usable.push_back(model.name);
  }
  NameChoice chosen = chooseModel(names, name);
  if (chosen.index)
    return {&all[*chosen.index], false, ""};
  ModelChoice choice{nullptr, chosen.isAmbiguous(), std::move(chosen.problem)};
  if (choice.isAmbiguous || choice.problem.find(", did you mean") != std::string::npos)
    return choice;
  const size_t count = usable.size();
  usable.resize(std::min(count, mostShown));
  if (count == 0)
    choice.problem += folderRefusal.empty() ? ", there are none" : ": " + folderRefusal;
  else
    choice.problem += fmt::format(", there are {}{}", fmt::join(usable, ", "), count > mostShown ? ", ..." : "");
  return choice;
}

} // namespace vx::serve

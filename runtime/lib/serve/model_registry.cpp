#include "model_registry.h"

#include "vx/base/names.h"
#include "vx/base/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace vx::serve {
namespace {

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char &letter : lower)
    if (letter >= 'A' && letter <= 'Z')
      letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

std::string_view shortName(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

// Whether one of the words of `name` begins with `text`; both in small letters.
bool hasWord(std::string_view name, std::string_view text) {
  for (size_t at = name.find(text); at != std::string_view::npos; at = name.find(text, at + 1))
    if (at == 0 || std::string_view("-_./ ").find(name[at - 1]) != std::string_view::npos)
      return true;
  return false;
}

// How well a name fits, the best is 0; `levels`: not at all.
constexpr size_t levels = 5;
size_t levelOf(std::string_view name, std::string_view lower, const std::string &wanted,
               const std::string &wantedLower) {
  if (name == wanted)
    return 0;
  if (shortName(name) == wanted)
    return 1;
  if (lower == wantedLower)
    return 2;
  if (shortName(lower) == wantedLower)
    return 3;
  return hasWord(shortName(lower), wantedLower) ? 4 : levels;
}

} // namespace

ModelRegistry ModelRegistry::read(const std::string &folder) {
  ModelRegistry registry;
  registry.addFolder(folder);
  registry.refuseDuplicates();
  return registry;
}

ModelRegistry ModelRegistry::read(const Configuration &configuration) {
  ModelRegistry registry;
  if (!configuration.modelDir->empty())
    registry.addFolder(*configuration.modelDir);
  else
    registry.folderRefusal = "want 'model_dir', there is no HOME to look in";
  registry.refuseDuplicates();
  for (const ModelConfiguration &model : configuration.models)
    registry.addConfigured(model);
  if (configuration.onlyModels)
    std::erase_if(registry.all, [](const RegisteredModel &model) { return !model.configuration; });
  return registry;
}

void ModelRegistry::addFolder(const std::string &path) {
  folderPath = path;
  for (ModelPlace &place : findModels(path, folderRefusal)) {
    RegisteredModel &model = all.emplace_back();
    static_cast<ModelPlace &>(model) = std::move(place);
  }
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

std::vector<const RegisteredModel *> ModelRegistry::meant(std::string_view name) const {
  const std::string wanted(name), lower = lowerCase(name);
  std::array<std::vector<const RegisteredModel *>, levels> found;
  for (const RegisteredModel &model : all) {
    size_t best = levelOf(model.name, lowerCase(model.name), wanted, lower);
    for (const std::string &alias : model.aliases)
      best = std::min(best, levelOf(alias, lowerCase(alias), wanted, lower));
    if (best < levels)
      found[best].push_back(&model);
  }
  for (std::vector<const RegisteredModel *> &models : found) {
    // Of those with one name all but one are refused as duplicates.
    std::vector<const RegisteredModel *> distinct;
    for (const RegisteredModel *model : models)
      if (distinct.empty() || distinct.back()->name != model->name)
        distinct.push_back(model);
    if (!distinct.empty())
      return distinct;
  }
  return {};
}

ModelChoice ModelRegistry::find(std::string_view name) const {
  static constexpr size_t longest = 200, mostShown = 10;
  ModelChoice choice;
  const std::vector<const RegisteredModel *> models =
      name.empty() || name.size() > longest ? std::vector<const RegisteredModel *>() : meant(name);
  if (models.size() == 1) {
    choice.model = models.front();
    return choice;
  }
  std::vector<std::string> names;
  if (models.size() > 1) {
    choice.isAmbiguous = true;
    for (const RegisteredModel *model : models)
      names.push_back(model->name);
    choice.problem = fmt::format("model '{}' is ambiguous: {}", printableLine(name), fmt::join(names, ", "));
    return choice;
  }
  for (const RegisteredModel &model : all) {
    names.push_back(model.name);
    names.emplace_back(shortName(model.name));
    names.insert(names.end(), model.aliases.begin(), model.aliases.end());
  }
  choice.problem = fmt::format("there is no model '{}'", printableLine(name.substr(0, longest)));
  if (const std::string near = didYouMean(name, names); !near.empty()) {
    choice.problem += near;
    return choice;
  }
  names.clear();
  for (const RegisteredModel &model : all)
    if (model.isUsable())
      names.push_back(model.name);
  const size_t count = names.size();
  names.resize(std::min(count, mostShown));
  if (count == 0)
    choice.problem += folderRefusal.empty() ? ", there are none" : ": " + folderRefusal;
  else
    choice.problem += fmt::format(", there are {}{}", fmt::join(names, ", "), count > mostShown ? ", ..." : "");
  return choice;
}

} // namespace vx::serve

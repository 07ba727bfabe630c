#include "model_names.h"

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

NameChoice chooseModel(const std::vector<ModelNames> &models, std::string_view name) {
  static constexpr size_t longest = 200;
  std::array<std::vector<size_t>, levels> found;
  if (!name.empty() && name.size() <= longest) {
    const std::string wanted(name), lower = lowerCase(name);
    for (size_t i = 0; i < models.size(); ++i) {
      size_t best = levelOf(models[i].name, lowerCase(models[i].name), wanted, lower);
      for (const std::string &alias : models[i].aliases)
        best = std::min(best, levelOf(alias, lowerCase(alias), wanted, lower));
      if (best < levels)
        found[best].push_back(i);
    }
  }
  NameChoice choice;
  for (const std::vector<size_t> &fitting : found) {
    if (fitting.empty())
      continue;
    const auto isOfFirst = [&](size_t i) { return models[i].name == models[fitting.front()].name; };
    if (std::all_of(fitting.begin(), fitting.end(), isOfFirst)) {
      choice.index = fitting.front();
      return choice;
    }
    for (size_t i : fitting)
      if (std::find(choice.also.begin(), choice.also.end(), models[i].name) == choice.also.end())
        choice.also.push_back(models[i].name);
    choice.problem = fmt::format("model '{}' is ambiguous: {}", printableLine(name), fmt::join(choice.also, ", "));
    return choice;
  }
  std::vector<std::string> names;
  for (const ModelNames &model : models) {
    names.push_back(model.name);
    names.emplace_back(shortName(model.name));
    names.insert(names.end(), model.aliases.begin(), model.aliases.end());
  }
  choice.problem = fmt::format("no model '{}'{}", printableLine(name.substr(0, longest)), didYouMean(name, names));
  return choice;
}

} // namespace vx::serve

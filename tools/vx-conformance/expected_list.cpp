#include "expected_list.h"

#include "command_line.h"
#include "input_file.h"
#include "tool_error.h"

#include "vx/base/printable.h"

#include <fmt/ranges.h>

#include <charconv>
#include <set>
#include <sstream>

namespace vx::tools {

static constexpr std::string_view RanMark = "@ran", RefusedMark = "refused";

// What is left of a line, without the spaces in front.
static std::string restOf(std::istringstream &words) {
  std::string rest;
  std::getline(words >> std::ws, rest);
  return rest;
}

// "cpu:12,vulkan"; false for another text.
static bool readPassing(const std::string &list, ExpectedList::Passing &passing) {
  for (const std::string &item : splitList(list)) {
    const size_t colon = item.find(':');
    size_t calls = 0;
    if (colon != std::string::npos) {
      const char *end = item.data() + item.size();
      if (const auto [last, error] = std::from_chars(item.data() + colon + 1, end, calls);
          error != std::errc() || last != end || calls == 0)
        return false;
    }
    if (!passing.emplace(item.substr(0, colon), calls).second)
      return false;
  }
  return !passing.empty();
}

static std::optional<std::vector<Mode>> readModes(const std::string &list) {
  std::vector<Mode> modes;
  for (const std::string &name : splitList(list)) {
    const std::optional<Mode> mode = valueOf<Mode>(ModeNames, name);
    if (!mode)
      return std::nullopt;
    modes.push_back(*mode);
  }
  return modes;
}

ExpectedList::ExpectedList(const std::string &path) {
  const std::vector<uint8_t> bytes = readFile(path);
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line.front() == '#')
      continue;
    std::istringstream words(line);
    std::string name, mode, list;
    words >> name >> mode >> list;
    const std::string rest = restOf(words);
    if (name == RanMark) {
      if (const std::optional<std::vector<Mode>> modes = readModes(list); modes && !rest.empty()) {
        setOrigin(splitList(mode), *modes, rest);
        continue;
      }
      throw fileError("{}:{}: expected '@ran TARGET,TARGET MODE,MODE TEXT', got '{}'", path, number, line);
    }
    const std::optional<Mode> known = valueOf<Mode>(ModeNames, mode);
    const Key key(name, known.value_or(Mode::Static));
    bool isNew = false;
    Passing passing;
    if (const size_t colon = rest.find(": "); known && list == RefusedMark && colon != std::string::npos)
      isNew = refusals[key].emplace(rest.substr(0, colon), rest.substr(colon + 2)).second;
    else if (known && rest.empty() && readPassing(list, passing))
      isNew = targets.emplace(key, passing).second;
    else
      throw fileError("{}:{}: expected 'NAME {} TARGET,TARGET' with ':COUNT' after a target that is called at other "
                      "sizes, or 'NAME MODE refused TARGET: MESSAGE', got '{}'",
                      path, number, fmt::join(ModeNames, "|"), line);
    if (!isNew)
      throw fileError("{}:{}: '{} {}' is there twice", path, number, name, mode);
  }
}

bool ExpectedList::has(const std::string &name, Mode mode, const std::string &target) const {
  const auto found = targets.find({name, mode});
  return found != targets.end() && found->second.contains(target);
}

size_t ExpectedList::calls(const std::string &name, Mode mode, const std::string &target) const {
  return has(name, mode, target) ? targets.at({name, mode}).at(target) : 0;
}

std::string ExpectedList::refusal(const std::string &name, Mode mode, const std::string &target) const {
  const auto found = refusals.find({name, mode});
  if (found == refusals.end())
    return "";
  const auto message = found->second.find(target);
  return message == found->second.end() ? "" : message->second;
}

std::string ExpectedList::reasonOf(const TargetOutcome &outcome) {
  return vx::printableLine(std::string_view(outcome.message).substr(0, outcome.message.find('\n')));
}

void ExpectedList::set(const std::string &name, Mode mode, const TargetOutcome &outcome) {
  const Key key(name, mode);
  Passing &passing = targets[key];
  if (outcome.outcome != Outcome::Passed)
    passing.erase(outcome.target);
  else if (outcome.second.result != SecondSizesResult::Untried && !outcome.second.isPacked)
    passing[outcome.target] = outcome.second.compared;
  else
    passing.try_emplace(outcome.target, 0);
  auto &messages = refusals[key];
  messages.erase(outcome.target);
  if (outcome.outcome == Outcome::Unsupported)
    messages[outcome.target] = ExpectedList::reasonOf(outcome);
  if (passing.empty())
    targets.erase(key);
  if (messages.empty())
    refusals.erase(key);
}

std::vector<ExpectedList::Key> ExpectedList::keys() const {
  std::set<Key> keys;
  for (const auto &[key, passing] : targets)
    keys.insert(key);
  for (const auto &[key, messages] : refusals)
    keys.insert(key);
  return {keys.begin(), keys.end()};
}

void ExpectedList::remove(const Key &key) {
  targets.erase(key);
  refusals.erase(key);
}

std::string ExpectedList::origin(const std::string &target, Mode mode) const {
  const auto found = origins.find({target, mode});
  return found == origins.end() ? "" : found->second;
}

void ExpectedList::setOrigin(const std::vector<std::string> &names, const std::vector<Mode> &modes,
                             const std::string &text) {
  for (const std::string &target : names)
    for (Mode mode : modes)
      origins[{target, mode}] = text;
}

std::string ExpectedList::text() const {
  std::string text =
      "# Cases that pass, in which mode and on which targets, after ':' in how many calls at other sizes: made by "
      "vx-conformance --write-expected.\n";
  for (const auto &[place, origin] : origins)
    text += fmt::format("{} {} {} {}\n", RanMark, place.first, modeName(place.second), origin);
  for (const Key &key : keys()) {
    const std::string title = fmt::format("{} {}", key.first, modeName(key.second));
    if (const auto passing = targets.find(key); passing != targets.end()) {
      std::vector<std::string> items;
      for (const auto &[target, calls] : passing->second)
        items.push_back(calls == 0 ? target : fmt::format("{}:{}", target, calls));
      text += fmt::format("{} {}\n", title, fmt::join(items, ","));
    }
    if (const auto messages = refusals.find(key); messages != refusals.end())
      for (const auto &[target, message] : messages->second)
        text += fmt::format("{} {} {}: {}\n", title, RefusedMark, target, message);
  }
  return text;
}

} // namespace vx::tools

#include "expected_list.h"

#include "command_line.h"
#include "input_file.h"
#include "tool_error.h"

#include <fmt/ranges.h>

#include <sstream>

namespace vx::tools {

ExpectedList::ExpectedList(const std::string &path) {
  const std::vector<uint8_t> bytes = readFile(path);
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line.front() == '#')
      continue;
    std::istringstream words(line);
    std::string name, mode, list, more;
    words >> name >> mode >> list;
    const std::optional<Mode> known = valueOf<Mode>(ModeNames, mode);
    if (list.empty() || words >> more || !known)
      throw fileError("{}:{}: want 'NAME static|dynamic|constant TARGET,TARGET', got '{}'", path, number, line);
    const std::vector<std::string> names = splitList(list);
    if (!targets.emplace(Key(name, *known), std::set(names.begin(), names.end())).second)
      throw fileError("{}:{}: '{} {}' is there twice", path, number, name, mode);
  }
}

bool ExpectedList::has(const std::string &name, Mode mode, const std::string &target) const {
  const auto found = targets.find({name, mode});
  return found != targets.end() && found->second.contains(target);
}

void ExpectedList::set(const std::string &name, Mode mode, const std::string &target, bool passes) {
  const auto place = targets.try_emplace({name, mode}).first;
  if (passes)
    place->second.insert(target);
  else
    place->second.erase(target);
  if (place->second.empty())
    targets.erase(place);
}

std::string ExpectedList::text() const {
  std::string text =
      "# Cases that pass, in which mode and on which targets: made by vx-conformance --write-expected.\n";
  for (const auto &[key, list] : targets)
    text += fmt::format("{} {} {}\n", key.first, modeName(key.second), fmt::join(list, ","));
  return text;
}

} // namespace vx::tools

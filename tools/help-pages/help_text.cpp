#include "help_text.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace vx::tools {

static std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

static std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos)
    return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// "  --flag TEXT    what it does": two spaces at least between the two.
static bool parseEntry(const std::string &line, HelpEntry &entry) {
  if (line.size() < 3 || line[0] != ' ' || line[1] != ' ' || line[2] == ' ')
    return false;
  const size_t gap = line.find("  ", 2);
  entry.term = trimmed(line.substr(2, gap == std::string::npos ? gap : gap - 2));
  entry.text = gap == std::string::npos ? "" : trimmed(line.substr(gap));
  return true;
}

std::vector<std::string> HelpEntry::flags() const {
  std::vector<std::string> names;
  if (!term.starts_with('-'))
    return names;
  std::string_view rest = std::string_view(term).substr(0, term.find(' '));
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    names.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return names;
}

bool HelpEntry::takesValue() const { return term.starts_with('-') && term.find(' ') != std::string::npos; }

const HelpSection *HelpText::find(std::string_view title) const {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const HelpSection &section) { return section.title == title; });
  return found == sections.end() ? nullptr : &*found;
}

HelpText parseHelp(std::string_view text) {
  static constexpr std::string_view usage = "Usage: ";
  const std::vector<std::string> lines = linesOf(text);
  HelpText help;
  if (lines.size() < 2 || lines[0].empty() || !lines[1].starts_with(usage))
    throw std::runtime_error("expected a line on what the tool does and one that begins with 'Usage: '");
  help.summary = lines[0];
  help.usage = lines[1].substr(usage.size());
  HelpSection *section = nullptr;
  for (size_t i = 2; i < lines.size(); ++i) {
    const std::string &line = lines[i];
    if (!line.empty() && line[0] != ' ') {
      // A line that is one word or two and a colon begins a section; any other is a note.
      if (line.ends_with(':') && std::count(line.begin(), line.end(), ' ') <= 1)
        section = &help.sections.emplace_back(HelpSection{line.substr(0, line.size() - 1), {}, {}});
      else
        section = nullptr;
      if (!section)
        help.notes.push_back(line);
      continue;
    }
    if (!section || line.empty())
      continue;
    HelpEntry entry;
    if (section->title == "Examples" || !parseEntry(line, entry))
      section->lines.push_back(line);
    else
      section->entries.push_back(std::move(entry));
  }
  if (!help.find("Options") || !help.find("Exit codes"))
    throw std::runtime_error("expected sections 'Options' and 'Exit codes'");
  return help;
}

} // namespace vx::tools

// What a tool's --help says, in parts.
#ifndef VX_TOOLS_HELP_PAGES_HELP_TEXT_H
#define VX_TOOLS_HELP_PAGES_HELP_TEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace vx::tools {

struct HelpEntry {
  std::string term, text; // "-o,--output TEXT", "Module file to write"
  // "-o" and "--output"; none where the term is no flag.
  std::vector<std::string> flags() const;
  // Whether a value stands behind it.
  bool takesValue() const;
};

struct HelpSection {
  std::string title; // "Options"
  std::vector<HelpEntry> entries;
  std::vector<std::string> lines; // as they stand there, of a section without entries
};

struct HelpText {
  std::string summary; // the first line
  std::string usage;   // "vx-run [OPTIONS] [module]"
  std::vector<HelpSection> sections;
  std::vector<std::string> notes; // lines outside of all sections

  const HelpSection *find(std::string_view title) const;
};

// Throws std::runtime_error where it does not look like the help of a tool.
HelpText parseHelp(std::string_view text);

} // namespace vx::tools

#endif

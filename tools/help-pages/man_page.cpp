#include "man_page.h"

#include <cctype>

namespace vx::tools {

// Text of roff: no character of it is a request.
static std::string roff(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\''))
    result += "\\&";
  for (char letter : text) {
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else
      result += letter;
  }
  return result;
}

static std::string upperCase(std::string text) {
  for (char &letter : text)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

static std::string unformatted(const std::vector<std::string> &lines) {
  std::string text = ".nf\n";
  for (const std::string &line : lines)
    text += roff(line) + "\n";
  return text + ".fi\n";
}

static void addSection(std::string &page, const HelpSection &section) {
  for (const HelpEntry &entry : section.entries)
    page += ".TP\n\\fB" + roff(entry.term) + "\\fR\n" + roff(entry.text) + "\n";
  if (!section.lines.empty())
    page += unformatted(section.lines);
}

std::string manPage(const std::string &tool, const HelpText &help, const std::string &version,
                    const std::vector<std::string> &others) {
  std::string page = ".\\\" Made of the tool's --help.\n.TH \"" + roff(upperCase(tool)) + "\" \"1\" \"\" \"" +
                     roff(version) + "\" \"vx\"\n";
  page += ".SH NAME\n" + roff(tool) + " \\- " + roff(help.summary) + "\n";
  page += ".SH SYNOPSIS\n" + roff(help.usage) + "\n.SH DESCRIPTION\n" + roff(help.summary) + "\n";
  for (const std::string &note : help.notes)
    page += roff(note) + "\n";
  // Groups of flags are parts of one section; what is no flag has its own.
  bool isInOptions = false;
  for (const HelpSection &section : help.sections) {
    if (section.title == "Examples" || section.title == "Exit codes")
      continue;
    const bool isOfFlags = !section.entries.empty() && section.entries[0].term.starts_with('-');
    if (isOfFlags && !isInOptions)
      page += ".SH OPTIONS\n";
    isInOptions |= isOfFlags;
    if (section.title != "Options")
      page += (isOfFlags ? ".SS \"" + roff(section.title) : ".SH \"" + roff(upperCase(section.title))) + "\"\n";
    addSection(page, section);
  }
  for (const auto &[title, heading] :
       {std::pair("Examples", ".SH EXAMPLES\n"), std::pair("Exit codes", ".SH \"EXIT STATUS\"\n")})
    if (const HelpSection *section = help.find(title)) {
      page += heading;
      addSection(page, *section);
    }
  std::string also;
  for (const std::string &other : others)
    if (other != tool)
      also += (also.empty() ? "\\fB" : ", \\fB") + roff(other) + "\\fR(1)";
  return page + ".SH \"SEE ALSO\"\n" + also + "\n";
}

} // namespace vx::tools

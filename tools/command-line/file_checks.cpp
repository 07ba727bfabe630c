#include "file_checks.h"

#include "tool_error.h"

namespace vx::tools {

void checkFiles(const CommandFiles &files) {
  if (const std::string problem = files.problem(); !problem.empty())
    throw usageError("{}", problem);
  if (const std::string reason = files.unwritable(); !reason.empty())
    throw workError("{}", reason);
}

// Calls `add` with each name and file. What has none, or another form, is for others to judge.
template <typename F>
static void forEachFile(const std::vector<std::string> &specifications, F &&add) {
  for (const std::string &text : specifications)
    if (const size_t equals = text.find('='); equals != std::string::npos && text.substr(equals, 2) == "=@")
      add(text.substr(0, equals), text.substr(equals + 2));
}

void addInputFiles(CommandFiles &files, const std::vector<std::string> &specifications) {
  forEachFile(specifications, [&](const std::string &name, const std::string &file) {
    files.addInput(fmt::format("input '{}',", name), file);
  });
}

void addOutputFiles(CommandFiles &files, const std::vector<std::string> &specifications) {
  forEachFile(specifications, [&](const std::string &name, const std::string &file) {
    files.addOutput(fmt::format("output '{}',", name), file, CommandFiles::Kind::RegularFileOrStream);
  });
}

bool isStandardOutput(const std::string &path) { return path == "-" || descriptorOf(path) == 1; }

} // namespace vx::tools

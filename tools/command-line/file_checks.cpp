#include "file_checks.h"

#include "tool_error.h"

#include "vx/abi/module_header.h"
#include "vx/base/regular_file.h"

#include <array>
#include <string_view>

#include <unistd.h>

namespace vx::tools {

void checkFiles(const CommandFiles &files) {
  if (const std::string problem = files.problem(); !problem.empty())
    throw usageError("{}", problem);
  if (const std::string reason = files.unwritable(); !reason.empty())
    throw workError("{}", reason);
}

void refuseModuleFile(const std::string &path) {
  vx::FileError error;
  const int descriptor = vx::openRegularFile(path, error);
  if (descriptor < 0)
    return;
  constexpr std::string_view magic = VX_MODULE_MAGIC;
  std::array<char, magic.size()> start = {};
  const ssize_t got = ::read(descriptor, start.data(), start.size());
  ::close(descriptor);
  if (got == static_cast<ssize_t>(magic.size()) && std::string_view(start.data(), start.size()) == magic)
    throw fileError(
        "{}: expected a model, got a vx module, which is compiled already: run it with 'vx-run {}', or show "
        "it with 'vx-info {}'",
        path, path, path);
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

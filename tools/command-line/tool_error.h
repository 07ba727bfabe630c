// How the tools fail: an exit code of the table in their --help, and one message.
#ifndef VX_TOOLS_TOOL_ERROR_H
#define VX_TOOLS_TOOL_ERROR_H

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace vx::tools {

enum class ExitCode : int {
  Done = 0,
  Failed = 1,   // failed in the doing: device lost, out of memory, disk full, results differ
  Usage = 2,    // the command line is wrong
  BadInput = 3, // the module or a file is wrong or not supported
  NoDevice = 4  // no device that was asked for
};

class ToolError : public std::runtime_error {
public:
  ToolError(ExitCode code, const std::string &message) : std::runtime_error(message), exitCode(code) {}

  const ExitCode exitCode;
};

// throw usageError("unknown input '{}'", name)
template <typename... Args>
ToolError usageError(fmt::format_string<Args...> format, Args &&...args) {
  return ToolError(ExitCode::Usage, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
ToolError fileError(fmt::format_string<Args...> format, Args &&...args) {
  return ToolError(ExitCode::BadInput, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
ToolError workError(fmt::format_string<Args...> format, Args &&...args) {
  return ToolError(ExitCode::Failed, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace vx::tools

#endif

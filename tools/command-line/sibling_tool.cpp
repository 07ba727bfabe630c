#include "sibling_tool.h"

#include "tool_error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace vx::tools {

namespace fs = std::filesystem;

std::string findTool(const std::string &tool) {
  if (tool.find('/') != std::string::npos)
    return tool;
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error).parent_path() / tool;
  if (!fs::exists(path, error))
    throw workError("this needs {}, and there is none beside this tool: want '{}'", tool, path.string());
  return path.string();
}

// The message of the last line that is an error, without the tool's name; else the last line.
static std::string lastError(const std::string &text) {
  std::string last, message;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty())
      continue;
    last = line;
    if (const size_t at = line.find(": error: "); at != std::string::npos)
      message = line.substr(at + 9);
  }
  return message.empty() ? last : message;
}

void runSiblingTool(const std::string &tool, const std::vector<std::string> &arguments) {
  const std::string path = findTool(tool);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw workError("cannot make a pipe: {}", std::strerror(errno));
  std::vector<char *> pointers{const_cast<char *>(path.c_str())};
  for (const std::string &argument : arguments)
    pointers.push_back(const_cast<char *>(argument.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t process = -1;
  const int error = ::posix_spawn(&process, path.c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t got = 0; !error; said.append(buffer, static_cast<size_t>(got)))
    if ((got = ::read(ends[0], buffer, sizeof(buffer))) <= 0) {
      if (got < 0 && errno == EINTR) {
        got = 0;
        continue;
      }
      break;
    }
  ::close(ends[0]);
  if (error)
    throw workError("cannot start '{}': {}", path, std::strerror(error));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status))
    throw workError("'{}' was ended by signal {}", path, WTERMSIG(status));
  if (const int code = WEXITSTATUS(status); code != 0)
    throw ToolError(code <= 4 ? static_cast<ExitCode>(code) : ExitCode::Failed,
                    said.empty() ? fmt::format("'{}' ended with exit code {}", path, code) : lastError(said));
}

} // namespace vx::tools

// Makes the manual's pages and what bash completes of the tools' --help: help-pages FOLDER VERSION TOOL...
#include "command_line.h"
#include "completion.h"
#include "man_page.h"
#include "output_file.h"

#include <cstdio>
#include <filesystem>

#include <sys/wait.h>

using namespace vx::tools;

// What a program prints for --help.
static std::string helpOf(const std::string &program) {
  std::string command = "'";
  for (char letter : program)
    command += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  FILE *pipe = ::popen((command + "' --help").c_str(), "r");
  if (!pipe)
    throw workError("cannot start '{}'", program);
  std::string text;
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    text.append(buffer, got);
  const int status = ::pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw workError("'{} --help' failed", program);
  return text;
}

static int run(const char *name, int argc, char **argv) {
  if (argc < 4)
    throw usageError("expected a folder, a version and tools, got {} arguments", argc - 1);
  const std::filesystem::path folder = argv[1];
  std::vector<std::pair<std::string, HelpText>> tools;
  std::vector<std::string> names;
  for (int i = 3; i < argc; ++i) {
    names.push_back(std::filesystem::path(argv[i]).filename().string());
    try {
      tools.emplace_back(names.back(), parseHelp(helpOf(argv[i])));
    } catch (const ToolError &) {
      throw;
    } catch (const std::exception &error) {
      throw fileError("the help of '{}': {}", argv[i], error.what());
    }
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const auto &[tool, help] : tools)
    writeFile((folder / (tool + ".1")).string(), manPage(tool, help, argv[2], names));
  writeFile((folder / "completion.bash").string(), bashCompletion(tools));
  return 0;
}

int main(int argc, char **argv) { return runTool("help-pages", argc, argv, run); }

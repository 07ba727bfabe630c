// What every tool does with its command line: one dash or two, --help, --version, exit codes.
#ifndef VX_TOOLS_COMMAND_LINE_H
#define VX_TOOLS_COMMAND_LINE_H

#include "tool_error.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace vx::tools {

// Runs `body` and turns what it throws into a message on stderr and an exit code. Output that could not be written to
// stdout is an error too.
int runTool(const char *name, int argc, char **argv, int (*body)(const char *name, int argc, char **argv));

// Adds --help and --version and the table of exit codes behind `examples`, then parses. True when the tool shall go on;
// false when --help or --version has been answered. Throws a usage error that names a flag that is not known.
bool parseCommandLine(CLI::App &app, const char *name, const char *examples, int argc, char **argv);

// "vx 0.1.0", LLVM and the ABI numbers, one line each.
std::string versionText();

// Splits at commas; empty pieces are dropped.
std::vector<std::string> splitList(std::string_view text);

// The two sides of "NAME=VALUE". Throws a usage error that names `flag` when there is no name or no '='.
std::pair<std::string, std::string> splitAssignment(std::string_view flag, const std::string &text);

// "--dim batch=8" and "--dim batch=8,sequence=16", any number of times.
std::map<std::string, int64_t> parseDims(const std::vector<std::string> &flags);

} // namespace vx::tools

#endif

// What every tool does with its command line: one dash or two, --help, --version, messages, exit codes.
#ifndef VX_TOOLS_COMMAND_LINE_H
#define VX_TOOLS_COMMAND_LINE_H

#include "tool_error.h"

#include "vx/base/byte_count.h"
#include "vx/base/names.h"
#include "vx/base/printable.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace vx::tools {

using vx::joinWords;
using vx::parseByteCount;
using vx::quoteNames;

// The table of exit codes that ends every tool's --help.
extern const char *const ExitCodes;

// Runs `body` and turns what it throws into a message on stderr and an exit code. Output that could not be written to
// stdout is an error too, except where its reader has closed the pipe: the tool goes on without printing, so that its
// files are written whole, and the exit code says how that went.
int runTool(const char *name, int argc, char **argv, int (*body)(const char *name, int argc, char **argv));

// Prints lines to standard output; flushStandardOutput finds what went wrong. What a terminal obeys becomes text.
void printText(std::string_view lines);

// The same for a format whose arguments may be names of files and models: none of them ends a line.
template <typename... Args>
void printOut(fmt::format_string<Args...> format, Args &&...args) {
  [[maybe_unused]] auto onOneLine = []<typename Arg>(const Arg &arg) -> decltype(auto) {
    if constexpr (std::is_convertible_v<const Arg &, std::string_view>)
      return vx::printableLine(arg);
    else
      return (arg);
  };
  printText(fmt::format(fmt::runtime(format), onOneLine(args)...));
}

// Throws a ToolError (exit 1) when something printed could not be written. A reader that has closed the pipe is no
// error.
void flushStandardOutput();

// Prints a message to standard error. One that nobody reads any more, or that cannot be written, is dropped.
template <typename... Args>
void printMessage(fmt::format_string<Args...> format, Args &&...args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// Replaces the line of standard error by this one where that is a terminal; elsewhere it does nothing.
void showProgress(std::string_view text);

// "vx 0.2.0", LLVM and the ABI numbers, one line each.
std::string versionText(std::string_view llvm = "none");

// Prints the versions and, in a line of its own, the commit.
void printVersion(const std::string &version);

// Adds --help, --version (`version` and the commit) and the table of exit codes after `examples`, then parses. Returns
// true if the tool goes on, and false if --help or --version has been answered.
//
// A value stands in the same word, --name=value, or in the next one; an option whose value may be left out
// (`expected(0, 1)`) takes it in the same word only. A flag that is not known, a missing or empty value, a value for
// what takes none, and a second value for what takes one are usage errors that name the flag.
bool parseCommandLine(CLI::App &app, const char *name, const char *examples, int argc, char **argv,
                      const std::string &version = versionText());

// Checks for CLI::Option::check. What they say follows the flag's name: "expected json or text, got 'xml'".
using ValueCheck = std::function<std::string(const std::string &)>;
ValueCheck oneOf(std::vector<std::string> words);
ValueCheck wholeNumber(uint64_t least, uint64_t most);
ValueCheck numberAbove(double least);
ValueCheck byteCount();

// The place of `name` among `names`. Throws a usage error with the names there are: "unknown output 'z', the outputs
// are 'y'" where `what` is "output".
size_t findName(std::string_view what, std::string_view name, const std::vector<std::string> &names);

// Splits at commas. No text is an empty list; between two commas there may be an empty piece.
std::vector<std::string> splitList(std::string_view text);

// The names of a list that `flag` was given: one at the least. Throws a usage error with the whole text for an empty
// one and for one that is there twice.
std::vector<std::string> parseNames(std::string_view flag, std::string_view text);

// Of a list between commas that `flag` was given: numbers from 1 to 1048576. Throws a usage error.
std::vector<size_t> parseSizes(const char *flag, const std::string &text);

// The two sides of "NAME=VALUE". Throws a usage error that names `flag` when there is no name or no '='.
std::pair<std::string, std::string> splitAssignment(std::string_view flag, const std::string &text);

// "--dim batch=8" and "--dim batch=8,sequence=16", any number of times. A name or a size that is there twice, and
// whatever else is odd, is a usage error with what was given.
std::map<std::string, int64_t> parseDims(const std::vector<std::string> &flags);

// The same with several values for a name, "--dim batch=1,8,sequence=16": each combination of them, in order, the last
// name's values fastest. One empty combination when there are no flags.
std::vector<std::map<std::string, int64_t>> parseDimLists(const std::vector<std::string> &flags);

} // namespace vx::tools

#endif

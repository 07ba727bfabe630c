// vx: one command whose verbs are the tools beside it.
#include "command_line.h"
#include "sibling_tool.h"
#include "verbs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <unistd.h>

using namespace vx::tools;

static constexpr const char *Examples = R"(
`vx help VERB` has the flags of a verb.

Examples:
  Devices:  vx detect hardware
  Modules:  vx compile model.onnx --target=cpu -o model.vxm
            vx run model.vxm --print
  Models:   vx models scan ~/models
            vx server start --port 8080
)";

static bool isThere(std::string_view tool) {
  try {
    findTool(std::string(tool));
    return true;
  } catch (const ToolError &) {
    return false;
  }
}

static void printHelp() {
  printText(
      "One command for the tools of vx: each verb is a tool beside this one.\nUsage: vx VERB [ARGUMENTS]\n\nVerbs:\n");
  for (const Verb &verb : verbs())
    if (isThere(verb.tool))
      printText(fmt::format("  {:<34}{} ({})\n", verb.words, verb.help, verb.tool));
  printText(fmt::format("  {:<34}{}\n", "help [VERB]", "This help, or that of a verb"));
  printText("\nOptions:\n");
  printText(fmt::format("  {:<34}{}\n", "-h,--help", "Print this help and exit"));
  printText(
      fmt::format("  {:<34}{}\n", "--version", "Print the versions of vx, LLVM and the ABI and the commit, and exit"));
  printText(Examples);
  printText(ExitCodes);
}

// How many of the arguments are the verb's words; 0 where it is another.
static size_t matchWords(const Verb &verb, const std::vector<std::string> &arguments) {
  size_t count = 0;
  for (std::string_view rest = verb.words; !rest.empty(); ++count) {
    const size_t space = std::min(rest.find(' '), rest.size());
    if (count == arguments.size() || arguments[count] != rest.substr(0, space))
      return 0;
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return count;
}

// Why no verb is meant.
static ToolError noVerb(const std::vector<std::string> &arguments) {
  const std::string &first = arguments.front();
  std::vector<std::string> firstWords, secondWords;
  for (const Verb &verb : verbs()) {
    const size_t space = verb.words.find(' ');
    firstWords.emplace_back(verb.words.substr(0, space));
    if (space != std::string_view::npos && verb.words.substr(0, space) == first)
      secondWords.emplace_back(verb.words.substr(space + 1));
  }
  if (first == "llm")
    return usageError("'llm' is a verb of later versions: this one runs no language models");
  if (!secondWords.empty() && arguments.size() == 1)
    return usageError("expected 'vx {} {}'", first, joinWords(secondWords, "or"));
  if (!secondWords.empty())
    return usageError("expected 'vx {} {}', got 'vx {} {}'", first, joinWords(secondWords, "or"), first, arguments[1]);
  firstWords.emplace_back("help");
  return usageError("'{}' is not a verb{}; see vx help", first, vx::didYouMean(first, firstWords));
}

static int run(const char *name, int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty())
    throw usageError("expected a verb, got none; see vx help");
  if (arguments[0] == "--version" || arguments[0] == "-version") {
    printVersion(versionText());
    return 0;
  }
  bool wantsHelp =
      arguments[0] == "help" || arguments[0] == "--help" || arguments[0] == "-help" || arguments[0] == "-h";
  if (wantsHelp && arguments.size() == 1) {
    printHelp();
    return 0;
  }
  if (wantsHelp)
    arguments.erase(arguments.begin());
  for (const Verb &verb : verbs()) {
    const size_t words = matchWords(verb, arguments);
    if (words == 0)
      continue;
    const std::string tool = findTool(std::string(verb.tool));
    std::vector<char *> pointers{const_cast<char *>(tool.c_str())};
    std::string help = "--help", argument(verb.argument);
    if (wantsHelp)
      pointers.push_back(help.data());
    else if (!argument.empty())
      pointers.push_back(argument.data());
    for (size_t i = words; i < arguments.size() && !wantsHelp; ++i)
      pointers.push_back(arguments[i].data());
    pointers.push_back(nullptr);
    ::execv(tool.c_str(), pointers.data());
    throw workError("cannot start '{}': {}", tool, std::strerror(errno));
  }
  throw noVerb(arguments);
}

int main(int argc, char **argv) { return runTool("vx", argc, argv, run); }

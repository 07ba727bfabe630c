#include "command_line.h"

#include "vx/abi/version.h"

#include <CLI/CLI.hpp>

#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <new>

namespace vx::tools {

static constexpr const char *ExitCodes = R"(
Exit codes:
  0  done
  1  failed in the doing (device lost, out of memory, disk full, a fault in the data)
  2  the command line is wrong
  3  the module or a file is wrong or not supported
  4  no device that was asked for
)";

int runTool(const char *name, int argc, char **argv, int (*body)(const char *name, int argc, char **argv)) {
  // A file that grows over its limit is an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  ExitCode code = ExitCode::Failed;
  try {
    const int result = body(name, argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw workError("cannot write to standard output");
    return result;
  } catch (const ToolError &error) {
    fmt::print(stderr, "{}: error: {}\n", name, error.what());
    code = error.exitCode;
  } catch (const std::bad_alloc &) {
    fmt::print(stderr, "{}: error: out of memory\n", name);
  } catch (const std::exception &error) {
    fmt::print(stderr, "{}: error: {}\n", name, error.what());
  }
  return static_cast<int>(code);
}

std::string versionText() {
  return fmt::format("vx {}\nLLVM: none\nmodule abi {}.{}\n", VX_VERSION_STRING, VX_MODULE_ABI_MAJOR,
                     VX_MODULE_ABI_MINOR);
}

bool parseCommandLine(CLI::App &app, const char *name, const char *examples, int argc, char **argv) {
  bool version = false;
  app.name(name);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.add_flag("--version", version, "Print the versions of vx, LLVM and the ABI and exit");
  app.footer(std::string(examples) + ExitCodes);
  app.get_formatter()->column_width(36);

  // CLI11 wants the arguments last first.
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {
    std::string argument = argv[i];
    // One dash or two is the same; a single letter is a short flag and a digit begins a number.
    if (argument.size() > 2 && argument[0] == '-' && argument[1] != '-' &&
        std::isalpha(static_cast<unsigned char>(argument[1])))
      argument.insert(argument.begin(), '-');
    arguments.push_back(std::move(argument));
  }

  // --version is answered although a module is missing.
  for (const std::string &argument : arguments)
    if (argument == "--version") {
      fmt::print("{}", versionText());
      return false;
    }
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp &) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ExtrasError &) {
    const std::vector<std::string> extras = app.remaining();
    const std::string first = extras.empty() ? std::string() : extras.front();
    if (!first.empty() && first[0] == '-')
      throw usageError("unknown flag '{}'; see --help", first.substr(0, first.find('=')));
    throw usageError("unexpected argument '{}'; see --help", first);
  } catch (const CLI::ParseError &error) {
    throw usageError("{}; see --help", error.what());
  }
  return true;
}

std::vector<std::string> splitList(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (const std::string_view piece = text.substr(0, comma); !piece.empty())
      pieces.emplace_back(piece);
    if (comma == std::string_view::npos)
      break;
    text.remove_prefix(comma + 1);
  }
  return pieces;
}

std::pair<std::string, std::string> splitAssignment(std::string_view flag, const std::string &text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw usageError("{} wants NAME=VALUE, got '{}'", flag, text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::map<std::string, int64_t> parseDims(const std::vector<std::string> &flags) {
  std::map<std::string, int64_t> dims;
  for (const std::string &flag : flags)
    for (const std::string &piece : splitList(flag)) {
      const auto [name, value] = splitAssignment("--dim", piece);
      int64_t size = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (error != std::errc() || end != value.data() + value.size() || size < 0)
        throw usageError("--dim {}: want a size of 0 or more, got '{}'", name, value);
      dims[name] = size;
    }
  return dims;
}

} // namespace vx::tools

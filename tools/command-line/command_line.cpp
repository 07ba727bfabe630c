#include "command_line.h"

#include "memory_failure.h"
#include "sibling_tool.h"
#include "source_commit.h"

#include "vx/abi/version.h"
#include "vx/runtime/vx.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <new>
#include <optional>
#include <poll.h>
#include <unistd.h>

namespace vx::tools {

const char *const ExitCodes = R"(
Exit codes:
  0  done
  1  failed in the doing (device lost, out of memory, disk full, a fault in the data, results differ)
  2  the command line is wrong
  3  the model, module or a file is wrong or not supported
  4  no device that was asked for
)";

// What a failed status of the runtime means to a tool.
static ExitCode exitCodeOf(vx_code code) {
  switch (code) {
  case VX_OK:
    return ExitCode::Done;
  case VX_INVALID_ARGUMENT:
    return ExitCode::Usage;
  case VX_NOT_FOUND:
  case VX_INVALID_MODULE:
  case VX_UNSUPPORTED:
    return ExitCode::BadInput;
  case VX_NO_DEVICE:
    return ExitCode::NoDevice;
  case VX_OUT_OF_MEMORY:
  case VX_FAULT:
  case VX_IO_ERROR:
  case VX_DEVICE_LOST:
  case VX_INTERNAL:
  case VX_CANCELLED:
  case VX_TIMED_OUT:
    break;
  }
  return ExitCode::Failed;
}

void printText(std::string_view lines) {
  const std::string text = vx::printable(lines);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// False where standard output is a pipe that its reader has closed, as `head` does.
static bool hasReader() {
  pollfd entry = {STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&entry, 1, /*timeout=*/0) <= 0 || (entry.revents & POLLERR) == 0;
}

void flushStandardOutput() {
  if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && hasReader())
    throw workError("cannot write to standard output");
}

int runTool(const char *name, int argc, char **argv, int (*body)(const char *name, int argc, char **argv)) {
  // A file that grows over its limit is an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  // So is a reader that has closed its pipe.
  std::signal(SIGPIPE, SIG_IGN);
  probeDrivers();
  ExitCode code = ExitCode::Failed;
  try {
    const int result = body(name, argc, argv);
    if (result == 0) // else it has been said what went wrong
      flushStandardOutput();
    return result;
  } catch (const ToolError &error) {
    printMessage("{}: error: {}\n", name, vx::printableLine(error.what()));
    code = error.exitCode;
  } catch (const vx::Error &error) {
    printMessage("{}: error: {}\n", name, vx::printableLine(error.what()));
    code = exitCodeOf(error.code());
  } catch (const std::bad_alloc &) {
    writeOutOfMemory(name);
  } catch (const std::exception &error) {
    printMessage("{}: error: {}\n", name, vx::printableLine(error.what()));
  }
  return static_cast<int>(code);
}

void showProgress(std::string_view text) {
  if (::isatty(STDERR_FILENO) == 1)
    printMessage("\r\033[K{}", vx::printableLine(text));
}

std::string versionText(std::string_view llvm) {
  return fmt::format("vx {}\nLLVM: {}\nmodule abi {}.{}\n", VX_VERSION_STRING, llvm, VX_MODULE_ABI_MAJOR,
                     VX_MODULE_ABI_MINOR);
}

void printVersion(const std::string &version) { printText(version + "commit " + sourceCommit() + "\n"); }

namespace {

// Brings the arguments to one form, "--name=value" in one word, and finds what is wrong with a flag by itself: the
// parser's own messages know less of what was meant.
class Normaliser {
public:
  Normaliser(const CLI::App &app, int argc, char **argv) : app(app), arguments(argv + 1, argv + argc) {}

  std::vector<std::string> run() {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string &argument = arguments[i];
      if (argument == "--") {
        result.insert(result.end(), arguments.begin() + static_cast<ptrdiff_t>(i), arguments.end());
        break;
      }
      // "-" is a file, and a digit begins a number.
      if (argument.size() < 2 || argument[0] != '-' || std::isdigit(static_cast<unsigned char>(argument[1])))
        result.push_back(argument);
      else
        flag(argument, i);
    }
    return std::move(result);
  }

private:
  void flag(const std::string &argument, size_t &position) {
    const size_t equals = argument.find('=');
    const size_t dashes = argument[1] == '-' ? 2 : 1;
    std::string name = argument.substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    std::optional<std::string> value;
    if (equals != std::string::npos)
      value = argument.substr(equals + 1);

    const CLI::Option *option = app.get_option_no_throw((name.size() > 1 ? "--" : "-") + name);
    if (!option && dashes == 1 && name.size() > 1) {
      // A short flag with its value behind it, "-oout.vxm".
      option = app.get_option_no_throw("-" + name.substr(0, 1));
      if (option && option->get_expected_max() > 0)
        value = argument.substr(2);
      else
        option = nullptr;
    }
    if (!option)
      throw usageError("unknown flag '{}'; see --help", (name.size() > 1 ? "--" : "-") + name);
    name = option->get_name();

    if (option->get_expected_max() == 0) {
      if (value)
        throw usageError("{}: expected no value, got '{}'", name, *value);
      result.push_back(name);
      return;
    }
    if (!value && option->get_expected_min() > 0) {
      if (position + 1 == arguments.size())
        throw usageError("{}: expected a value, got none", name);
      const std::string &next = arguments[position + 1];
      if (next.size() > 1 && next[0] == '-' && !std::isdigit(static_cast<unsigned char>(next[1])))
        throw usageError("{}: expected a value, got the flag '{}'", name, next);
      value = next;
      ++position;
    }
    if (value && value->empty())
      throw usageError("{}: expected a value, got ''", name);
    if (option->get_expected_max() == 1 && ++counts[name] > 1)
      throw usageError("{}: expected one value, got another one: '{}'", name, value.value_or(""));
    result.push_back(value ? name + "=" + *value : name);
  }

  const CLI::App &app;
  const std::vector<std::string> arguments;
  std::vector<std::string> result;
  std::map<std::string, int> counts;
};

} // namespace

bool parseCommandLine(CLI::App &app, const char *name, const char *examples, int argc, char **argv,
                      const std::string &version) {
  bool wantsVersion = false;
  app.name(name);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.add_flag("--version", wantsVersion, "Print the versions of vx, LLVM and the ABI and the commit, and exit");
  app.footer(std::string(examples) + ExitCodes);
  app.get_formatter()->column_width(36);

  // These are answered although a module is missing.
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--version" || argument == "-version") {
      printVersion(version);
      return false;
    }
    if (argument == "--help" || argument == "-help" || argument == "-h") {
      printText(app.help());
      return false;
    }
  }
  std::vector<std::string> arguments = Normaliser(app, argc, argv).run();
  // One value for each word: the positional arguments behind it are not its.
  for (CLI::Option *option : app.get_options())
    if (!option->get_positional())
      option->allow_extra_args(false);
  // CLI11 wants the arguments last first.
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError &) {
    const std::vector<std::string> extras = app.remaining();
    throw usageError("unexpected argument '{}'; see --help", extras.empty() ? std::string() : extras.front());
  } catch (const CLI::ParseError &error) {
    throw usageError("{}", error.what());
  }
  return true;
}

size_t findName(std::string_view what, std::string_view name, const std::vector<std::string> &names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw usageError("unknown {0} '{1}', the {0}s are {2}", what, name, quoteNames(names));
  return static_cast<size_t>(found - names.begin());
}

ValueCheck oneOf(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string &value) {
    if (std::find(words.begin(), words.end(), value) != words.end())
      return std::string();
    return fmt::format("expected {}, got '{}'", joinWords(words, "or"), value);
  };
}

ValueCheck wholeNumber(uint64_t least, uint64_t most) {
  return [=](const std::string &value) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number >= least && number <= most)
      return std::string();
    if (most == UINT64_MAX)
      return fmt::format("expected a number of {} or more, got '{}'", least, value);
    return fmt::format("expected a number from {} to {}, got '{}'", least, most, value);
  };
}

ValueCheck numberAbove(double least) {
  return [=](const std::string &value) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number >= least)
      return std::string();
    return fmt::format("expected a number of {} or more, got '{}'", least, value);
  };
}

ValueCheck byteCount() {
  return [](const std::string &value) {
    return parseByteCount(value)
               ? std::string()
               : fmt::format("expected a number of bytes, e.g. 4096, 512K, 64M or 2G, got '{}'", value);
  };
}

std::vector<std::string> splitList(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    pieces.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos)
      break;
    text.remove_prefix(comma + 1);
    if (text.empty())
      pieces.emplace_back();
  }
  return pieces;
}

std::vector<std::string> parseNames(std::string_view flag, std::string_view text) {
  const std::vector<std::string> names = splitList(text);
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty())
      throw usageError("{}: expected names between commas, got '{}'", flag, text);
    if (std::find(names.begin(), name, *name) != name)
      throw usageError("{}: '{}' is given twice, got '{}'", flag, *name, text);
  }
  return names;
}

std::vector<size_t> parseSizes(const char *flag, const std::string &text) {
  std::vector<size_t> sizes;
  for (const std::string &piece : splitList(text)) {
    size_t size = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), size);
    if (error != std::errc() || end != piece.data() + piece.size() || size == 0 || size > (1 << 20))
      throw usageError("{}: expected numbers from 1 to 1048576 between commas, got '{}'", flag, piece);
    sizes.push_back(size);
  }
  return sizes;
}

std::pair<std::string, std::string> splitAssignment(std::string_view flag, const std::string &text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw usageError("{}: expected NAME=VALUE, got '{}'", flag, text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

static int64_t parseSize(const std::string &name, const std::string &value) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  if (error != std::errc() || end != value.data() + value.size() || size < 0)
    throw usageError("--dim {}: expected a size of 0 or more, got '{}'", name, value);
  return size;
}

std::map<std::string, int64_t> parseDims(const std::vector<std::string> &flags) {
  std::map<std::string, int64_t> dims;
  for (const std::string &flag : flags)
    for (const std::string &piece : splitList(flag)) {
      const auto [name, value] = splitAssignment("--dim", piece);
      const auto [place, isNew] = dims.emplace(name, parseSize(name, value));
      if (!isNew)
        throw usageError("--dim: '{}' is given twice, first {}, then {}", name, place->second, value);
    }
  return dims;
}

std::vector<std::map<std::string, int64_t>> parseDimLists(const std::vector<std::string> &flags) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> lists;
  for (const std::string &flag : flags) {
    bool isFirst = true;
    for (const std::string &piece : splitList(flag)) {
      if (isFirst || piece.find('=') != std::string::npos) {
        const auto [name, value] = splitAssignment("--dim", piece);
        for (const auto &[other, sizes] : lists)
          if (other == name)
            throw usageError("--dim: '{}' is given twice, first {}, then {}", name, sizes.front(), value);
        lists.emplace_back(name, std::vector<int64_t>{parseSize(name, value)});
      } else {
        auto &[listed, sizes] = lists.back();
        const int64_t size = parseSize(listed, piece);
        if (std::find(sizes.begin(), sizes.end(), size) != sizes.end())
          throw usageError("--dim: expected each size of '{}' once, got {} again in '{}'", listed, size, flag);
        sizes.push_back(size);
      }
      isFirst = false;
    }
  }
  std::vector<std::map<std::string, int64_t>> combinations(1);
  for (const auto &[name, values] : lists) {
    std::vector<std::map<std::string, int64_t>> longer;
    for (const std::map<std::string, int64_t> &begun : combinations)
      for (int64_t value : values) {
        longer.push_back(begun);
        longer.back()[name] = value;
      }
    combinations = std::move(longer);
  }
  return combinations;
}

} // namespace vx::tools

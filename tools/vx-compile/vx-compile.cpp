// vx-compile: a model in, a module file out. A main() over libvx_compiler.

#include "vx/compiler/vxc.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

/// Messages to stderr; one progress line on a terminal once the work has taken two seconds, and none in a pipe.
class Console {
public:
  Console() : isTerminal(isatty(STDERR_FILENO)), begin(std::chrono::steady_clock::now()) {}
  ~Console() { clearLine(); }

  void say(vxc_severity severity, const char *message) {
    std::lock_guard lock(mutex);
    if (severity == VXC_PROGRESS) {
      if (!isTerminal || std::chrono::steady_clock::now() - begin < std::chrono::seconds(2))
        return;
      std::fprintf(stderr, "\r\033[K%s", message);
      hasLine = true;
      return;
    }
    clearLine();
    static constexpr const char *names[] = {"error", "warning", "note"};
    std::fprintf(stderr, "vx-compile: %s: %s\n", names[severity], message);
  }

  static void print(const char *text, size_t size, std::FILE *file) { std::fwrite(text, 1, size, file); }

private:
  void clearLine() {
    if (hasLine)
      std::fprintf(stderr, "\r\033[K");
    hasLine = false;
  }

  bool isTerminal, hasLine = false;
  std::chrono::steady_clock::time_point begin;
  std::mutex mutex;
};

struct Sink {
  Console console;
  std::string text;
};

std::string getDefaultCache() {
  if (const char *folder = std::getenv("VX_CACHE"); folder && *folder)
    return folder;
  if (const char *folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return std::string(folder) + "/vx";
  if (const char *home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/vx";
  return "";
}

/// One dash or two is the same: `-target=cpu` becomes `--target=cpu`. `-o` and `-h` stay.
std::vector<std::string> normalise(int argc, char **argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) { // CLI11 takes them in reverse
    std::string argument = argv[i];
    if (argument.size() > 2 && argument[0] == '-' && argument[1] != '-' && argument.substr(0, 2) != "-o")
      argument.insert(0, "-");
    arguments.push_back(argument);
  }
  return arguments;
}

} // namespace

int main(int argc, char **argv) {
  // A file above the limit is an error of the write, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Compiles a model to a module file.\n"
               "  vx-compile model.onnx -target=cpu,vulkan -o model.vxm",
               "vx-compile");
  app.set_version_flag("--version", vxc_version());
  std::string model, output, targets, cpu, stopAfter, report, precision = "f32", weights = "inside",
                                                              cache = getDefaultCache();
  std::vector<std::string> dims;
  bool check = false, noCache = false, strictMath = false;
  unsigned threads = 0;
  app.add_option("model", model, "ONNX file, or vx text in a .mlir file")->required();
  app.add_option("-o,--output", output, "Module file to write; default: the model's name with .vxm. '-' prints text");
  app.add_option("--target", targets, std::string("Targets, of ") + vxc_targets() + ". Example: --target=cpu,vulkan")
      ->required();
  app.add_option("--cpu", cpu, "CPU variants, best first. Example: --cpu=avx512,x86-64-v3");
  app.add_option(
         "--dim", dims,
         "Specialise a symbolic dimension: one value, several (a version each beside the general one), or a range. "
         "Example: --dim batch=1,32 --dim sequence=1..512")
      ->take_all();
  app.add_option("--precision", precision, "Arithmetic of float contractions: f32")->check(CLI::IsMember({"f32"}));
  app.add_flag("--strict-math", strictMath, "Keep every rounding step of the model");
  app.add_option("--stop-after", stopAfter,
                 "Print the IR of a phase instead: import, graph, grad, fused, kernels, schedule, target. "
                 "Example: --stop-after=graph -o -");
  app.add_option("--report", report, "Print what was made: text or json. Example: --report=json")
      ->expected(0, 1)
      ->default_str("text")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--check", check, "No code: list every node that some target cannot take");
  app.add_option("--weights", weights, "Where weights go: inside the module, or external, beside it")
      ->check(CLI::IsMember({"inside", "external"}));
  app.add_option("--cache", cache, "Folder of compiled kernels. Example: --cache=/tmp/kernels");
  app.add_flag("--no-cache", noCache, "Neither read nor write compiled kernels");
  app.add_option("--threads", threads, "Threads of code generation; 0 is one for each processor");
  try {
    app.parse(normalise(argc, argv));
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    std::fprintf(stderr, "vx-compile: error: %s\n", error.what());
    return VXC_USAGE;
  }
  if (output.empty() && stopAfter.empty())
    output = std::filesystem::path(model).replace_extension(".vxm").string();

  Sink sink;
  std::vector<const char *> dimPointers;
  for (const std::string &dim : dims)
    dimPointers.push_back(dim.c_str());
  vxc_options options = {};
  options.struct_size = sizeof(options);
  options.targets = targets.c_str();
  options.cpu_variants = cpu.empty() ? nullptr : cpu.c_str();
  options.dims = dimPointers.data();
  options.num_dims = dimPointers.size();
  options.stop_after = stopAfter.empty() ? nullptr : stopAfter.c_str();
  if (app.count("--report") > 0)
    options.report = report == "json" ? "json" : "text";
  options.cache_folder = noCache || cache.empty() ? nullptr : cache.c_str();
  options.threads = threads;
  options.check_only = check;
  options.strict_math = strictMath;
  options.external_weights = weights == "external";
  options.on_message = [](void *data, vxc_severity severity, const char *message) {
    static_cast<Sink *>(data)->console.say(severity, message);
  };
  options.on_text = [](void *data, const char *text, size_t size) {
    static_cast<Sink *>(data)->text.append(text, size);
  };
  options.user_data = &sink;
  vxc_result result = vxc_compile(model.c_str(), output.c_str(), &options);
  if (result != VXC_DONE)
    return result;
  // The text of a phase goes to the output file when there is one; a report always to stdout.
  if (!stopAfter.empty() && !output.empty() && output != "-") {
    // A device or a pipe is written in place: a rename would replace it.
    std::error_code ignored;
    bool inPlace = std::filesystem::exists(output, ignored) && !std::filesystem::is_regular_file(output, ignored);
    std::string partial = inPlace ? output : output + ".partial";
    std::FILE *file = std::fopen(partial.c_str(), "wb");
    bool isWritten = file && std::fwrite(sink.text.data(), 1, sink.text.size(), file) == sink.text.size();
    isWritten = (!file || std::fclose(file) == 0) && isWritten;
    if (!isWritten || (!inPlace && std::rename(partial.c_str(), output.c_str()) != 0)) {
      std::fprintf(stderr, "vx-compile: error: cannot write '%s': %s\n", output.c_str(), std::strerror(errno));
      if (!inPlace)
        std::remove(partial.c_str());
      return VXC_FAILED;
    }
    return VXC_DONE;
  }
  if (std::fwrite(sink.text.data(), 1, sink.text.size(), stdout) != sink.text.size() || std::fflush(stdout) != 0) {
    std::fprintf(stderr, "vx-compile: error: cannot write to stdout: %s\n", std::strerror(errno));
    return VXC_FAILED;
  }
  return VXC_DONE;
}

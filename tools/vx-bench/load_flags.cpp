#include "load_flags.h"

#include "command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

namespace vx::tools {

void addLoadFlags(CLI::App &app, LoadOptions &options) {
  app.add_option("--url", options.url, "http[s]://HOST:PORT of a running server; --model is then one of its names")
      ->group("Server");
  app.add_option("--clients", options.clients,
                 "Clients, each of which waits for its answer before it asks again; 16 by default")
      ->check(wholeNumber(1, 4096))
      ->group("Server");
  app.add_option("--seconds", options.seconds, "Seconds to keep the server busy for; 10 by default")
      ->check(numberAbove(0))
      ->group("Server");
  app.add_option("--turns", options.turns,
                 "Parts of these seconds, between which the engine runs alone; 5 with --engine, else 1")
      ->check(wholeNumber(1, 1000))
      ->group("Server");
  app.add_option("--engine", options.engine,
                 "The module or folder that the server has: answers are compared with its own, and it runs alone, on "
                 "--threads, in turns with the server, in batches of the sizes that /metrics names")
      ->group("Server");
  app.add_option("--api-key-file", options.keyFile, "A file with the key for the server; VX_API_KEY by default")
      ->group("Server");
  app.add_option("--cacert", options.certificates,
                 "A file with certificates (PEM) to trust in place of the system's authorities, for https")
      ->group("Server");
  app.add_option("--least-ratio", options.leastRatio,
                 "Exit code 1 where the server has less than this of the engine's rate")
      ->check(numberAbove(0))
      ->group("Gates");
  app.add_option("--most-own-cpu", options.mostOwnCpu,
                 "Exit code 1 where a request takes more microseconds of CPU, those of the engine left out")
      ->check(numberAbove(0))
      ->group("Gates");
  app.add_option("--most-growth", options.mostGrowth,
                 "Exit code 1 where the server's memory grows by more, as 16MiB, in the second half of the time")
      ->check(byteCount())
      ->group("Gates");
}

void checkLoadFlags(const CLI::App &app, const LoadOptions &options) {
  static constexpr std::array<std::string_view, 9> without = {"--html",     "--baseline",   "--allow",
                                                              "--min-time", "--min-runs",   "--no-probes",
                                                              "--compare",  "--peer-model", "--peer-script"};
  for (const CLI::Option *option : app.get_options()) {
    const std::string &name = option->get_name(), &group = option->get_group();
    if (option->count() == 0)
      continue;
    if (options.url.empty() && (group == "Server" || group == "Gates"))
      throw usageError("{} goes with --url", name);
    if (!options.url.empty() && std::find(without.begin(), without.end(), name) != without.end())
      throw usageError("{}: expected none beside --url", name);
  }
  if (!options.url.empty() && options.engine.empty() && (options.leastRatio || options.mostOwnCpu))
    throw usageError("{}: expected --engine, which the server is compared with",
                     options.leastRatio ? "--least-ratio" : "--most-own-cpu");
}

} // namespace vx::tools

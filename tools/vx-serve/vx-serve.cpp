// vx-serve: models over HTTP.
#include "command_line.h"
#include "compile_child.h"
#include "server_log.h"
#include "server_process.h"
#include "source_commit.h"
#include "tool_configuration.h"

#include "vx/serve/error.hpp"

#include <CLI/CLI.hpp>

using namespace vx::tools;
namespace serve = vx::serve;

static constexpr const char *Examples = R"(
TERM and INT end the server when what is going on is done, a second one at once. After TERM requests are answered for
drain_delay_s more, while the health paths say that it is draining. HUP, or a change of a file of the configuration, has it read
again.

Examples:
  Serve:          vx-serve --model minilm.vxm
                  vx-serve --config config.toml --port 9000
  Others' reach:  vx-serve --host 0.0.0.0 --api-keys-file keys --tls-cert cert.pem --tls-key key.pem
  Configuration:  vx-serve --check-config --config config.toml
                  vx-serve --print-config
)";

static int run(const char *name, int argc, char **argv) {
  CLI::App app("Serves embeddings and any module over HTTP.");
  ConfigurationOptions options;
  options.addTo(app);
  bool checks = false, prints = false;
  app.add_flag("--check-config", checks, "Tell all that is wrong with the configuration, and exit");
  app.add_flag("--print-config", prints, "Print each value of the configuration with where it came from, and exit");
  if (!parseCommandLine(app, name, Examples, argc, argv))
    return 0;
  const serve::ConfigurationSources sources = options.sources();
  const std::optional<serve::Configuration> configuration = readOrTell(name, sources);
  if (!configuration)
    return static_cast<int>(ExitCode::Usage);
  if (prints)
    printText(serve::printConfiguration(*configuration));
  // What is to be served by its name is served, or there is no server; what lies in a folder may be anything.
  if (!prints && tellMessages(name, serve::Serving::check(*configuration)))
    return static_cast<int>(ExitCode::BadInput);
  if (prints || checks)
    return 0;
  CompileChild compiler(*configuration->cacheDir, [](const std::string &text) { serve::logLine("warning", text); });
  const serve::ServerProcess process = {
      .name = name,
      .commit = sourceCommit(),
      .compile =
          [&](const serve::ModelSettings &settings, const serve::CompileLimits &limits) {
            return compiler.compile(settings.path, settings.instance.device, settings.instance.noFallback,
                                    {limits.time, limits.memory, limits.isStopped});
          },
      .abandon = [] { std::_Exit(static_cast<int>(ExitCode::Failed)); }};
  try {
    serve::runServerProcess(process, sources, *configuration);
    return 0;
  } catch (const serve::Error &error) {
    if (error.kind() == serve::Error::Kind::argument)
      throw usageError("{}", error.what());
    if (error.kind() == serve::Error::Kind::data)
      throw fileError("{}", error.what());
    throw workError("{}", error.what());
  }
}

int main(int argc, char **argv) { return runTool("vx-serve", argc, argv, run); }

// The command line of vx-bench embed.
#ifndef VX_BENCH_EMBED_OPTIONS_H
#define VX_BENCH_EMBED_OPTIONS_H

#include "bench_options.h"
#include "load_flags.h"

#include <string>
#include <vector>

namespace vx::tools {

struct EmbedOptions {
  std::string model, device = "cpu", threads = "0", lengths, batchSizes;
  TurnOptions turns;
  LoadOptions load;
  std::string encoding = "float"; // of vectors that a server sends
  std::string compare, peerModel, peerScript;
  ReportOptions report;
  std::string baseline;
  double allowed = 0.15;
};

// False when --help or --version has been answered.
bool parseEmbedOptions(const char *name, int argc, char **argv, EmbedOptions &options);

} // namespace vx::tools

#endif

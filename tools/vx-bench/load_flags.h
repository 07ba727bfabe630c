// The flags of benchmarks that ask a server.
#ifndef VX_BENCH_LOAD_FLAGS_H
#define VX_BENCH_LOAD_FLAGS_H

#include "load_options.h"

namespace CLI {
class App;
}

namespace vx::tools {

void addLoadFlags(CLI::App &app, LoadOptions &options);

// Throws a usage error for a flag of `app` that goes with --url where there is none, or the other way round.
void checkLoadFlags(const CLI::App &app, const LoadOptions &options);

} // namespace vx::tools

#endif

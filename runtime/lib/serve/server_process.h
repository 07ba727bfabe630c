// A server as a process: it listens until a signal ends it, reads its configuration again, and drains.
#ifndef VX_SERVE_SERVER_PROCESS_H
#define VX_SERVE_SERVER_PROCESS_H

#include "configuration.h"
#include "serving.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

namespace vx::serve {

// The limits of one compilation.
struct CompileLimits {
  std::chrono::seconds time{0};
  uint64_t memory = 0;                          // bytes
  const std::atomic<bool> *isStopped = nullptr; // ends it at once
};

struct ServerProcess {
  std::string name;   // of the program, for the first line
  std::string commit; // that /metrics shows
  // The module file of a model that is none. Called on the threads that load, and may throw an Error.
  std::function<std::string(const ModelSettings &settings, const CompileLimits &limits)> compile;
  // Ends the process while requests are still running, after the log is written.
  std::function<void()> abandon;
};

// Serves until TERM or INT, and returns when all requests are done. Throws Error if it cannot start. To be called by
// the program's main thread before it starts others: it blocks TERM, INT and HUP in all of them, ignores SIGPIPE,
// raises the limit of descriptors to the most that the system allows, and sets limits of malloc.
void runServerProcess(const ServerProcess &process, const ConfigurationSources &sources,
                      const Configuration &configuration);

} // namespace vx::serve

#endif

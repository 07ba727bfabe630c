// How a server is asked: by how many clients, for how long, and the limits of its results.
#ifndef VX_BENCH_LOAD_OPTIONS_H
#define VX_BENCH_LOAD_OPTIONS_H

#include "server_client.h"

#include <cstdint>
#include <optional>
#include <string>

namespace vx::tools {

struct LoadOptions {
  std::string url; // empty: no server is asked
  std::string engine;
  std::string keyFile;
  std::string certificates; // of authorities to trust, a file of PEM; empty: those of the system
  uint32_t clients = 16;
  std::optional<uint32_t> turns; // 5 beside an engine, else 1
  double seconds = 10;           // of all turns

  // Gates: a worse result is exit code 1.
  std::optional<double> leastRatio;      // to the engine alone
  std::optional<double> mostOwnCpu;      // microseconds a request, beside the engine's
  std::optional<std::string> mostGrowth; // bytes of resident memory

  // The server, and the key for it. Throws as `key`, and a usage error.
  Endpoint endpoint() const { return Endpoint(url, key(), certificates); }
  // Of --api-key-file, or of the variable VX_API_KEY; empty: none. Throws a ToolError for a file that cannot be read.
  std::string key() const;
};

} // namespace vx::tools

#endif

// A server under load, and in turns with it the engine alone in batches of the sizes that the server has run.
#ifndef VX_BENCH_SERVER_BENCH_H
#define VX_BENCH_SERVER_BENCH_H

#include "load_options.h"
#include "measurement.h"
#include "server_load.h"
#include "server_metrics.h"

#include <nlohmann/json.hpp>

namespace vx::tools {

struct ServerCase {
  std::string model; // the server's name for it
  std::string path;  // that is asked, "/v1/embeddings"
  SymbolValues dims;
  std::vector<LoadRequest> requests;
  CheckAnswer check;
  // The engine on batches of so many rows; empty: it does not run.
  std::function<std::unique_ptr<Contestant>(size_t rows)> makeEngine;
};

struct ServerResult {
  std::string url, model, path;
  SymbolValues dims;
  uint32_t clients = 0, cores = 0;
  LoadResult load;
  ServerMetrics server;         // of the times that count
  std::optional<double> growth; // of the resident memory in the second half of these, in bytes

  // Of the engine alone; nothing where it did not run.
  std::optional<double> engineRate; // rows a second
  std::vector<double> ratios;       // of the server's rate, the clients' CPU counted out, to the engine's; one a turn
  std::optional<double> ownCpu;     // microseconds of the server's CPU for a request, those of the engine left out

  // Rows a second without the clients: rows / (seconds - clients' CPU / cores).
  double rate() const;
  nlohmann::ordered_json json() const;
  std::string text() const;
};

// Throws a ToolError (exit 1) where the server cannot be reached.
ServerResult benchServer(const LoadOptions &options, double warmUp, const ServerCase &given);

// {"version":1,"record":{...},"results":[...]} as a line, and a text.
std::string serverDocument(const std::vector<ServerResult> &results);
std::string serverText(const std::vector<ServerResult> &results);

struct JudgedGate {
  bool holds = false;
  std::string text; // the sizes, the expected and the measured value
};

// Each gate of the options for each result, and the requests that have failed.
std::vector<JudgedGate> judgeGates(const std::vector<ServerResult> &results, const LoadOptions &options);

// What a server answers to a request of its own JSON. Throws a ToolError (exit 1) where that is no JSON or not status
// 200.
nlohmann::json askJson(HttpConnection &connection, const std::string &request);

} // namespace vx::tools

#endif

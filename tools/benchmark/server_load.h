// Clients that keep a server busy: each waits for its answer before it asks again.
#ifndef VX_BENCH_SERVER_LOAD_H
#define VX_BENCH_SERVER_LOAD_H

#include "server_client.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace vx::tools {

struct LoadRequest {
  std::string bytes;
  uint64_t rows = 0, tokens = 0;
};

// The mistake in the answer of status 200 to a request; empty: none. Called by many threads.
using CheckAnswer = std::function<std::string(size_t request, const HttpAnswer &answer)>;

struct LoadTurn {
  size_t clients = 1;
  double warmUp = 1, seconds = 10;
  // Called when the time that counts begins (0), in its middle (1) and when it ends (2), by the thread that waits.
  std::function<void(int half)> at;
};

struct LoadResult {
  double seconds = 0;
  // Of the requests that ran within these seconds. A request that an end of them cuts counts by the part of its time
  // inside: batches end together, and a short run would have one more or less.
  double requests = 0, rows = 0, tokens = 0;
  std::vector<double> latencies; // seconds, of requests that lie inside as a whole; from the first byte to the last
  // From the first request of the warm-up on: "429", "connection", "answer".
  std::map<std::string, uint64_t> failures;
  std::string firstFailure;
  double clientCpu = 0; // seconds that the clients' own threads have computed for

  uint64_t failed() const;
  void add(LoadResult &&other);
};

// Client i begins with another request than the others, and takes them in turn.
LoadResult runLoad(const Endpoint &endpoint, const std::vector<LoadRequest> &requests, const CheckAnswer &check,
                   const LoadTurn &turn);

} // namespace vx::tools

#endif

#include "server_bench.h"

#include "bench_record.h"
#include "bench_report.h"
#include "command_line.h"

#include "vx/base/json_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <sys/resource.h>
#include <thread>

namespace vx::tools {

using Json = nlohmann::ordered_json;

namespace {

// One size of batches of the engine, which stays loaded from turn to turn.
struct EngineSize {
  std::unique_ptr<Contestant> contestant;
  std::vector<double> times;
  double cpu = 0; // seconds that all runs took of all threads

  double seconds() const {
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    return percentile(sorted, 0.5);
  }
};

double processCpu() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

std::optional<double> middleOf(std::vector<double> values) {
  if (values.empty())
    return std::nullopt;
  std::sort(values.begin(), values.end());
  return percentile(values, 0.5);
}

Json orNull(const std::optional<double> &value) { return value ? Json(*value) : Json(nullptr); }

class ServerBench {
public:
  ServerBench(const LoadOptions &options, double warmUp, const ServerCase &given)
      : options(options), warmUp(warmUp), given(given), endpoint(options.endpoint()), connection(endpoint) {}

  ServerResult run() {
    result.url = options.url;
    result.model = given.model;
    result.path = given.path;
    result.dims = given.dims;
    result.clients = options.clients;
    result.cores = std::max(1u, std::thread::hardware_concurrency());
    const uint32_t turns = options.turns.value_or(given.makeEngine ? 5 : 1);
    for (uint32_t turn = 0; turn < turns; ++turn) {
      showProgress(fmt::format("{}: turn {} of {}", given.model, turn + 1, turns));
      takeTurn(options.seconds / turns);
    }
    showProgress("");
    if (!resident.empty()) {
      result.growth = resident.back() - resident[resident.size() / 2];
      result.server.residentBytes = resident.back();
    }
    std::sort(result.load.latencies.begin(), result.load.latencies.end());
    if (given.makeEngine && !result.server.batches.empty())
      countEngine();
    return std::move(result);
  }

private:
  void takeTurn(double seconds) {
    ServerMetrics before;
    LoadTurn load{options.clients, warmUp, seconds, {}};
    load.at = [&](int half) {
      const ServerMetrics now = readMetrics();
      if (now.residentBytes)
        resident.push_back(*now.residentBytes);
      if (half == 0)
        before = now;
      if (half == 2)
        before = now.since(before);
    };
    LoadResult loaded = runLoad(endpoint, given.requests, given.check, load);
    const double rate = loaded.rows / (loaded.seconds - loaded.clientCpu / result.cores);
    result.server.add(before);
    result.load.add(std::move(loaded));
    if (!given.makeEngine || before.batches.empty())
      return;
    // As long as the server, each size for its part of the rows.
    const double all = rowsOf(before.batches);
    double batchSeconds = 0;
    for (const auto &[rows, count] : before.batches) {
      const double part = static_cast<double>(rows * count) / all;
      EngineSize &size = sizes[rows];
      std::vector<double> ignored;
      if (!size.contestant) {
        size.contestant = given.makeEngine(rows);
        size.contestant->run(0, 2, ignored);
      }
      const double cpuBefore = processCpu();
      std::vector<double> times;
      size.contestant->run(seconds * part, 3, times);
      size.cpu += processCpu() - cpuBefore;
      size.times.insert(size.times.end(), times.begin(), times.end());
      batchSeconds += static_cast<double>(count) * *middleOf(std::move(times));
    }
    result.ratios.push_back(rate / (all / batchSeconds));
  }

  void countEngine() {
    double seconds = 0, cpu = 0;
    for (const auto &[rows, count] : result.server.batches) {
      const EngineSize &size = sizes.at(rows);
      seconds += static_cast<double>(count) * size.seconds();
      cpu += static_cast<double>(count) * size.cpu / static_cast<double>(size.times.size());
    }
    result.engineRate = rowsOf(result.server.batches) / seconds;
    if (result.server.cpuSeconds && result.load.requests > 0)
      result.ownCpu = (*result.server.cpuSeconds - cpu) / result.load.requests * 1e6;
  }

  static double rowsOf(const std::map<uint64_t, uint64_t> &batches) {
    return std::accumulate(batches.begin(), batches.end(), 0.0, [](double sum, const auto &entry) {
      return sum + static_cast<double>(entry.first * entry.second);
    });
  }

  // What is not there stays unknown: a server of others may have no such page, or not for this key.
  ServerMetrics readMetrics() {
    try {
      const HttpAnswer answer = connection.ask(connection.format("GET", "/metrics"));
      return answer.status == 200 ? parseServerMetrics(answer.body, given.model) : ServerMetrics();
    } catch (const ConnectionError &) {
      return {};
    }
  }

  const LoadOptions &options;
  const double warmUp;
  const ServerCase &given;
  const Endpoint endpoint;
  HttpConnection connection;
  ServerResult result;
  std::vector<double> resident;
  std::map<uint64_t, EngineSize> sizes;
};

} // namespace

double ServerResult::rate() const { return load.rows / (load.seconds - load.clientCpu / cores); }

ServerResult benchServer(const LoadOptions &options, double warmUp, const ServerCase &given) {
  return ServerBench(options, warmUp, given).run();
}

static std::optional<double> millisecondsAt(const ServerResult &result, double part) {
  if (result.load.latencies.empty())
    return std::nullopt;
  return percentile(result.load.latencies, part) * 1e3;
}

Json ServerResult::json() const {
  Json batches = Json::array();
  for (const auto &[rows, count] : server.batches)
    batches.push_back({{"rows", rows}, {"count", count}});
  const auto each = [this](double sum) { return load.requests > 0 ? Json(sum / load.requests) : Json(nullptr); };
  Json object = {{"url", url},
                 {"path", path},
                 {"model", model},
                 {"clients", clients},
                 {"dims", dims},
                 {"seconds", load.seconds},
                 {"requests", load.requests},
                 {"failed", load.failed()},
                 {"failures", load.failures},
                 {"requests_per_second", load.requests / load.seconds},
                 {"rows_per_second", load.rows / load.seconds},
                 {"tokens_per_second", load.tokens / load.seconds},
                 {"p50_ms", orNull(millisecondsAt(*this, 0.5))},
                 {"p95_ms", orNull(millisecondsAt(*this, 0.95))},
                 {"p99_ms", orNull(millisecondsAt(*this, 0.99))},
                 {"max_ms", orNull(millisecondsAt(*this, 1))},
                 {"client_cpu_seconds", load.clientCpu},
                 {"cores", cores},
                 {"rows_per_second_without_clients", rate()}};
  object["server"] = {{"cpu_seconds", orNull(server.cpuSeconds)},
                      {"cpu_us_per_request", server.cpuSeconds ? each(*server.cpuSeconds * 1e6) : Json(nullptr)},
                      {"resident_bytes", orNull(server.residentBytes)},
                      {"growth_bytes", orNull(growth)},
                      {"batches", std::move(batches)}};
  if (engineRate)
    object["engine"] = {{"rows_per_second", *engineRate},
                        {"ratio", orNull(middleOf(ratios))},
                        {"ratios", ratios},
                        {"own_cpu_us_per_request", orNull(ownCpu)}};
  return object;
}

std::string ServerResult::text() const {
  const auto at = [this](double part) {
    const std::optional<double> time = millisecondsAt(*this, part);
    return time ? fmt::format("{:.3f}", *time) : "-";
  };
  std::string text =
      fmt::format("{} at {}{}, {} clients, {}: {:.1f} s, {:.0f} requests, {} failed\n", printableLine(model),
                  printableLine(url), path, clients, dimsText(dims), load.seconds, load.requests, load.failed());
  text += fmt::format("  {:.1f} requests/s, {:.1f} rows/s, {:.0f} tokens/s; p50 {} ms, p95 {} ms, p99 {} ms\n",
                      load.requests / load.seconds, load.rows / load.seconds, load.tokens / load.seconds, at(0.5),
                      at(0.95), at(0.99));
  text += fmt::format("  clients: {:.3f} s of CPU on {} cores; without them {:.1f} rows/s\n", load.clientCpu, cores,
                      rate());
  std::vector<std::string> seen;
  for (const auto &[rows, count] : server.batches)
    seen.push_back(fmt::format("{} of {}", count, rows));
  if (server.cpuSeconds && load.requests > 0)
    text += fmt::format("  server: {:.0f} us of CPU a request, {:.1f} MiB of memory, {:+.2f} MiB in the second half\n",
                        *server.cpuSeconds / load.requests * 1e6, server.residentBytes.value_or(0) / (1 << 20),
                        growth.value_or(0) / (1 << 20));
  if (!seen.empty())
    text += fmt::format("  batches by rows: {}\n", fmt::join(seen, ", "));
  if (engineRate && !ratios.empty())
    text += fmt::format("  engine alone in these: {:.1f} rows/s; the server has {:.3f} of it ({:.3f} to {:.3f}){}\n",
                        *engineRate, *middleOf(ratios), *std::min_element(ratios.begin(), ratios.end()),
                        *std::max_element(ratios.begin(), ratios.end()),
                        ownCpu ? fmt::format(", and takes {:.1f} us of CPU a request beside it", *ownCpu) : "");
  return text;
}

std::string serverDocument(const std::vector<ServerResult> &results) {
  Json list = Json::array();
  for (const ServerResult &result : results)
    list.push_back(result.json());
  return vx::jsonText(Json({{"version", 1}, {"record", benchRecord().json({})}, {"results", std::move(list)}}), 2) +
         "\n";
}

std::vector<JudgedGate> judgeGates(const std::vector<ServerResult> &results, const LoadOptions &options) {
  std::vector<JudgedGate> judged;
  const auto judge = [&judged](const ServerResult &result, bool isGood, const std::string &text) {
    judged.push_back({isGood, fmt::format("{}: {}", dimsText(result.dims), printableLine(text))});
  };
  const auto known = [](const std::optional<double> &value) {
    return value ? fmt::format("{:.3f}", *value) : "nothing, since /metrics of the server does not say it";
  };
  for (const ServerResult &result : results) {
    const std::optional<double> ratio = middleOf(result.ratios);
    if (result.load.failed() > 0)
      judge(result, false, fmt::format("{} requests have failed: {}", result.load.failed(), result.load.firstFailure));
    else if (result.load.requests < 1)
      judge(result, false, fmt::format("expected an answer in {} s, got none", result.load.seconds));
    if (options.leastRatio)
      judge(result, ratio && *ratio >= *options.leastRatio,
            fmt::format("expected {} of the engine's rate, got {}", *options.leastRatio, known(ratio)));
    if (options.mostOwnCpu)
      judge(result, result.ownCpu && *result.ownCpu <= *options.mostOwnCpu,
            fmt::format("expected {} us of CPU a request beside the engine, got {}", *options.mostOwnCpu,
                        known(result.ownCpu)));
    if (options.mostGrowth)
      judge(result, result.growth && *result.growth <= static_cast<double>(*parseByteCount(*options.mostGrowth)),
            fmt::format("expected memory that grows by {} at the most, got {}", *options.mostGrowth,
                        result.growth ? fmt::format("{:.2f} MiB", *result.growth / (1 << 20)) : known(result.growth)));
  }
  return judged;
}

std::string serverText(const std::vector<ServerResult> &results) {
  std::string text = benchRecord().text({});
  for (const ServerResult &result : results)
    text += result.text();
  return text;
}

nlohmann::json askJson(HttpConnection &connection, const std::string &request) {
  try {
    const HttpAnswer answer = connection.ask(request);
    if (answer.status != 200)
      throw workError("the server answers with status {}: {}", answer.status, answer.body.substr(0, 500));
    nlohmann::json document = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
    if (document.is_discarded())
      throw workError("expected an answer of JSON, got '{}'", answer.body.substr(0, 100));
    return document;
  } catch (const ConnectionError &error) {
    throw workError("{}", error.what());
  }
}

} // namespace vx::tools

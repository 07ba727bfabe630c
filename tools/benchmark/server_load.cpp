#include "server_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <thread>

namespace vx::tools {

using Clock = std::chrono::steady_clock;

static double secondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

static double threadCpu() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

uint64_t LoadResult::failed() const {
  uint64_t count = 0;
  for (const auto &[code, failures] : failures)
    count += failures;
  return count;
}

void LoadResult::add(LoadResult &&other) {
  seconds += other.seconds;
  requests += other.requests;
  rows += other.rows;
  tokens += other.tokens;
  clientCpu += other.clientCpu;
  latencies.insert(latencies.end(), other.latencies.begin(), other.latencies.end());
  for (const auto &[code, count] : other.failures)
    failures[code] += count;
  if (firstFailure.empty())
    firstFailure = std::move(other.firstFailure);
}

namespace {

class Client {
public:
  Client(const Endpoint &endpoint, const std::vector<LoadRequest> &requests, const CheckAnswer &check, size_t first)
      : connection(endpoint), requests(requests), check(check), next(first) {}

  void run(Clock::time_point from, Clock::time_point until) {
    std::optional<double> cpuBefore;
    for (Clock::time_point now = Clock::now(); now < until; now = Clock::now()) {
      if (now >= from && !cpuBefore)
        cpuBefore = threadCpu();
      if (!ask(now, from, until))
        // A server that refuses is not to be kept busy with refusing.
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    result.clientCpu = threadCpu() - cpuBefore.value_or(threadCpu());
  }

  LoadResult result;

private:
  bool ask(Clock::time_point begin, Clock::time_point from, Clock::time_point until) {
    const size_t number = next++ % requests.size();
    const LoadRequest &request = requests[number];
    try {
      const HttpAnswer answer = connection.ask(request.bytes);
      const Clock::time_point end = Clock::now();
      if (answer.status != 200)
        return fail(std::to_string(answer.status), fmt::format("status {}: {}", answer.status, answer.body));
      if (const std::string wrong = check(number, answer); !wrong.empty())
        return fail("answer", wrong);
      const double part =
          std::max(0.0, secondsBetween(std::max(begin, from), std::min(end, until))) / secondsBetween(begin, end);
      result.requests += part;
      result.rows += part * static_cast<double>(request.rows);
      result.tokens += part * static_cast<double>(request.tokens);
      if (begin >= from && end <= until)
        result.latencies.push_back(secondsBetween(begin, end));
      return true;
    } catch (const ConnectionError &error) {
      return fail("connection", error.what());
    }
  }

  bool fail(const std::string &code, const std::string &text) {
    ++result.failures[code];
    if (result.firstFailure.empty())
      result.firstFailure = text.substr(0, 500);
    return false;
  }

  HttpConnection connection;
  const std::vector<LoadRequest> &requests;
  const CheckAnswer &check;
  size_t next;
};

} // namespace

LoadResult runLoad(const Endpoint &endpoint, const std::vector<LoadRequest> &requests, const CheckAnswer &check,
                   const LoadTurn &turn) {
  const auto duration = [](double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  const Clock::time_point from = Clock::now() + duration(turn.warmUp), until = from + duration(turn.seconds);
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < turn.clients; ++i)
    clients.push_back(std::make_unique<Client>(endpoint, requests, check, i * requests.size() / turn.clients));
  for (const std::unique_ptr<Client> &client : clients)
    threads.emplace_back([&client, from, until] { client->run(from, until); });
  for (int half = 0; half <= 2; ++half) {
    std::this_thread::sleep_until(from + duration(turn.seconds * half / 2));
    if (turn.at)
      turn.at(half);
  }
  LoadResult result;
  for (size_t i = 0; i < clients.size(); ++i) {
    threads[i].join();
    result.add(std::move(clients[i]->result));
  }
  result.seconds = turn.seconds;
  return result;
}

} // namespace vx::tools

#include "trace_exporter.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

namespace vx::serve {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t mostAtOnce = 512;
constexpr std::chrono::seconds longestWait{1}; // of a span for others
constexpr std::chrono::seconds firstPause{1}, longestPause{30}, betweenWarnings{60}, longestCall{10}, longestEnd{1};

// A collector that is busy may take the same spans later (OTLP, "Failures").
bool isWorthRepeating(unsigned status) { return status == 429 || status == 502 || status == 503 || status == 504; }

// Spans that the collector has taken the request of, and refused.
uint64_t rejectedSpans(const std::string &body) {
  const nlohmann::json answer = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  const auto partial = answer.is_object() ? answer.find("partialSuccess") : answer.end();
  if (!answer.is_object() || partial == answer.end() || !partial->is_object() || !partial->contains("rejectedSpans"))
    return 0;
  const nlohmann::json &count = (*partial)["rejectedSpans"];
  if (count.is_number_unsigned())
    return count.get<uint64_t>();
  return count.is_string() ? std::strtoull(count.get_ref<const std::string &>().c_str(), nullptr, 10) : 0;
}

} // namespace

// Of the exporter and its thread, which may be the last one to leave.
struct TraceExporter::State {
  State(const HttpUrl &url, std::vector<Span::Attribute> resource, Warn warn)
      : url(url), resource(std::move(resource)), warn(std::move(warn)) {}

  // A call that failed, with the reason; or one that did not.
  enum class Result : uint8_t { sent, refused, failed };
  Result send(HttpClient &client, const std::vector<Span> &spans, std::string &reason);
  void tell(Result result, const std::string &reason);
  void work();

  const HttpUrl url;
  const std::vector<Span::Attribute> resource;
  std::mutex warnLock;
  Warn warn; // until the exporter is gone
  std::mutex lock;
  std::condition_variable changed;
  std::deque<Span> waiting;
  bool isEnding = false, isOver = false;
  std::atomic<uint64_t> sent = 0, dropped = 0;
  Clock::time_point nextWarning = Clock::time_point::min(); // the first one is reported at once
  bool isFailing = false;
};

TraceExporter::State::Result TraceExporter::State::send(HttpClient &client, const std::vector<Span> &spans,
                                                        std::string &reason) {
  const std::string request =
      client.format("POST", url.target, otlpJson(spans, resource), {{"Content-Type", "application/json"}});
  const auto ask = [&] {
    try {
      return client.ask(request);
    } catch (const ConnectionError &) {
      return client.ask(request); // the collector had closed a connection without requests
    }
  };
  try {
    const ClientAnswer answer = ask();
    if (answer.status / 100 == 2) {
      const uint64_t rejected = std::min<uint64_t>(rejectedSpans(answer.body), spans.size());
      sent += spans.size() - rejected;
      dropped += rejected;
      return Result::sent;
    }
    reason = fmt::format("expected status 200, got {}", answer.status);
    return isWorthRepeating(answer.status) ? Result::failed : Result::refused;
  } catch (const std::exception &error) {
    reason = error.what();
    return Result::failed;
  }
}

void TraceExporter::State::tell(Result result, const std::string &reason) {
  if (result == Result::sent) {
    std::lock_guard guard(warnLock);
    if (isFailing && warn)
      warn(fmt::format("traces: '{}' takes spans again, {} were dropped", url.text(), dropped.load()));
    isFailing = false;
    nextWarning = Clock::time_point::min();
    return;
  }
  isFailing = true;
  std::lock_guard guard(warnLock);
  if (!warn || Clock::now() < nextWarning)
    return;
  nextWarning = Clock::now() + betweenWarnings;
  warn(fmt::format("traces: '{}' takes no spans: {}; {} were dropped so far", url.text(), reason, dropped.load()));
}

void TraceExporter::State::work() {
  std::unique_ptr<HttpClient> client;
  std::chrono::seconds pause = firstPause;
  std::unique_lock guard(lock);
  for (;;) {
    changed.wait(guard, [this] { return isEnding || !waiting.empty(); });
    if (!isEnding && waiting.size() < mostAtOnce)
      changed.wait_for(guard, longestWait, [this] { return isEnding || waiting.size() >= mostAtOnce; });
    if (waiting.empty()) {
      if (!isEnding)
        continue;
      break;
    }
    const size_t count = std::min(waiting.size(), mostAtOnce);
    std::vector<Span> spans(std::make_move_iterator(waiting.begin()),
                            std::make_move_iterator(waiting.begin() + static_cast<ptrdiff_t>(count)));
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(count));
    guard.unlock();
    std::string reason;
    Result result = Result::failed;
    try {
      if (!client)
        client = std::make_unique<HttpClient>(url, HttpClientOptions{.time = longestCall, .mostBytes = 1 << 20});
      result = send(*client, spans, reason);
    } catch (const std::exception &error) {
      reason = error.what();
    }
    tell(result, reason);
    guard.lock();
    if (result == Result::refused)
      dropped += spans.size();
    if (result != Result::failed) {
      pause = firstPause;
      continue;
    }
    // They are the oldest, which go first if there are too many.
    const size_t room = mostWaiting - std::min(waiting.size(), mostWaiting);
    const size_t back = isEnding ? 0 : std::min(room, spans.size());
    dropped += spans.size() - back;
    waiting.insert(waiting.begin(), std::make_move_iterator(spans.end() - static_cast<ptrdiff_t>(back)),
                   std::make_move_iterator(spans.end()));
    if (isEnding)
      break;
    changed.wait_for(guard, pause, [this] { return isEnding; });
    pause = std::min(pause * 2, longestPause);
  }
  dropped += waiting.size();
  waiting.clear();
  isOver = true;
  changed.notify_all();
}

TraceExporter::TraceExporter(const HttpUrl &url, std::vector<Span::Attribute> resource, Warn warn)
    : state(std::make_shared<State>(url, std::move(resource), std::move(warn))) {
  // It may wait for the resolver of names for longer than anybody waits for it.
  std::thread([state = state] { state->work(); }).detach();
}

TraceExporter::~TraceExporter() {
  std::unique_lock guard(state->lock);
  state->isEnding = true;
  state->changed.notify_all();
  state->changed.wait_for(guard, longestEnd, [this] { return state->isOver; });
  guard.unlock();
  std::lock_guard silence(state->warnLock);
  state->warn = nullptr;
}

void TraceExporter::add(std::vector<Span> spans) {
  std::lock_guard guard(state->lock);
  state->waiting.insert(state->waiting.end(), std::make_move_iterator(spans.begin()),
                        std::make_move_iterator(spans.end()));
  while (state->waiting.size() > mostWaiting) {
    state->waiting.pop_front();
    ++state->dropped;
  }
  // Few do not wake the thread: it looks once a second.
  if (state->waiting.size() == spans.size() || state->waiting.size() >= mostAtOnce)
    state->changed.notify_all();
}

TraceExporter::Counts TraceExporter::counts() const { return {state->sent, state->dropped}; }

} // namespace vx::serve

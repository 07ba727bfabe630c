// Requests with random options that run at one time, to eight models, each answer held against that of the same request
// alone: the bodies are equal to the last byte. Some are cancelled, lose their client or have little time, which
// changes nothing for the others.
//
//   request_mix_fuzzer [--seconds N] [--requests N] [--seed N] [--leave-out PART]
//
// With PART, one of a batch key's, requests that differ in it alone are no longer told apart, and the program ends with
// success when an answer is wrong: it shows that such a mistake is found.
#include "made_requests.h"

#include "batch_key.h"
#include "embedding_module.h"
#include "raw_client.h"
#include "service.h"

#include <fmt/format.h>

#include <cstdio>
#include <future>

using namespace vx::serve;

static std::string leftOut;

namespace vx::serve {
// In place of the library's own.
bool isPartOfBatchKey(std::string_view part) { return part != leftOut; }
} // namespace vx::serve

namespace {

using namespace std::chrono_literals;
using vx::fuzz::MadeRequest;
using vx::fuzz::RequestMaker;

struct Answer {
  unsigned status = 0; // 0: there was none
  std::string body;
  bool operator==(const Answer &) const = default;
};

// Lets everybody do everything.
class OpenGate final : public Gatekeeper {
public:
  Caller identify(const HttpRequest &) override { return {"", true}; }
  void countRequest(RequestNotes &) override {}
  void countTokens(RequestNotes &, uint64_t) override {}
  bool hasKeys() const override { return false; }
};

// A request without a connection.
class HeldExchange final : public HttpExchange {
public:
  explicit HeldExchange(HttpRequest given) { request = std::move(given); }

  void reply(HttpResponse response) override {
    if (!isOver.exchange(true))
      answer.set_value({response.status, std::move(response.body)});
  }
  bool cancel(HttpResponse response) override {
    if (isOver.exchange(true))
      return false;
    answer.set_value({response.status, std::move(response.body)});
    tellGone();
    return true;
  }
  // The client goes.
  void lose() {
    if (isOver.exchange(true))
      return;
    answer.set_value({});
    tellGone();
  }
  bool isGone() const override { return gone; }
  void whenGone(std::function<void()> function) override {
    {
      std::lock_guard guard(lock);
      if (!gone) {
        waiting.push_back(std::move(function));
        return;
      }
    }
    function();
  }
  void reserveAnswer(uint64_t) override {}

  std::promise<Answer> answer;

private:
  void tellGone() {
    std::vector<std::function<void()>> functions;
    {
      std::lock_guard guard(lock);
      gone = true;
      functions.swap(waiting);
    }
    for (const auto &function : functions)
      function();
  }
  std::mutex lock;
  std::atomic<bool> isOver = false, gone = false;
  std::vector<std::function<void()>> waiting;
};

// Eight models behind one service, which also listens.
class Bench {
public:
  Bench() {
    const auto addModel = [&](const std::string &name, const std::string &path, bool deterministic, size_t rows,
                              size_t tokens, std::chrono::milliseconds timeout) {
      ModelSettings settings;
      settings.name = name;
      settings.path = path;
      settings.instance.device = "cpu";
      settings.instance.threads = 1;
      settings.deterministic = deterministic;
      settings.limits = {.queue = 100'000, .rows = rows, .tokens = tokens, .timeout = timeout};
      models.add(settings);
      models.load(name);
    };
    using vx::test::writeEmbeddingModule, vx::test::writeMixModule;
    constexpr int64_t work = 5000;
    addModel("words", writeEmbeddingModule("words.vxm", {.work = work}), false, 32, 16384, 5ms);
    addModel("even", writeEmbeddingModule("even.vxm", {.salt = 1, .work = work}), true, 8, 16384, 5ms);
    addModel("apart", writeEmbeddingModule("apart.vxm", {.joins = false, .salt = 2, .work = work}), false, 16, 64, 1ms);
    addModel("small", writeEmbeddingModule("small.vxm", {.salt = 3, .work = work}), false, 5, 40, 2ms);
    addModel("mix", writeMixModule("mix.vxm", {.work = work}), false, 32, 16384, 5ms);
    addModel("mix-even", writeMixModule("mix_even.vxm", {.salt = 1, .work = work}), true, 8, 16384, 5ms);
    addModel("mix-apart", writeMixModule("mix_apart.vxm", {.joins = false, .salt = 2, .work = work}), false, 32, 64,
             1ms);
    addModel("mix-small", writeMixModule("mix_small.vxm", {.salt = 3, .work = work}), false, 3, 16384, 2ms);
    server->listen("127.0.0.1", 0);
    server->start(service);
  }
  ~Bench() {
    server->stop();
    models.unloadAll();
  }

  static std::vector<std::string> embedders() { return {"words", "even", "apart", "small"}; }
  static std::vector<std::string> mixers() { return {"mix", "mix-even", "mix-apart", "mix-small"}; }

  // As a connection would; a deadline of 0 is the server's own.
  std::shared_ptr<HeldExchange> begin(const MadeRequest &made, const std::string &id, unsigned milliseconds = 0) {
    HttpRequest request;
    request.method = "POST";
    request.path = made.path;
    request.headers = made.headers;
    request.headers.emplace_back("host", "localhost");
    request.headers.emplace_back("content-length", std::to_string(made.body.size()));
    if (milliseconds > 0)
      request.headers.emplace_back("x-request-timeout-ms", std::to_string(milliseconds));
    request.body = made.body;
    request.id = id;
    auto exchange = std::make_shared<HeldExchange>(std::move(request));
    try {
      service.admit(exchange->request);
      service.handle(exchange);
    } catch (const ServiceError &error) {
      exchange->reply(service.refuse(exchange->request, error));
    }
    return exchange;
  }
  Answer ask(const MadeRequest &made) { return begin(made, "one")->answer.get_future().get(); }
  // By an admin.
  void cancel(const std::string &id) {
    HttpRequest request;
    request.method = "DELETE";
    request.path = "/v1/requests/" + id;
    request.headers.emplace_back("host", "localhost");
    auto exchange = std::make_shared<HeldExchange>(std::move(request));
    service.admit(exchange->request);
    service.handle(exchange);
  }
  // By a connection.
  Answer askByHttp(const MadeRequest &made) const {
    std::string head = fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nx-request-id: one\r\n"
                                   "Content-Length: {}\r\n",
                                   made.path, made.body.size());
    for (const auto &[name, value] : made.headers)
      head += fmt::format("{}: {}\r\n", name, value);
    std::string answer = RawClient(server->port()).ask(head + "\r\n" + made.body);
    static constexpr std::string_view end = "<end>";
    const size_t body = answer.find("\r\n\r\n");
    if (!answer.ends_with(end) || body == std::string::npos)
      return {0, answer};
    return {static_cast<unsigned>(std::stoul(answer.substr(9, 3))),
            answer.substr(body + 4, answer.size() - body - 4 - end.size())};
  }

private:
  Metrics metrics;
  ModelTable models{metrics, [](const ModelSettings &settings) { return settings.path; }, {}, {}};
  std::unique_ptr<HttpServer> server = makeHttpServer({});
  Service service{
      {.host = "127.0.0.1", .origins = {}, .workers = 3}, models, std::make_shared<OpenGate>(), metrics, [this] {
        return server->load();
      }};
};

// What an answer may be that was ended on purpose.
enum class Ending : uint8_t { none, lost, cancelled, late };
bool isEndedBy(Ending ending, unsigned status) {
  return (ending == Ending::lost && status == 0) || (ending == Ending::cancelled && status == 409) ||
         (ending == Ending::late && status == 504);
}

struct Totals {
  size_t requests = 0, refused = 0, ended = 0, byHttp = 0;
};

class Rounds {
public:
  Rounds(Bench &bench, uint64_t seed) : bench(bench), maker(Bench::embedders(), Bench::mixers(), seed) {}

  // False, with what differs, where an answer is none of its request's.
  bool run() {
    std::vector<MadeRequest> requests(120);
    std::vector<Answer> alone;
    for (MadeRequest &request : requests) {
      request = maker.make();
      alone.push_back(bench.ask(request));
      totals.refused += alone.back().status != 200;
    }
    // Each three times, some by connections, and so many at one time at the most.
    const size_t most = 1 + maker.draw(100);
    auto byHttp = std::async(std::launch::async, [&, seed = maker.draw(SIZE_MAX)] {
      std::mt19937_64 random(seed);
      bool isGood = true;
      for (size_t i = 0; i < 12 && isGood; ++i) {
        const size_t number = random() % requests.size();
        isGood = isRight(requests[number], alone[number], bench.askByHttp(requests[number]), Ending::none);
      }
      return isGood;
    });
    struct Going {
      size_t number;
      Ending ending;
      std::string id;
      std::shared_ptr<HeldExchange> exchange;
      std::future<Answer> answer;
    };
    std::vector<Going> going;
    bool isGood = true;
    const auto finish = [&](size_t place) {
      Going &one = going[place];
      isGood &= isRight(requests[one.number], alone[one.number], one.answer.get(), one.ending);
      going.erase(going.begin() + static_cast<ptrdiff_t>(place));
    };
    for (size_t i = 0; i < 3 * requests.size() && isGood; ++i) {
      Going one{maker.draw(requests.size()), Ending::none, fmt::format("r{}", totals.requests), {}, {}};
      if (maker.isOneOf(12))
        one.ending = static_cast<Ending>(1 + maker.draw(3));
      one.exchange = bench.begin(requests[one.number], one.id, one.ending == Ending::late ? 1 : 0);
      one.answer = one.exchange->answer.get_future();
      going.push_back(std::move(one));
      ++totals.requests;
      // One that began before ends early.
      if (Going &other = going[maker.draw(going.size())]; other.ending == Ending::lost)
        other.exchange->lose();
      else if (other.ending == Ending::cancelled)
        bench.cancel(other.id);
      while (going.size() >= most && isGood)
        finish(maker.draw(going.size()));
    }
    while (!going.empty() && isGood)
      finish(going.size() - 1);
    for (Going &one : going)
      one.answer.wait();
    totals.requests += 12;
    totals.byHttp += 12;
    return byHttp.get() && isGood;
  }
  Totals totals;

private:
  bool isRight(const MadeRequest &request, const Answer &want, const Answer &got, Ending ending) {
    // The id of a request is a part of what is told of a failure.
    const bool isSame = want.status == 200 ? want == got : want.status == got.status;
    if (isSame)
      return true;
    std::lock_guard guard(lock);
    if (isEndedBy(ending, got.status)) {
      ++totals.ended;
      return true;
    }
    fmt::print("wrong: {} {}\n  alone    {} {}\n  together {} {}\n", request.path, request.body, want.status, want.body,
               got.status, got.body);
    return false;
  }

  Bench &bench;
  RequestMaker maker;
  std::mutex lock;
};

} // namespace

int main(int count, char **arguments) {
  double seconds = 1e9;
  size_t most = SIZE_MAX;
  uint64_t seed = 1;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i];
    if (name == "--seconds")
      seconds = std::stod(arguments[i + 1]);
    else if (name == "--requests")
      most = std::stoul(arguments[i + 1]);
    else if (name == "--seed")
      seed = std::stoul(arguments[i + 1]);
    else if (name == "--leave-out")
      leftOut = arguments[i + 1];
  }
  Bench bench;
  Rounds rounds(bench, seed);
  const auto began = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(); };
  bool isGood = true;
  while (isGood && elapsed() < seconds && rounds.totals.requests < most)
    isGood = rounds.run();
  const Totals &totals = rounds.totals;
  fmt::print("{} requests to 8 models in {:.1f} s, {} of them by connections, {} ended early; {} of those alone were "
             "refused; seed {}\n",
             totals.requests, elapsed(), totals.byHttp, totals.ended, totals.refused, seed);
  if (!leftOut.empty()) {
    fmt::print("without '{}' in the batch key {}\n", leftOut, isGood ? "nothing was seen" : "an answer was wrong");
    return isGood;
  }
  return !isGood;
}

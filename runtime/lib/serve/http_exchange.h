// A request between the connection it came by and whoever answers it.
#ifndef VX_SERVE_HTTP_EXCHANGE_H
#define VX_SERVE_HTTP_EXCHANGE_H

#include "byte_budget.h"
#include "connection_counts.h"
#include "http_server.h"
#include "rate_limits.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace vx::serve {

// What all connections of a server share.
struct ServerState {
  explicit ServerState(const HttpLimits &limits)
      : counts(limits.connections, limits.connectionsPerAddress), limits(limits) {}

  HttpLimits currentLimits() const {
    std::lock_guard guard(lock);
    return limits;
  }

  std::shared_ptr<void> context; // of all sockets; it goes after the last of them
  ConnectionCounts counts;
  HttpHandler *handler = nullptr;
  ByteBudget bytes;
  std::atomic<uint64_t> refusedConnections = 0;
  std::atomic<size_t> requests = 0;
  std::atomic<bool> isLeaving = false, isDraining = false;
  mutable std::mutex lock;
  std::condition_variable connectionClosed;
  HttpLimits limits;
};

// Bytes of one request that count as in flight for as long as anybody has it.
class Reservation {
public:
  Reservation(std::shared_ptr<ServerState> server, const ByteBudget::Limits &limits, const std::string &address)
      : server(std::move(server)), limits(limits), address(networkOf(address)) {}
  Reservation(const Reservation &) = delete;
  Reservation &operator=(const Reservation &) = delete;
  ~Reservation() { server->bytes.remove(bytes, address, account); }

  // Before anything is added.
  void setAccount(const std::string &name) { account = name; }
  // Empty, or whose bytes are too many with these: "64 bytes of this address are in flight".
  std::string add(uint64_t more) {
    std::string full = server->bytes.add(more, address, account, limits);
    if (full.empty())
      bytes += more;
    return full;
  }
  // The most that one request can have at any time.
  uint64_t limit() const {
    return std::min({limits.all, limits.ofAddress, account.empty() ? UINT64_MAX : limits.ofAccount});
  }

private:
  const std::shared_ptr<ServerState> server;
  const ByteBudget::Limits limits;
  const std::string address;
  std::string account;
  std::atomic<uint64_t> bytes = 0;
};

// Where the connection and whoever answers meet.
class ExchangeState {
public:
  explicit ExchangeState(std::function<void(HttpResponse)> send) : send(std::move(send)) {}

  void reply(HttpResponse response) {
    if (!isOver.exchange(true))
      send(std::move(response));
  }
  bool cancel(HttpResponse response) {
    if (isOver.exchange(true))
      return false;
    send(std::move(response));
    tellGone();
    return true;
  }
  // The connection ends without an answer. False: there is one.
  bool lose() {
    const bool isFirst = !isOver.exchange(true);
    tellGone();
    return isFirst;
  }
  bool isDone() const { return isOver; }
  bool isGone() const { return gone; }
  void whenGone(std::function<void()> function) {
    {
      std::lock_guard guard(lock);
      if (!gone) {
        waiting.push_back(std::move(function));
        return;
      }
    }
    function();
  }

private:
  void tellGone() {
    std::vector<std::function<void()>> functions;
    {
      std::lock_guard guard(lock);
      gone = true;
      functions.swap(waiting);
    }
    for (const std::function<void()> &function : functions)
      function();
  }

  const std::function<void(HttpResponse)> send;
  std::mutex lock;
  std::atomic<bool> isOver = false, gone = false;
  std::vector<std::function<void()>> waiting;
};

class Exchange final : public HttpExchange {
public:
  Exchange(HttpRequest taken, std::shared_ptr<ExchangeState> state, std::shared_ptr<Reservation> reservation,
           HttpHandler &handler)
      : state(std::move(state)), reservation(std::move(reservation)), handler(handler) {
    request = std::move(taken);
  }
  ~Exchange() override {
    if (!state->isDone())
      state->reply(handler.refuse(request, ServiceError(ErrorCode::internal, "the request was dropped")));
  }
  void reply(HttpResponse response) override { state->reply(std::move(response)); }
  bool cancel(HttpResponse response) override { return state->cancel(std::move(response)); }
  bool isGone() const override { return state->isGone(); }
  void whenGone(std::function<void()> function) override { state->whenGone(std::move(function)); }
  void reserveAnswer(uint64_t bytes) override {
    if (bytes > reservation->limit())
      throw serviceError(ErrorCode::out_of_memory, "an answer of {} bytes is larger than all that may be in flight, {}",
                         bytes, reservation->limit());
    if (const std::string full = reservation->add(bytes); !full.empty())
      throw serviceError(ErrorCode::queue_full, "{}, there is no room for an answer of {} bytes", full, bytes).after(1);
  }

private:
  const std::shared_ptr<ExchangeState> state;
  const std::shared_ptr<Reservation> reservation;
  HttpHandler &handler;
};

} // namespace vx::serve

#endif

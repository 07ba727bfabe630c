// How much each key may ask for, and how often an address may try keys that are none.
#ifndef VX_SERVE_RATE_LIMITS_H
#define VX_SERVE_RATE_LIMITS_H

#include "configuration.h"

#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace vx::serve {

// Of the clock that only goes on; callers give it, so that tests have their own.
using Moment = std::chrono::steady_clock::time_point;

// What came of asking for a part of a rate.
struct RateVerdict {
  bool isAllowed = true;
  bool isLimited = false; // else there is no rate, and all else is 0
  uint64_t limit = 0;     // of the whole span
  uint32_t spanS = 0;
  uint64_t remaining = 0;   // that can be had now
  uint32_t retryAfterS = 0; // until the same can be had; 0 where it is allowed
  double resetS = 0;        // until all of it can be had again
};

// A bucket that holds the whole of a rate at the most and fills at its pace.
class TokenBucket {
public:
  TokenBucket(const Rate &rate, Moment now) : rate(rate), level(static_cast<double>(rate.count)), last(now) {}

  // Takes `cost`, or nothing. More than the whole of the rate is had from a full bucket, which then owes the rest.
  RateVerdict take(uint64_t cost, Moment now);
  // What take(0) would say.
  RateVerdict look(Moment now);
  // Another rate; the part that is full stays full.
  void change(const Rate &to, Moment now);
  bool isFull(Moment now);

private:
  void fill(Moment now);
  RateVerdict verdict(bool isAllowed, double missing) const;

  Rate rate;
  double level;
  Moment last;
};

// The rates of all keys: requests, and tokens of their texts. Threads share it.
class RateLimiter {
public:
  RateLimiter(const Rate &requests, const Rate &tokens) : requests(requests), tokens(tokens) {}

  RateVerdict takeRequest(const std::string &key, Moment now);
  RateVerdict takeTokens(const std::string &key, uint64_t count, Moment now);
  // Another configuration, which holds at once. Keys that are not among `names` are forgotten.
  void change(const Rate &requestRate, const Rate &tokenRate, const std::vector<std::string> &names, Moment now);

private:
  struct Buckets {
    TokenBucket requests, tokens;
  };
  Buckets &of(const std::string &key, Moment now);

  std::mutex mutex;
  Rate requests, tokens;
  std::map<std::string, Buckets> keys;
};

// x-ratelimit-limit-requests and its like, as OpenAI's interface has them; `unit` is "requests" or "tokens". With
// Retry-After where it was refused. None for what is not limited.
std::vector<std::pair<std::string, std::string>> rateHeaders(const RateVerdict &verdict, std::string_view unit);

// Sends away addresses that have presented too many wrong keys. Remembers so many of them at the most, those that
// failed last. Threads share it.
class FailureThrottle {
public:
  explicit FailureThrottle(const Rate &rate, size_t mostAddresses = 4096) : rate(rate), most(mostAddresses) {}

  // How many seconds the address is still to wait; 0: it may try.
  uint32_t secondsToWait(const std::string &address, Moment now);
  void addFailure(const std::string &address, Moment now);
  void change(const Rate &to, Moment now);

private:
  struct Entry {
    std::string network;
    TokenBucket bucket;
  };

  std::mutex mutex;
  Rate rate;
  const size_t most;
  std::list<Entry> entries; // the one that failed last is the first
  std::unordered_map<std::string, std::list<Entry>::iterator> places;
};

// Addresses that one client has at will count as one: the first half of an IPv6 address.
std::string networkOf(const std::string &address);

} // namespace vx::serve

#endif

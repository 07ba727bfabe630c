#include "key_gatekeeper.h"

#include <fmt/format.h>

#include <gtest/gtest.h>

namespace vx::serve {
namespace {

using namespace std::chrono_literals;
using Headers = std::vector<std::pair<std::string, std::string>>;

const Moment start = Moment() + 1000s;

TEST(TokenBucket, fillsAtItsPace) {
  TokenBucket bucket({60, 60}, start);
  for (int i = 0; i < 60; ++i)
    ASSERT_TRUE(bucket.take(1, start).isAllowed) << i;
  RateVerdict refused = bucket.take(1, start);
  EXPECT_FALSE(refused.isAllowed);
  EXPECT_EQ(refused.retryAfterS, 1u);
  EXPECT_EQ(refused.remaining, 0u);
  EXPECT_EQ(refused.limit, 60u);
  EXPECT_NEAR(refused.resetS, 60, 1e-6);
  EXPECT_FALSE(bucket.take(1, start + 900ms).isAllowed);
  EXPECT_TRUE(bucket.take(1, start + 1s).isAllowed);
  EXPECT_FALSE(bucket.take(1, start + 1s).isAllowed);
  // It holds no more than the whole, and a clock that stands still fills nothing.
  EXPECT_EQ(bucket.look(start + 3600s).remaining, 60u);
  EXPECT_EQ(bucket.look(start).remaining, 60u);
}

// What Retry-After says is enough, and not more than a second too much.
TEST(TokenBucket, retryAfterIsEnough) {
  for (const Rate rate : {Rate{7, 60}, Rate{1, 86400}, Rate{1000, 1}, Rate{3, 3600}})
    for (uint64_t cost : {1, 2, 3}) {
      if (cost > rate.count)
        continue;
      TokenBucket bucket(rate, start);
      while (bucket.take(cost, start).isAllowed) {
      }
      const uint32_t seconds = bucket.take(cost, start).retryAfterS;
      if (seconds > 1) {
        EXPECT_FALSE(TokenBucket(bucket).take(cost, start + std::chrono::seconds(seconds - 1)).isAllowed);
      }
      EXPECT_TRUE(bucket.take(cost, start + std::chrono::seconds(seconds)).isAllowed) << rate.count << " " << cost;
    }
}

// A text of more tokens than the rate has in all is had once, and paid for.
TEST(TokenBucket, moreThanTheWhole) {
  TokenBucket bucket({100, 10}, start);
  EXPECT_TRUE(bucket.take(250, start).isAllowed);
  EXPECT_EQ(bucket.look(start).remaining, 0u);
  EXPECT_FALSE(bucket.take(1, start + 15s).isAllowed);
  EXPECT_TRUE(bucket.take(1, start + 16s).isAllowed);
  EXPECT_EQ(bucket.take(250, start + 16s).retryAfterS, 10u);
  EXPECT_FALSE(bucket.take(UINT64_MAX, start + 16s).isAllowed);
}

TEST(TokenBucket, change) {
  TokenBucket bucket({100, 60}, start);
  bucket.take(50, start);
  bucket.change({10, 60}, start);
  EXPECT_EQ(bucket.look(start).remaining, 5u);
  bucket.change({}, start);
  EXPECT_FALSE(bucket.look(start).isLimited);
  bucket.change({10, 60}, start);
  EXPECT_EQ(bucket.look(start).remaining, 10u);
}

TEST(RateLimiter, keysAreApart) {
  RateLimiter limiter({2, 60}, {100, 60});
  EXPECT_TRUE(limiter.takeRequest("a", start).isAllowed);
  EXPECT_TRUE(limiter.takeRequest("a", start).isAllowed);
  EXPECT_FALSE(limiter.takeRequest("a", start).isAllowed);
  EXPECT_TRUE(limiter.takeRequest("b", start).isAllowed);
  EXPECT_TRUE(limiter.takeTokens("a", 100, start).isAllowed);
  EXPECT_FALSE(limiter.takeTokens("a", 1, start).isAllowed);
  limiter.change({4, 60}, {}, {"a"}, start);
  EXPECT_FALSE(limiter.takeRequest("a", start).isAllowed);  // what was empty stays empty
  EXPECT_EQ(limiter.takeRequest("b", start).remaining, 3u); // forgotten
  EXPECT_FALSE(limiter.takeTokens("a", 1000, start).isLimited);
}

TEST(RateLimiter, headers) {
  RateLimiter limiter({60, 60}, {});
  EXPECT_EQ(rateHeaders(limiter.takeRequest("a", start), "requests"), (Headers{{"x-ratelimit-limit-requests", "60"},
                                                                               {"x-ratelimit-remaining-requests", "59"},
                                                                               {"x-ratelimit-reset-requests", "1s"}}));
  while (limiter.takeRequest("a", start).isAllowed) {
  }
  EXPECT_EQ(rateHeaders(limiter.takeRequest("a", start), "requests"), (Headers{{"x-ratelimit-limit-requests", "60"},
                                                                               {"x-ratelimit-remaining-requests", "0"},
                                                                               {"x-ratelimit-reset-requests", "1m0s"},
                                                                               {"Retry-After", "1"}}));
  EXPECT_EQ(rateHeaders(limiter.takeTokens("a", 5, start), "tokens"), Headers{});
  TokenBucket fast({1000, 1}, start);
  EXPECT_EQ(rateHeaders(fast.take(12, start), "tokens").at(2).second, "12ms");
  TokenBucket slow({1, 86400}, start);
  EXPECT_EQ(rateHeaders(slow.take(1, start), "tokens").at(2).second, "24h0m0s");
}

// The limit, its period, and when to come again.
TEST(KeyGatekeeper, refusals) {
  KeyGatekeeper keeper(ApiKeys({ApiKey{"app"}}), std::make_shared<RateLimiter>(Rate{1, 60}, Rate{500, 10}),
                       std::make_shared<FailureThrottle>(Rate{2, 60}));
  RequestNotes notes;
  notes.caller.name = "app";
  const auto refusal = [](auto &&ask) {
    try {
      ask();
    } catch (const ServiceError &error) {
      return fmt::format("{} {}", error.retryAfter, error.what());
    }
    return std::string();
  };
  const auto request = [&] { keeper.countRequest(notes); };
  EXPECT_EQ(refusal(request), "");
  EXPECT_EQ(refusal(request), "60 expected at most 1 request in 60 s with the key 'app', got more: retry after 60 s");
  EXPECT_EQ(refusal([&] { keeper.countTokens(notes, 500); }), "");
  EXPECT_EQ(refusal([&] { keeper.countTokens(notes, 100); }),
            "2 expected at most 500 tokens in 10 s with the key 'app', got more: retry after 2 s");
  HttpRequest wrong;
  wrong.address = "10.0.0.1";
  wrong.headers = {{"x-api-key", "guess"}};
  const auto guess = [&] { keeper.identify(wrong); };
  EXPECT_EQ(refusal(guess), "0 the key is none of this server's");
  EXPECT_EQ(refusal(guess), "0 the key is none of this server's");
  EXPECT_EQ(refusal(guess), "30 too many wrong keys have come from this address: retry after 30 s");
}

TEST(FailureThrottle, addresses) {
  FailureThrottle throttle({3, 60});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(throttle.secondsToWait("10.0.0.1", start), 0u);
    throttle.addFailure("10.0.0.1", start);
  }
  EXPECT_EQ(throttle.secondsToWait("10.0.0.1", start), 20u);
  EXPECT_EQ(throttle.secondsToWait("::ffff:10.0.0.1", start), 20u);
  EXPECT_EQ(throttle.secondsToWait("10.0.0.2", start), 0u);
  EXPECT_EQ(throttle.secondsToWait("10.0.0.1", start + 20s), 0u);
  // Who owns one address of a network owns all of them.
  for (const char *address : {"2001:db8::1", "2001:db8::2", "2001:db8:0:0:1::"})
    throttle.addFailure(address, start);
  EXPECT_GT(throttle.secondsToWait("2001:db8::3", start), 0u);
  EXPECT_EQ(throttle.secondsToWait("2001:db8:0:1::1", start), 0u);
  throttle.change({}, start);
  EXPECT_EQ(throttle.secondsToWait("10.0.0.1", start), 0u);
}

TEST(FailureThrottle, remembersSoMany) {
  FailureThrottle throttle({1, 60}, 2);
  for (const char *address : {"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.3"})
    throttle.addFailure(address, start);
  EXPECT_GT(throttle.secondsToWait("10.0.0.1", start), 0u);
  EXPECT_EQ(throttle.secondsToWait("10.0.0.2", start), 0u); // the one that failed first of these
  EXPECT_GT(throttle.secondsToWait("10.0.0.3", start), 0u);
}

} // namespace
} // namespace vx::serve

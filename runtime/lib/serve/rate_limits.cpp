#include "rate_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <arpa/inet.h>

namespace vx::serve {

void TokenBucket::fill(Moment now) {
  if (now <= last)
    return;
  const double seconds = std::chrono::duration<double>(now - last).count();
  const double whole = static_cast<double>(rate.count);
  level = std::min(whole, level + seconds * whole / rate.seconds);
  last = now;
}

RateVerdict TokenBucket::verdict(bool isAllowed, double missing) const {
  const double perSecond = static_cast<double>(rate.count) / rate.seconds;
  RateVerdict verdict;
  verdict.isAllowed = isAllowed;
  verdict.isLimited = true;
  verdict.limit = rate.count;
  verdict.spanS = rate.seconds;
  verdict.remaining = static_cast<uint64_t>(std::max(0.0, level));
  verdict.resetS = (static_cast<double>(rate.count) - level) / perSecond;
  if (!isAllowed)
    verdict.retryAfterS = static_cast<uint32_t>(std::clamp(std::ceil(missing / perSecond), 1.0, 4e9));
  return verdict;
}

RateVerdict TokenBucket::take(uint64_t cost, Moment now) {
  if (!rate.isLimited())
    return {};
  fill(now);
  // What fills it is a sum of many small parts.
  constexpr double rounding = 1e-6;
  const double wanted = static_cast<double>(std::min(cost, rate.count));
  if (level + rounding < wanted)
    return verdict(false, wanted - level);
  level -= static_cast<double>(cost);
  return verdict(true, 0);
}

RateVerdict TokenBucket::look(Moment now) { return take(0, now); }

void TokenBucket::change(const Rate &to, Moment now) {
  fill(now);
  const double part = rate.isLimited() ? level / static_cast<double>(rate.count) : 1;
  rate = to;
  level = part * static_cast<double>(rate.count);
}

bool TokenBucket::isFull(Moment now) {
  fill(now);
  return level + 1e-6 >= static_cast<double>(rate.count);
}

RateLimiter::Buckets &RateLimiter::of(const std::string &key, Moment now) {
  return keys.try_emplace(key, Buckets{{requests, now}, {tokens, now}}).first->second;
}

RateVerdict RateLimiter::takeRequest(const std::string &key, Moment now) {
  std::lock_guard lock(mutex);
  return of(key, now).requests.take(1, now);
}

RateVerdict RateLimiter::takeTokens(const std::string &key, uint64_t count, Moment now) {
  std::lock_guard lock(mutex);
  return of(key, now).tokens.take(count, now);
}

void RateLimiter::change(const Rate &requestRate, const Rate &tokenRate, const std::vector<std::string> &names,
                         Moment now) {
  std::lock_guard lock(mutex);
  requests = requestRate;
  tokens = tokenRate;
  std::erase_if(keys,
                [&](const auto &entry) { return std::find(names.begin(), names.end(), entry.first) == names.end(); });
  for (auto &[name, buckets] : keys) {
    buckets.requests.change(requests, now);
    buckets.tokens.change(tokens, now);
  }
}

// "6m30s", "12ms"
static std::string spanText(double seconds) {
  if (seconds < 1)
    return fmt::format("{}ms", static_cast<uint64_t>(std::ceil(std::max(0.0, seconds) * 1000)));
  const auto whole = static_cast<uint64_t>(std::ceil(seconds));
  std::string text;
  if (whole >= 3600)
    text += fmt::format("{}h", whole / 3600);
  if (whole >= 60)
    text += fmt::format("{}m", whole / 60 % 60);
  return text + fmt::format("{}s", whole % 60);
}

std::vector<std::pair<std::string, std::string>> rateHeaders(const RateVerdict &verdict, std::string_view unit) {
  if (!verdict.isLimited)
    return {};
  std::vector<std::pair<std::string, std::string>> headers = {
      {fmt::format("x-ratelimit-limit-{}", unit), std::to_string(verdict.limit)},
      {fmt::format("x-ratelimit-remaining-{}", unit), std::to_string(verdict.remaining)},
      {fmt::format("x-ratelimit-reset-{}", unit), spanText(verdict.resetS)}};
  if (!verdict.isAllowed)
    headers.emplace_back("Retry-After", std::to_string(verdict.retryAfterS));
  return headers;
}

std::string networkOf(const std::string &address) {
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.c_str(), &six) != 1)
    return address;
  char text[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&six))
    return ::inet_ntop(AF_INET, six.s6_addr + 12, text, sizeof(text));
  std::memset(six.s6_addr + 8, 0, 8);
  return std::string(::inet_ntop(AF_INET6, &six, text, sizeof(text))) + "/64";
}

uint32_t FailureThrottle::secondsToWait(const std::string &address, Moment now) {
  std::lock_guard lock(mutex);
  const auto place = places.find(networkOf(address));
  if (place == places.end() || !rate.isLimited())
    return 0;
  TokenBucket copy = place->second->bucket; // to ask is no failure
  return copy.take(1, now).retryAfterS;
}

void FailureThrottle::addFailure(const std::string &address, Moment now) {
  std::lock_guard lock(mutex);
  if (!rate.isLimited())
    return;
  const std::string network = networkOf(address);
  if (const auto place = places.find(network); place != places.end()) {
    entries.splice(entries.begin(), entries, place->second);
  } else {
    entries.push_front({network, TokenBucket(rate, now)});
    places.emplace(network, entries.begin());
  }
  entries.front().bucket.take(1, now);
  // Those that have waited long enough are as good as forgotten.
  while (!entries.empty() && (entries.size() > most || entries.back().bucket.isFull(now))) {
    places.erase(entries.back().network);
    entries.pop_back();
  }
}

void FailureThrottle::change(const Rate &to, Moment now) {
  std::lock_guard lock(mutex);
  rate = to;
  for (Entry &entry : entries)
    entry.bucket.change(rate, now);
}

} // namespace vx::serve

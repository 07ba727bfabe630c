#include "key_gatekeeper.h"

#include <algorithm>

namespace vx::serve {
namespace {

// "Bearer KEY" of Authorization, or x-api-key.
std::string_view presentedKey(const HttpRequest &request) {
  static constexpr std::string_view scheme = "bearer ";
  if (const std::string *header = request.header("authorization")) {
    const std::string_view text = *header;
    const auto isScheme = [&] {
      for (size_t i = 0; i < scheme.size(); ++i)
        if ((text[i] | 0x20) != (scheme[i] | 0x20))
          return false;
      return true;
    };
    return text.size() > scheme.size() && isScheme() ? text.substr(scheme.size()) : std::string_view();
  }
  const std::string *header = request.header("x-api-key");
  return header ? std::string_view(*header) : std::string_view();
}

void apply(RequestNotes &notes, const RateVerdict &verdict, std::string_view unit) {
  for (auto &[name, value] : rateHeaders(verdict, unit))
    if (name != "Retry-After")
      notes.headers.emplace_back(std::move(name), std::move(value));
  if (verdict.isAllowed)
    return;
  const std::string_view counted = verdict.limit == 1 ? unit.substr(0, unit.size() - 1) : unit;
  const std::string most = fmt::format("at most {} {} in {} s", verdict.limit, counted, verdict.spanS);
  const uint32_t seconds = std::max(1u, verdict.retryAfterS);
  throw serviceError(ErrorCode::rate_limited, "expected {} with the key '{}', got more: retry after {} s", most,
                     notes.caller.name, seconds)
      .after(seconds)
      .with("expected", most);
}

} // namespace

Caller KeyGatekeeper::identify(const HttpRequest &request) {
  if (!keys)
    return {};
  const Moment now = std::chrono::steady_clock::now();
  if (const uint32_t seconds = failures->secondsToWait(request.address, now))
    throw serviceError(ErrorCode::rate_limited, "too many wrong keys have come from this address: retry after {} s",
                       seconds)
        .after(seconds);
  const std::string_view presented = presentedKey(request);
  if (presented.empty())
    throw ServiceError(ErrorCode::invalid_api_key,
                       "expected a key, as 'Authorization: Bearer KEY' or 'x-api-key: KEY'");
  const ApiKey *key = keys->find(presented);
  if (!key) {
    failures->addFailure(request.address, now);
    throw ServiceError(ErrorCode::invalid_api_key, "the key is none of this server's");
  }
  return {key->name, key->role == Role::admin};
}

void KeyGatekeeper::countRequest(RequestNotes &notes) {
  if (keys)
    apply(notes, rates->takeRequest(notes.caller.name, std::chrono::steady_clock::now()), "requests");
}

void KeyGatekeeper::countTokens(RequestNotes &notes, uint64_t tokens) {
  if (keys)
    apply(notes, rates->takeTokens(notes.caller.name, tokens, std::chrono::steady_clock::now()), "tokens");
}

} // namespace vx::serve

// The gatekeeper by a file of keys.
#ifndef VX_SERVE_KEY_GATEKEEPER_H
#define VX_SERVE_KEY_GATEKEEPER_H

#include "api_keys.h"
#include "gatekeeper.h"
#include "rate_limits.h"

namespace vx::serve {

// Rates outlive the keys, so that a file that is read again gives nobody a new start.
class KeyGatekeeper final : public Gatekeeper {
public:
  // Without keys everybody is let in as nobody in particular, without limits.
  KeyGatekeeper(std::optional<ApiKeys> keys, std::shared_ptr<RateLimiter> rates,
                std::shared_ptr<FailureThrottle> failures)
      : keys(std::move(keys)), rates(std::move(rates)), failures(std::move(failures)) {}

  Caller identify(const HttpRequest &request) override;
  void countRequest(RequestNotes &notes) override;
  void countTokens(RequestNotes &notes, uint64_t tokens) override;
  bool hasKeys() const override { return keys.has_value(); }

private:
  const std::optional<ApiKeys> keys;
  const std::shared_ptr<RateLimiter> rates;
  const std::shared_ptr<FailureThrottle> failures;
};

} // namespace vx::serve

#endif

// Chooses the next token from a model's logits, and ends a text at stop strings.
#ifndef VX_TEXT_SAMPLER_HPP
#define VX_TEXT_SAMPLER_HPP

#include "vx/text/sampling_options.hpp"
#include "vx/text/tokenizer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vx::text {

struct TokenProbability {
  int32_t token;
  double probability;
};

// The tokens so far. `mask` has a bit per token, the lowest bit of the first word for token 0; a token whose bit is 0
// is not chosen. Empty: all are allowed.
struct SamplingContext {
  std::span<const int32_t> prompt = {}, answer = {};
  std::span<const uint32_t> mask = {};
};

// Thread-compatible: one at a time uses it.
class Sampler {
public:
  // Throws Error::argument with the option's name, the expected and the given value.
  explicit Sampler(SamplingOptions options);

  // The tokens that may be chosen, by number, with probabilities whose sum is 1. Throws Error::argument for a logit
  // that is NaN or positive infinity, for a token that has no logit, and where no token is allowed.
  const std::vector<TokenProbability> &distribution(std::span<const float> logits, const SamplingContext &context);

  // Draws a token. The random number depends on the seed and on the count of tokens in the answer only, so a request
  // gets the same tokens whatever runs beside it.
  int32_t sample(std::span<const float> logits, const SamplingContext &context);

private:
  struct Candidate {
    double logit;
    int32_t token;
  };
  void applyPenalties(const SamplingContext &context);
  void keepTopK();
  void keepTopP();
  void keepMinP();
  void applyTemperature();

  SamplingOptions options;
  std::vector<Candidate> candidates;
  std::vector<TokenProbability> result;
};

// Passes text on up to the first stop string. Text that may be the beginning of a stop string is held back.
// Thread-compatible.
class StopStrings {
public:
  // Throws Error::argument for an empty string.
  explicit StopStrings(std::vector<std::string> strings);
  // The text that can be passed on. After a stop string: nothing.
  std::string push(std::string_view text);
  // The text that was held back, at the end of the stream.
  std::string finish();
  bool is_stopped() const { return found != none; }
  // The number of the string that was found; of several that begin at one place, the first of the list.
  size_t index() const { return found; }

private:
  static constexpr size_t none = SIZE_MAX;
  std::vector<std::string> strings;
  std::string held;
  size_t found = none;
};

} // namespace vx::text

#endif

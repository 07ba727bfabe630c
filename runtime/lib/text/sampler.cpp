#include "vx/text/sampler.hpp"

#include "vx/base/philox.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace vx::text {

namespace {

std::string numberText(double number) {
  std::string text = std::to_string(number);
  while (text.ends_with('0') && !text.ends_with(".0"))
    text.pop_back();
  return text;
}

void want(bool isGood, const char *option, const char *expected, double got) {
  if (!isGood)
    throw Error(Error::Kind::argument, std::string(option) + ": expected " + expected + ", got " + numberText(got));
}

} // namespace

Sampler::Sampler(SamplingOptions wanted) : options(std::move(wanted)) {
  const auto isFinite = [](double value) { return std::isfinite(value); };
  want(options.repetition_penalty > 0 && isFinite(options.repetition_penalty), "repetition_penalty", "a number above 0",
       options.repetition_penalty);
  want(isFinite(options.presence_penalty), "presence_penalty", "a finite number", options.presence_penalty);
  want(isFinite(options.frequency_penalty), "frequency_penalty", "a finite number", options.frequency_penalty);
  want(options.temperature >= 0 && isFinite(options.temperature), "temperature", "a number of 0 or more",
       options.temperature);
  want(options.top_p > 0 && options.top_p <= 1, "top_p", "a number above 0, up to 1", options.top_p);
  want(options.min_p >= 0 && options.min_p <= 1, "min_p", "a number from 0 to 1", options.min_p);
  for (const auto &[token, bias] : options.logit_bias)
    want(!std::isnan(bias) && bias != std::numeric_limits<double>::infinity(), "logit_bias", "a number", bias);
}

void Sampler::applyPenalties(const SamplingContext &context) {
  struct Counts {
    uint64_t all = 0, answer = 0;
  };
  if (options.repetition_penalty == 1 && options.presence_penalty == 0 && options.frequency_penalty == 0)
    return;
  std::unordered_map<int32_t, Counts> counts;
  const bool isWindow = options.order == SamplingOrder::llama_cpp;
  const size_t total = context.prompt.size() + context.answer.size();
  const size_t begin = isWindow && options.penalty_window ? total - std::min(total, options.penalty_window) : 0;
  for (size_t i = begin; i < total; ++i) {
    const bool isAnswer = i >= context.prompt.size();
    const int32_t token = isAnswer ? context.answer[i - context.prompt.size()] : context.prompt[i];
    if (token < 0 || static_cast<size_t>(token) >= candidates.size())
      throw Error(Error::Kind::argument, "token " + std::to_string(token) +
                                             " of the text has no logit, expected less than " +
                                             std::to_string(candidates.size()));
    Counts &count = counts[token];
    ++count.all;
    count.answer += isAnswer || isWindow;
  }
  for (const auto &[token, count] : counts) {
    double &logit = candidates[static_cast<size_t>(token)].logit;
    logit = logit > 0 ? logit / options.repetition_penalty : logit * options.repetition_penalty;
    logit -=
        options.frequency_penalty * static_cast<double>(count.answer) + (count.answer ? options.presence_penalty : 0);
  }
}

namespace {

constexpr auto IsMoreLikely = [](const auto &a, const auto &b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
};

} // namespace

void Sampler::keepTopK() {
  const size_t k = static_cast<size_t>(std::min<uint64_t>(options.top_k, candidates.size()));
  if (options.top_k == 0 || k == candidates.size())
    return;
  const auto last = candidates.begin() + static_cast<std::ptrdiff_t>(k) - 1;
  std::nth_element(candidates.begin(), last, candidates.end(), IsMoreLikely);
  auto end = last + 1;
  if (options.order == SamplingOrder::openai)
    end = std::partition(end, candidates.end(),
                         [least = last->logit](const Candidate &one) { return one.logit == least; });
  candidates.erase(end, candidates.end());
}

void Sampler::keepTopP() {
  if (options.top_p >= 1)
    return;
  const double largest = std::ranges::max_element(candidates, {}, &Candidate::logit)->logit;
  double total = 0;
  for (const Candidate &one : candidates)
    total += std::exp(one.logit - largest);
  // Only as many are sorted as are needed.
  double before = 0;
  size_t sorted = 0, kept = 0;
  for (; kept < candidates.size() && (kept == 0 || before < options.top_p * total); ++kept) {
    if (kept == sorted) {
      sorted = std::min(candidates.size(), std::max<size_t>(64, 8 * sorted));
      std::partial_sort(candidates.begin() + static_cast<std::ptrdiff_t>(kept),
                        candidates.begin() + static_cast<std::ptrdiff_t>(sorted), candidates.end(), IsMoreLikely);
    }
    before += std::exp(candidates[kept].logit - largest);
  }
  candidates.resize(kept);
}

void Sampler::keepMinP() {
  if (options.min_p <= 0)
    return;
  const double largest = std::ranges::max_element(candidates, {}, &Candidate::logit)->logit;
  std::erase_if(candidates, [&](const Candidate &one) { return std::exp(one.logit - largest) < options.min_p; });
}

void Sampler::applyTemperature() {
  if (options.temperature == 0) {
    const Candidate best = *std::ranges::min_element(candidates, IsMoreLikely);
    candidates.assign(1, best);
  } else if (options.temperature != 1) {
    for (Candidate &one : candidates)
      one.logit /= options.temperature;
  }
}

const std::vector<TokenProbability> &Sampler::distribution(std::span<const float> logits,
                                                           const SamplingContext &context) {
  candidates.clear();
  candidates.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity())
      throw Error(Error::Kind::argument, "the logit of token " + std::to_string(i) + " is " +
                                             (std::isnan(logits[i]) ? "NaN" : "infinite") + ", expected a number");
    candidates.push_back({logits[i], static_cast<int32_t>(i)});
  }
  for (const auto &[token, bias] : options.logit_bias) {
    if (token < 0 || static_cast<size_t>(token) >= candidates.size())
      throw Error(Error::Kind::argument, "logit_bias: token " + std::to_string(token) +
                                             " has no logit, expected less than " + std::to_string(candidates.size()));
    candidates[static_cast<size_t>(token)].logit += bias;
  }
  applyPenalties(context);
  if (!context.mask.empty() && context.mask.size() < (logits.size() + 31) / 32)
    throw Error(Error::Kind::argument, "the mask has " + std::to_string(32 * context.mask.size()) +
                                           " bits, expected one per token, " + std::to_string(logits.size()));
  std::erase_if(candidates, [&](const Candidate &one) {
    const size_t token = static_cast<size_t>(one.token);
    return std::isinf(one.logit) || (!context.mask.empty() && !(context.mask[token / 32] >> token % 32 & 1));
  });
  if (candidates.empty())
    throw Error(Error::Kind::argument,
                "no token is allowed: the mask and the biases exclude all " + std::to_string(logits.size()));
  const bool isLast = options.order == SamplingOrder::llama_cpp;
  if (!isLast || options.temperature == 0)
    applyTemperature();
  keepTopK();
  keepTopP();
  keepMinP();
  if (isLast && options.temperature != 0)
    applyTemperature();

  std::ranges::sort(candidates, {}, &Candidate::token);
  const double largest = std::ranges::max_element(candidates, {}, &Candidate::logit)->logit;
  double total = 0;
  result.clear();
  for (const Candidate &one : candidates) {
    result.push_back({one.token, std::exp(one.logit - largest)});
    total += result.back().probability;
  }
  for (TokenProbability &one : result)
    one.probability /= total;
  return result;
}

int32_t Sampler::sample(std::span<const float> logits, const SamplingContext &context) {
  distribution(logits, context);
  // 53 bits of Philox, whose key is the seed and whose counter is the token's index.
  const uint64_t index = context.answer.size();
  const auto words = philoxBlock(options.seed, 0, index);
  const uint64_t bits = static_cast<uint64_t>(words[0]) << 32 | words[1];
  const double drawn = static_cast<double>(bits >> 11) * 0x1p-53;
  double sum = 0;
  for (const TokenProbability &one : result) {
    sum += one.probability;
    if (drawn < sum)
      return one.token;
  }
  return result.back().token; // the sum may be below 1 by rounding
}

StopStrings::StopStrings(std::vector<std::string> wanted) : strings(std::move(wanted)) {
  for (const std::string &string : strings)
    if (string.empty())
      throw Error(Error::Kind::argument, "a stop string is empty, expected at least one character");
}

std::string StopStrings::push(std::string_view text) {
  if (is_stopped())
    return "";
  held += text;
  size_t first = held.npos;
  for (size_t i = 0; i < strings.size(); ++i)
    if (const size_t at = held.find(strings[i]); at < first) {
      first = at;
      found = i;
    }
  if (is_stopped()) {
    std::string passed = held.substr(0, first);
    held.clear();
    return passed;
  }
  // The longest end that a stop string begins with.
  size_t keep = 0;
  for (const std::string &string : strings)
    for (size_t size = std::min(held.size(), string.size() - 1); size > keep; --size)
      if (held.ends_with(std::string_view(string).substr(0, size))) {
        keep = size;
        break;
      }
  // No part of a character goes without the rest.
  size_t passedSize = held.size() - keep;
  while (passedSize > 0 && passedSize < held.size() && (static_cast<unsigned char>(held[passedSize]) & 0xc0) == 0x80)
    --passedSize;
  std::string passed = held.substr(0, passedSize);
  held.erase(0, passedSize);
  return passed;
}

std::string StopStrings::finish() { return std::exchange(held, {}); }

} // namespace vx::text

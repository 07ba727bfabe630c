// Errors of the sampler, and stop strings; distributions are compared with NumPy's by test/text/run_sampler.py.
#include "vx/text/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace vx::text;

namespace {

std::string errorOf(const SamplingOptions &options, const std::vector<float> &logits = {0, 1},
                    const SamplingContext &context = {}) {
  try {
    Sampler(options).sample(logits, context);
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::argument);
    return error.what();
  }
  return "none";
}

using Pieces = std::vector<std::string>;
/// What goes through piece by piece, and the rest at the end.
Pieces pass(StopStrings &stop, const Pieces &pieces) {
  Pieces passed;
  for (const std::string &piece : pieces)
    passed.push_back(stop.push(piece));
  passed.push_back(stop.finish());
  return passed;
}

} // namespace

TEST(Sampler, Refused) {
  EXPECT_EQ(errorOf({.temperature = -0.5}), "temperature: expected a number of 0 or more, got -0.5");
  EXPECT_EQ(errorOf({.temperature = NAN}), "temperature: expected a number of 0 or more, got nan");
  EXPECT_EQ(errorOf({.top_p = 0}), "top_p: expected a number above 0, up to 1, got 0.0");
  EXPECT_EQ(errorOf({.top_p = 1.5}), "top_p: expected a number above 0, up to 1, got 1.5");
  EXPECT_EQ(errorOf({.min_p = -1}), "min_p: expected a number from 0 to 1, got -1.0");
  EXPECT_EQ(errorOf({.repetition_penalty = 0}), "repetition_penalty: expected a number above 0, got 0.0");
  EXPECT_EQ(errorOf({.presence_penalty = INFINITY}), "presence_penalty: expected a finite number, got inf");
  EXPECT_EQ(errorOf({.logit_bias = {{2, 1}}}), "logit_bias: token 2 has no logit, expected less than 2");
  EXPECT_EQ(errorOf({.logit_bias = {{-1, 1}}}), "logit_bias: token -1 has no logit, expected less than 2");
  EXPECT_EQ(errorOf({}, {0, NAN}), "the logit of token 1 is NaN, expected a number");
  EXPECT_EQ(errorOf({}, {INFINITY}), "the logit of token 0 is infinite, expected a number");
  EXPECT_EQ(errorOf({}, {}), "no token is allowed: the mask and the biases exclude all 0");
  const std::vector<uint32_t> none = {0};
  EXPECT_EQ(errorOf({}, {0, 1}, {.mask = none}), "no token is allowed: the mask and the biases exclude all 2");
  EXPECT_EQ(errorOf({}, std::vector<float>(40), {.mask = none}), "the mask has 32 bits, expected one per token, 40");
  const std::vector<int32_t> tokens = {5};
  EXPECT_EQ(errorOf({.repetition_penalty = 2}, {0, 1}, {.answer = tokens}),
            "token 5 of the text has no logit, expected less than 2");
  EXPECT_EQ(errorOf({.logit_bias = {{1, -INFINITY}}}), "none");
}

TEST(Sampler, Greedy) {
  EXPECT_EQ(Sampler({.temperature = 0}).sample(std::vector<float>{1, 3, 3, 2}, {}), 1);
  EXPECT_EQ(Sampler({.logit_bias = {{0, 5}}, .temperature = 0}).sample(std::vector<float>{1, 3}, {}), 0);
  EXPECT_EQ(Sampler({.temperature = 0, .order = SamplingOrder::llama_cpp}).sample(std::vector<float>{1, 3, 3}, {}), 1);
}

// The two orders differ: a high temperature lets more tokens pass top-p where it comes first.
TEST(Sampler, Orders) {
  const std::vector<float> logits = {3, 1, 0, -1};
  SamplingOptions options{.temperature = 4, .top_p = 0.8};
  EXPECT_EQ(Sampler(options).distribution(logits, {}).size(), 3u);
  options.order = SamplingOrder::llama_cpp;
  EXPECT_EQ(Sampler(options).distribution(logits, {}).size(), 1u);
}

TEST(StopStrings, HoldsBack) {
  StopStrings stop({"</s>", "\nUser:"});
  EXPECT_EQ(pass(stop, {"a<", "/", "b\n", "Us", "e", "x</", "s>more", "y"}),
            (Pieces{"a", "", "</b", "", "", "\nUsex", "", "", ""}));
  EXPECT_TRUE(stop.is_stopped());
  EXPECT_EQ(stop.index(), 0u);
  StopStrings rest({"</s>"});
  EXPECT_EQ(pass(rest, {"a</", "s"}), (Pieces{"a", "", "</s"}));
  EXPECT_FALSE(rest.is_stopped());
}

TEST(StopStrings, FirstPlaceWins) {
  StopStrings stop({"ab", "a", "xa"});
  EXPECT_EQ(pass(stop, {"1xab"}), (Pieces{"1", ""}));
  EXPECT_EQ(stop.index(), 2u);
  StopStrings equal({"ab", "a"});
  EXPECT_EQ(pass(equal, {"1ab"}), (Pieces{"1", ""}));
  EXPECT_EQ(equal.index(), 0u);
  // A string that overlaps itself.
  StopStrings self({"aab"});
  EXPECT_EQ(pass(self, {"aa", "ab"}), (Pieces{"", "a", ""}));
  EXPECT_TRUE(self.is_stopped());
  // The longest beginning of any of them is held back.
  StopStrings several({"abc", "bq"});
  EXPECT_EQ(pass(several, {"xab", "c"}), (Pieces{"x", "", ""}));
  EXPECT_TRUE(several.is_stopped());
  StopStrings nothing({});
  EXPECT_EQ(pass(nothing, {"a"}), (Pieces{"a", ""}));
  EXPECT_THROW(StopStrings({"a", ""}), Error);
}

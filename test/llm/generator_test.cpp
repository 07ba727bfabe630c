// vx::llm::Generator as a program uses it.
#include "vx/llm/generator.hpp"

#include "library_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

using namespace vx;
using namespace vx::test;
using llm::GenerateOptions;
using llm::Generator;

namespace {

InstanceOptions onCpu() {
  InstanceOptions options;
  options.device = "cpu";
  options.threads = 1;
  return options;
}

Generator load(const std::string &path = chatModel(), size_t context = 0) { return Generator(path, onCpu(), context); }

GenerateOptions greedy(size_t tokens) {
  GenerateOptions options;
  options.maxTokens = tokens;
  options.sampling.temperature = 0;
  return options;
}

// Runs `body`, which throws the library's error.
template <typename F>
void expectError(vx_code code, const std::string &message, F &&body) {
  try {
    body();
    ADD_FAILURE() << "no error, expected " << message;
  } catch (const llm::Error &error) {
    const vx::Error &general = error; // as programs catch it
    EXPECT_EQ(general.code(), code);
    EXPECT_EQ(std::string(general.what()), message);
  }
}

double logProbability(const std::vector<float> &logits, int32_t token) {
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(double(logit));
  return logits[static_cast<size_t>(token)] - std::log(sum);
}

} // namespace

TEST(Generator, TellsOfTheModel) {
  Generator model = load();
  EXPECT_EQ(model.info().family, "llama");
  EXPECT_EQ(model.info().context, Context);
  EXPECT_EQ(model.info().vocabulary, Vocabulary);
  EXPECT_EQ(model.info().ends, std::vector<int32_t>{81});
  EXPECT_EQ(model.info().templateTokens.at("eos_token"), "<end>");
  EXPECT_EQ(model.context(), Context);
  EXPECT_NE(model.instance().report().find("cpu"), std::string::npos);
  EXPECT_EQ(load(chatModel(), 20).context(), 20u);
  EXPECT_TRUE(Generator::isLanguageModel(Module(chatModel())));
  EXPECT_FALSE(Generator::isLanguageModel(Module(otherModule())));
  EXPECT_EQ(Generator::infoOf(Module(chatModel())).chatTemplate, model.info().chatTemplate);
}

TEST(Generator, AnswersAsNumPy) {
  Generator model = load();
  EXPECT_EQ(model.encode(Prompt), promptTokens());
  const llm::Answer answer = model.generate(Prompt, greedy(12));
  EXPECT_EQ(answer.tokens, answerTokens());
  EXPECT_EQ(answer.text, answerText());
  EXPECT_EQ(answer.finish, llm::FinishReason::length);
  EXPECT_EQ(answer.promptTokens, promptTokens().size());
  EXPECT_EQ(answer.cachedTokens, 0u);
  EXPECT_GT(answer.promptSeconds, 0);
  EXPECT_GT(answer.answerSeconds, 0);
  EXPECT_EQ(model.decode(answer.tokens), answerText());
  // All of the prompt but its last token is there from before.
  EXPECT_EQ(model.generate(Prompt, greedy(12)).tokens, answerTokens());
  EXPECT_EQ(model.generate(Prompt, greedy(1)).cachedTokens, promptTokens().size() - 1);
  model.clear();
  EXPECT_EQ(model.generate(Prompt, greedy(1)).cachedTokens, 0u);
}

TEST(Generator, GivesPieces) {
  Generator model = load();
  std::string pieces;
  GenerateOptions options = greedy(12);
  options.onText = [&](std::string_view piece) { pieces += "[" + std::string(piece) + "]"; };
  model.generate(Prompt, options);
  EXPECT_EQ(std::count(pieces.begin(), pieces.end(), '['), 12);
  std::string again;
  llm::Generation answer = model.start(promptTokens(), greedy(12));
  for (const std::string_view piece : answer)
    again += "[" + std::string(piece) + "]";
  EXPECT_EQ(again, pieces);
  EXPECT_EQ(answer.answer().text, answerText());
  EXPECT_EQ(answer.next(), std::nullopt);
  // A model that is gone lives on in its answer.
  std::optional<Generator> second(load());
  llm::Generation late = second->start(promptTokens(), greedy(12));
  second.reset();
  llm::Generation moved = std::move(late);
  std::string text;
  while (const std::optional<std::string> piece = moved.next())
    text += *piece;
  EXPECT_EQ(text, answerText());
}

TEST(Generator, EndsAtStopStrings) {
  Generator model = load();
  GenerateOptions options = greedy(12);
  options.stop = {"~", answerText().substr(4, 2)};
  const llm::Answer answer = model.generate(Prompt, options);
  EXPECT_EQ(answer.text, answerText().substr(0, answerText().find(options.stop[1])));
  EXPECT_EQ(answer.finish, llm::FinishReason::stop);
  EXPECT_EQ(llm::finishReasonName(answer.finish), "stop");
}

TEST(Generator, HoldsConversations) {
  Generator model = load();
  std::vector<llm::Message> conversation = {{"user", "hello"}};
  const llm::Answer first = model.chat(conversation, greedy(6));
  EXPECT_EQ(first.text, chatAnswer(0));
  conversation.push_back({"assistant", first.text});
  conversation.push_back({"user", "world"});
  const llm::Answer second = model.chat(conversation, greedy(6));
  EXPECT_EQ(second.text, chatAnswer(1));
  EXPECT_GE(second.cachedTokens, first.promptTokens - 1); // its last one may be a token with what follows
  // A special token that a message spells is plain text.
  const std::vector<int32_t> spelled = model.encode(std::vector<llm::Message>{{"user", "a<end>b"}});
  EXPECT_EQ(std::count(spelled.begin(), spelled.end(), 81), 1);
  expectError(VX_INVALID_ARGUMENT, "a message is no UTF-8",
              [&] { model.chat(std::vector<llm::Message>{{"user", "\xff"}}); });
  Generator plain = load(plainModel());
  EXPECT_EQ(plain.generate(Prompt, greedy(12)).text, answerText());
  const std::string none = "the model has no chat template, expected one of a model for conversations";
  expectError(VX_UNSUPPORTED, none, [&] { plain.checkChat(); });
  expectError(VX_UNSUPPORTED, none, [&] { plain.chat(conversation); });
  Generator strange = load(strangeModel());
  EXPECT_EQ(strange.generate(Prompt, greedy(12)).text, answerText());
  try {
    strange.checkChat();
    ADD_FAILURE();
  } catch (const vx::Error &error) {
    EXPECT_EQ(error.code(), VX_UNSUPPORTED);
    EXPECT_NE(std::string(error.what()).find("include"), std::string::npos) << error.what();
  }
}

TEST(Generator, IsCancelled) {
  Generator model = load();
  GenerateOptions options = greedy(12);
  int pieces = 0;
  options.onText = [&](std::string_view) { ++pieces; };
  options.isCancelled = [&] { return pieces >= 3; };
  const llm::Answer answer = model.generate(Prompt, options);
  EXPECT_EQ(answer.finish, llm::FinishReason::cancelled);
  EXPECT_EQ(answer.tokens.size(), 3u);
  const std::vector<int32_t> all = answerTokens();
  EXPECT_EQ(answer.text, model.decode(std::span(all).first(3)));
  llm::Generation generation = model.start(promptTokens(), greedy(12));
  generation.next();
  std::thread([&] { generation.cancel(); }).join();
  EXPECT_TRUE(generation.next().has_value()); // the rest of the text, which may be empty
  EXPECT_EQ(generation.next(), std::nullopt);
  EXPECT_EQ(generation.answer().finish, llm::FinishReason::cancelled);
  EXPECT_EQ(generation.answer().tokens.size(), 1u);
  llm::Generation before = model.start(promptTokens(), greedy(12));
  before.cancel();
  before.next();
  EXPECT_TRUE(before.answer().tokens.empty());
  // A function that throws ends the answer, and the next one is right.
  options = greedy(12);
  options.onText = [](std::string_view) { throw std::runtime_error("enough"); };
  EXPECT_THROW(model.generate(Prompt, options), std::runtime_error);
  EXPECT_EQ(model.generate(Prompt, greedy(12)).text, answerText());
}

TEST(Generator, HasOneAnswerAtATime) {
  Generator model = load();
  const std::string ended = "the model has started another answer, which ends this one";
  llm::Generation first = model.start(promptTokens(), greedy(12));
  first.next();
  llm::Generation second = model.start(promptTokens(), greedy(12));
  expectError(VX_INVALID_ARGUMENT, ended, [&] { first.next(); });
  second.next();
  model.append(std::vector<int32_t>{1});
  expectError(VX_INVALID_ARGUMENT, ended, [&] { second.next(); });
  llm::Generation third = model.start(promptTokens(), greedy(12));
  third.next();
  model.clear();
  expectError(VX_INVALID_ARGUMENT, ended, [&] { third.next(); });
}

TEST(Generator, ScoresAsItsLogits) {
  Generator model = load();
  std::vector<int32_t> tokens = promptTokens();
  const std::vector<int32_t> answer = answerTokens();
  tokens.insert(tokens.end(), answer.begin(), answer.end());
  const std::vector<double> all = model.score(tokens, 1);
  ASSERT_EQ(all.size(), tokens.size() - 1);
  const std::vector<double> part = model.score(tokens, 4);
  ASSERT_EQ(part.size(), tokens.size() - 4);
  // One by one, and two of them in one part.
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::vector<float> logits = model.append(std::span(tokens).subspan(i, 1));
    ASSERT_EQ(logits.size(), Vocabulary);
    EXPECT_NEAR(all[i], logProbability(logits, tokens[i + 1]), 1e-5);
    if (i >= 3) {
      EXPECT_NEAR(part[i - 3], all[i], 1e-6);
    }
  }
  model.clear();
  EXPECT_NEAR(logProbability(model.append(std::span(tokens).first(2)), tokens[2]), all[1], 1e-5);
  EXPECT_TRUE(model.score(tokens, tokens.size()).empty());
  // The cache stays: the next token follows the two.
  EXPECT_NEAR(logProbability(model.append(std::span(tokens).subspan(2, 1)), tokens[3]), all[2], 1e-5);
  expectError(VX_INVALID_ARGUMENT, "score: expected a first token from 1 to 17, got 0",
              [&] { model.score(tokens, 0); });
  expectError(VX_INVALID_ARGUMENT, "score: expected a first token from 1 to 17, got 18",
              [&] { model.score(tokens, 18); });
  expectError(VX_INVALID_ARGUMENT, "score: expected tokens from 0 to 81, got 82",
              [&] { model.score(std::vector<int32_t>{1, 82}, 1); });
  expectError(VX_INVALID_ARGUMENT, "score: expected at most 64 tokens, the context, got 65",
              [&] { model.score(std::vector<int32_t>(65), 1); });
}

TEST(Generator, EmbedsAsNumPy) {
  Generator model = load();
  const std::vector<int32_t> tokens = promptTokens();
  const std::vector<double> states = promptStates();
  ASSERT_EQ(states.size(), tokens.size() * Width);
  EXPECT_EQ(model.info().width, Width);
  model.append(std::span(tokens).first(2)); // an embedding leaves it as it is
  llm::Generation answer = model.start(tokens, greedy(12));
  answer.next();
  const std::vector<float> each = model.embed(tokens, llm::Pooling::none), last = model.embed(Prompt),
                           mean = model.embed(Prompt, llm::Pooling::mean);
  ASSERT_EQ(each.size(), states.size());
  for (size_t i = 0; i < states.size(); ++i)
    EXPECT_NEAR(each[i], states[i], 1e-5) << i;
  std::vector<double> wantedLast(states.end() - Width, states.end()), wantedMean(Width);
  for (size_t i = 0; i < states.size(); ++i)
    wantedMean[i % Width] += states[i];
  for (auto &[want, got] : {std::pair(wantedLast, last), std::pair(wantedMean, mean)}) {
    ASSERT_EQ(got.size(), Width);
    const double norm = std::sqrt(std::inner_product(want.begin(), want.end(), want.begin(), 0.0));
    for (size_t i = 0; i < Width; ++i)
      EXPECT_NEAR(got[i], want[i] / norm, 1e-6) << i;
  }
  EXPECT_EQ(model.embed(tokens), last);
  // One token: its state is the last one and the mean, and it is not that of the token in a text.
  const std::span<const int32_t> one = std::span(tokens).first(1);
  EXPECT_EQ(model.embed(one, llm::Pooling::mean), model.embed(one));
  while (answer.next())
    ;
  EXPECT_EQ(answer.answer().tokens, answerTokens());
  expectError(VX_INVALID_ARGUMENT, "embed: expected 1 to 64 tokens, the context, got 0", [&] { model.embed(""); });
  expectError(VX_INVALID_ARGUMENT, "embed: expected 1 to 64 tokens, the context, got 65",
              [&] { model.embed(std::vector<int32_t>(65)); });
  expectError(VX_INVALID_ARGUMENT, "embed: expected tokens from 0 to 81, got -1",
              [&] { model.embed(std::vector<int32_t>{1, -1}); });
  expectError(VX_INVALID_ARGUMENT, "the prompt is no UTF-8: expected a character, got the byte 0xff at offset 1",
              [&] { model.embed("a\xff"); });
}

// Longer than the parts in which a prompt is computed.
TEST(Generator, ComputesLongPromptsInParts) {
  Generator model = load(longModel());
  std::vector<int32_t> tokens;
  for (int i = 0; i < 1100; ++i)
    tokens.push_back((i * i + i / 7) % 80);
  for (const size_t count : {512, 513, 1030}) {
    model.clear();
    const std::vector<float> logits = model.append(std::span(tokens).first(count));
    EXPECT_NEAR(logProbability(logits, tokens[count]), model.score(std::span(tokens).first(count + 1), count)[0], 1e-4);
  }
  // It is cancelled between two parts; the first one is not computed again.
  model.clear();
  int asked = 0;
  GenerateOptions options = greedy(1);
  options.isCancelled = [&] { return ++asked > 1; };
  const llm::Answer cancelled = model.generate(tokens, options);
  EXPECT_EQ(cancelled.finish, llm::FinishReason::cancelled);
  EXPECT_TRUE(cancelled.tokens.empty());
  const llm::Answer answer = model.generate(tokens, greedy(1));
  EXPECT_EQ(answer.cachedTokens, 512u);
  model.clear();
  EXPECT_EQ(model.generate(tokens, greedy(1)).tokens, answer.tokens);
}

TEST(Generator, HasSoMuchRoom) {
  Generator model = load(chatModel(), 20);
  model.append(std::vector<int32_t>(18, 1));
  expectError(VX_INVALID_ARGUMENT, "append: expected 1 to 2 tokens, the room that is left of 20, got 3",
              [&] { model.append(std::vector<int32_t>(3, 1)); });
  expectError(VX_INVALID_ARGUMENT, "append: expected 1 to 2 tokens, the room that is left of 20, got 0",
              [&] { model.append({}); });
  expectError(VX_INVALID_ARGUMENT, "append: expected tokens from 0 to 81, got -1",
              [&] { model.append(std::vector<int32_t>{-1}); });
  model.append(std::vector<int32_t>(2, 1));
  const llm::Answer answer = model.generate(std::vector<int32_t>(18, 1), greedy(0));
  EXPECT_LE(answer.tokens.size(), 2u);
  expectError(VX_INVALID_ARGUMENT,
              "the prompt has 20 tokens, but the context has room for 20 with the answer: expected a shorter prompt or "
              "a larger context; the model takes up to 64",
              [&] { model.generate(std::vector<int32_t>(20, 1)); });
}

// A limit of memory with room for one page of the cache, of two.
TEST(Generator, SaysWhichContextFits) {
  const Module module(plainModel());
  InstanceOptions options = onCpu();
  options.symbols = {{"context", Context}, {"pages", 2}};
  const std::pair<std::string, int64_t> sizes[] = {
      {"tokens", Context}, {"sequences", 1}, {"most_pages", 2}, {"rows", 1}};
  const vx_memory_estimate needs = estimateMemory(module, "extend", sizes, options);
  const uint64_t call = needs.arena + needs.inputs + needs.results, page = needs.variables / 2;
  options = onCpu();
  options.memoryLimit = call + page;
  try {
    const Generator model(module, options);
    ADD_FAILURE();
  } catch (const llm::Error &error) {
    EXPECT_EQ(error.code(), VX_OUT_OF_MEMORY);
    EXPECT_THAT(error.what(),
                testing::MatchesRegex(
                    "the memory does not suffice: the weights need .*, the cache of 64 tokens .* and a call .*, but "
                    "the memory limit, which does not count the weights, is .*: a context of up to 32 tokens fits"));
  }
  EXPECT_EQ(Generator(module, options, 32).generate(promptTokens(), greedy(12)).tokens, answerTokens());
  options.memoryLimit = call + 2 * page;
  EXPECT_EQ(Generator(module, options).context(), Context);
  // A limit that the cache alone passes, and one without room for any page.
  for (const uint64_t limit : {page / 2, call + page / 2}) {
    options.memoryLimit = limit;
    try {
      const Generator model(module, options);
      ADD_FAILURE();
    } catch (const llm::Error &error) {
      EXPECT_EQ(error.code(), VX_OUT_OF_MEMORY);
      EXPECT_THAT(error.what(), testing::EndsWith(": no context fits"));
    }
  }
}

TEST(Generator, RefusesByName) {
  expectError(VX_INVALID_ARGUMENT, "the context is 65 tokens, the model takes 64 at most",
              [] { load(chatModel(), 65); });
  expectError(VX_INVALID_MODULE,
              "the module has no asset 'language_model.json', expected one that vx-compile made of a language model",
              [] { load(otherModule()); });
  EXPECT_THROW(load("none.vxm"), vx::Error);
  Generator model = load();
  expectError(VX_INVALID_ARGUMENT, "the prompt is no UTF-8: expected a character, got the byte 0xff at offset 2",
              [&] { model.generate("ab\xff"); });
  expectError(VX_INVALID_ARGUMENT, "the prompt has no tokens, expected at least 1", [&] { model.generate(""); });
  expectError(VX_INVALID_ARGUMENT, "the prompt: expected tokens from 0 to 81, got 82",
              [&] { model.start(std::vector<int32_t>{82}); });
  GenerateOptions options;
  options.sampling.top_p = 2;
  try {
    model.generate(Prompt, options);
    ADD_FAILURE();
  } catch (const llm::Error &error) {
    EXPECT_EQ(error.code(), VX_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find("top_p"), std::string::npos) << error.what();
  }
  options = {};
  options.stop = {""};
  EXPECT_THROW(model.generate(Prompt, options), llm::Error);
}

TEST(Generator, DrawsBySeed) {
  Generator model = load();
  GenerateOptions options;
  options.maxTokens = 12;
  options.sampling.seed = 1;
  const std::vector<int32_t> first = model.generate(Prompt, options).tokens;
  EXPECT_EQ(model.generate(Prompt, options).tokens, first);
  options.sampling.seed = 2;
  EXPECT_NE(model.generate(Prompt, options).tokens, first);
}

// Each thread has a generator of its own, of one module.
TEST(Generator, RunsOnThreads) {
  const Module module(chatModel());
  std::vector<std::string> texts(3);
  std::vector<std::thread> threads;
  for (std::string &text : texts)
    threads.emplace_back([&text, &module] {
      Generator model(module, onCpu());
      for (int i = 0; i < 5; ++i)
        text = model.generate(Prompt, greedy(12)).text;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(texts, std::vector<std::string>(3, answerText()));
}

// Texts to vectors by a module on the CPU, also by several threads at a time.
#include "vx/serve/embedder.hpp"

#include "embedding_module.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

using namespace vx::serve;

namespace {

std::vector<std::string> makeTexts(size_t count) {
  std::mt19937 random(1);
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    std::string text;
    for (uint32_t words = random() % 20; words > 0; --words)
      text += {static_cast<char>('a' + random() % 26), ' '};
    texts.push_back(text);
  }
  return texts;
}

bool isSame(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

} // namespace

TEST(Embedder, givesVectorsOfTexts) {
  const Embedder embedder(vx::test::writeEmbeddingModule("embedder.vxm"), {.device = "cpu"});
  EXPECT_EQ(embedder.info().dimensions, 4u);
  EXPECT_EQ(embedder.info().poolings, (std::vector{Pooling::cls, Pooling::mean}));
  const Tokens tokens = embedder.tokenize("a b", {});
  EXPECT_EQ(tokens.ids, (std::vector<int32_t>{2, 5, 6, 3}));
  // 2, 5, 6 and 3, of which each remainder by 7 is taken 0.37 times, less 0, 1, 2 and 0 for its place.
  const Matrix plain = embedder.run(std::span(&tokens, 1), {.normalize = false});
  ASSERT_EQ(plain.values.size(), 4u);
  EXPECT_NEAR(plain.values[0], 16 * 0.37 - 3, 1e-5);
  const Matrix first = embedder.run(std::span(&tokens, 1), {.pooling = Pooling::cls, .normalize = false});
  EXPECT_NEAR(first.values[0], 2 * 0.37, 1e-6);
}

// Where a vector may depend on others of its batch, there is no other, nor padding.
TEST(Embedder, runsByItselfWhatIsNotProvedToBeApart) {
  const std::string together = vx::test::writeEmbeddingModule("together.vxm");
  const std::string apart = vx::test::writeEmbeddingModule("apart.vxm", {.joins = false});
  const std::vector<std::string> texts = makeTexts(20);
  std::vector<Matrix> vectors;
  for (const std::string &path : {together, apart}) {
    const Embedder embedder(path, {.device = "cpu"});
    EXPECT_EQ(embedder.info().apart, path == apart ? "scale (Quantize): needs more than its own row" : "");
    EmbedStatistics done;
    vectors.push_back(embedder.embed(texts, {}, &done));
    EXPECT_EQ(done.batches, path == apart ? 20u : 1u);
    EXPECT_EQ(done.padding == 0, path == apart);
    std::vector<Tokens> tokens;
    for (const std::string &text : texts)
      tokens.push_back(embedder.tokenize(text));
    EXPECT_TRUE(isSame(embedder.run(tokens, {.padTo = 16}).values, vectors.back().values));
    tokens[3].ids[0] = -1;
    tokens[3].typeIds.pop_back();
    try {
      embedder.run(tokens);
      FAIL() << "a wrong text was taken";
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 7), "text 3:");
    }
  }
  EXPECT_TRUE(isSame(vectors[0].values, vectors[1].values));
}

// Each thread's vectors are those that one thread alone gets, bit for bit, however texts come together and whatever
// others ask meanwhile, of one embedder or of two on one module.
TEST(Embedder, isCalledByThreads) {
  const vx::Module module(vx::test::writeEmbeddingModule("embedder_threads.vxm"));
  const Embedder one(module, {.device = "cpu", .threads = 2}), two(module, {.device = "cpu", .threads = 1});
  const std::vector<std::string> texts = makeTexts(60);
  const RunOptions choices[] = {{},
                                {.normalize = false},
                                {.pooling = Pooling::cls},
                                {.normalize = true, .dimensions = 3},
                                {.pooling = Pooling::cls, .normalize = false, .dimensions = 1}};
  std::vector<Matrix> alone;
  for (const RunOptions &options : choices)
    alone.push_back(one.embed(texts, {.run = options}));

  std::atomic<int> compared = 0, apart = 0;
  const auto work = [&](const Embedder &embedder, unsigned seed) {
    std::mt19937 random(seed);
    for (int turn = 0; turn < 12; ++turn) {
      const size_t choice = random() % std::size(choices);
      std::vector<size_t> numbers(1 + random() % texts.size());
      std::vector<std::string> chosen;
      for (size_t &number : numbers)
        chosen.push_back(texts[number = random() % texts.size()]);
      EmbedOptions options{.run = choices[choice], .batchTokens = 1 + random() % 200};
      EmbedStatistics done;
      const Matrix vectors = embedder.embed(chosen, options, &done);
      apart += done.texts != chosen.size() || done.batches == 0;
      for (size_t row = 0; row < numbers.size(); ++row, ++compared)
        apart += !isSame(vectors.row(row), alone[choice].row(numbers[row]));
      // As a server does, which batches texts of several callers.
      const Tokens tokens = embedder.tokenize(chosen[0]);
      apart += !isSame(embedder.run(std::span(&tokens, 1), choices[choice]).values, alone[choice].row(numbers[0]));
      EXPECT_THROW(embedder.tokenize("\xff"), Error);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 6; ++i)
    threads.emplace_back(work, std::cref(i % 3 == 2 ? two : one), i);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(compared, 6 * 12);
  EXPECT_EQ(apart, 0);
}

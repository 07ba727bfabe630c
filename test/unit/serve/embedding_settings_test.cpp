// What a module of embeddings says of itself is not trusted.
#include "embedding_settings.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace vx::serve;
using Json = nlohmann::json;

namespace {

Json rightSettings() {
  return Json::parse(
      R"({"version":1,"name":"tiny","pooling":"cls","normalize":true,"max_tokens":32,"padding":0,"lowercase":false,
    "prompts":{"query":"q: "},"default_prompt":"query","can_shorten":true,"shorter_dimensions":[4,8],
    "tokenizer":{"asset":"vocab.txt","lowercase":false,"strip_accents":true,"unknown":"<unk>","before":["<s>"],
    "truncation_side":"left"}})");
}

std::string errorOf(const std::string &text) {
  try {
    parseEmbeddingSettings(text);
    return "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), Error::Kind::data);
    return error.what();
  }
}
std::string errorWith(const char *pointer, const Json &value) {
  Json settings = rightSettings();
  settings[Json::json_pointer(pointer)] = value;
  return errorOf(settings.dump());
}

} // namespace

TEST(EmbeddingSettings, areRead) {
  const EmbeddingSettings settings = parseEmbeddingSettings(rightSettings().dump());
  EXPECT_EQ(settings.info.name, "tiny");
  EXPECT_EQ(settings.info.pooling, Pooling::cls);
  EXPECT_TRUE(settings.info.normalizes);
  EXPECT_EQ(settings.info.maxTokens, 32u);
  EXPECT_EQ(settings.info.prompts.at("query"), "q: ");
  EXPECT_EQ(settings.info.defaultPrompt, "query");
  EXPECT_EQ(settings.info.shorterDimensions, (std::vector<size_t>{4, 8}));
  EXPECT_EQ(settings.tokenizerAsset, "vocab.txt");
  EXPECT_FALSE(settings.words.lowercase);
  EXPECT_EQ(settings.words.strip_accents, true);
  EXPECT_EQ(settings.words.unknown, "<unk>");
  EXPECT_EQ(settings.before, std::vector<std::string>{"<s>"});
  EXPECT_EQ(settings.truncationSide, vx::text::Side::left);
}

TEST(EmbeddingSettings, whatIsWrongIsNamed) {
  EXPECT_EQ(errorOf("[]"), "asset 'embedding.json': expected an object, got []");
  EXPECT_EQ(errorOf("{").substr(0, 33), "asset 'embedding.json': no JSON: ");
  EXPECT_EQ(errorOf(std::string(100000, '[')), "asset 'embedding.json': expected values in at most 8 others, got more");
  EXPECT_EQ(errorOf("{\"version\":1}"), "asset 'embedding.json': expected 'name', but it is missing");
  EXPECT_EQ(errorWith("/version", 2), "asset 'embedding.json': 'version': expected 1, got 2");
  EXPECT_EQ(errorWith("/extra", 2), "asset 'embedding.json': 'extra' is no key that this version knows");
  EXPECT_EQ(errorWith("/pooling", "max"), "asset 'embedding.json': 'pooling': expected cls, mean or last, got \"max\"");
  EXPECT_EQ(errorWith("/normalize", 1), "asset 'embedding.json': 'normalize': expected true or false, got 1");
  EXPECT_EQ(errorWith("/max_tokens", 0),
            "asset 'embedding.json': 'max_tokens': expected a number from 1 to 16777216, got 0");
  EXPECT_EQ(errorWith("/max_tokens", -3),
            "asset 'embedding.json': 'max_tokens': expected a number from 1 to 16777216, got -3");
  EXPECT_EQ(errorWith("/max_tokens", 1e9),
            "asset 'embedding.json': 'max_tokens': expected a number from 1 to 16777216, got 1000000000.0");
  EXPECT_EQ(errorWith("/padding", 1ll << 31),
            "asset 'embedding.json': 'padding': expected a number from 0 to 2147483647, got 2147483648");
  EXPECT_EQ(errorWith("/prompts/query", 3), "asset 'embedding.json': 'prompts.query': expected a string, got 3");
  EXPECT_EQ(errorWith("/default_prompt", "other"),
            "asset 'embedding.json': 'default_prompt': expected a name of 'prompts', got \"other\"");
  EXPECT_EQ(errorWith("/shorter_dimensions/0", 0),
            "asset 'embedding.json': 'shorter_dimensions': expected a list of numbers of 1 or more, got [0,8]");
  EXPECT_EQ(errorWith("/tokenizer", "vocab.txt"),
            "asset 'embedding.json': 'tokenizer': expected an object, got \"vocab.txt\"");
  EXPECT_EQ(errorWith("/tokenizer/mask", 1), "asset 'embedding.json': 'tokenizer.mask': expected a string, got 1");
  EXPECT_EQ(errorWith("/tokenizer/truncation_side", "both"),
            "asset 'embedding.json': 'tokenizer.truncation_side': expected left or right, got \"both\"");
  EXPECT_EQ(errorWith("/tokenizer/before", Json::array({1})),
            "asset 'embedding.json': 'tokenizer.before': expected a list of strings, got [1]");
}

TEST(EmbeddingSettings, ofACrossEncoder) {
  Json right = Json::parse(R"({"version":1,"name":"tiny","scores":{"activation":"identity"},"max_tokens":32,"padding":0,
    "lowercase":true,"tokenizer":{"asset":"vocab.txt"}})");
  EmbeddingSettings settings = parseEmbeddingSettings(right.dump());
  EXPECT_EQ(settings.info.scores, Activation::identity);
  EXPECT_EQ(settings.info.maxTokens, 32u);
  EXPECT_TRUE(settings.lowercase);
  right["scores"]["activation"] = "sigmoid";
  EXPECT_EQ(parseEmbeddingSettings(right.dump()).info.scores, Activation::sigmoid);
  EXPECT_FALSE(parseEmbeddingSettings(rightSettings().dump()).info.scores);
  right["scores"]["activation"] = "tanh";
  EXPECT_TRUE(errorOf(right.dump()).ends_with("identity or sigmoid, got \"tanh\"")) << errorOf(right.dump());
  right["scores"]["activation"] = "sigmoid";
  right["scores"]["top"] = 1;
  EXPECT_EQ(errorOf(right.dump()), "asset 'embedding.json': 'scores.top' is no key that this version knows");
  right["scores"].erase("top");
  right["pooling"] = "mean";
  EXPECT_EQ(errorOf(right.dump()), "asset 'embedding.json': 'pooling' is no key that this version knows");
}

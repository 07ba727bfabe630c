// Tokenizers of small vocabularies in GGUF files; real ones are compared by test/text/run_gguf_vocabularies.py.
#include "../../common/gguf_vocabularies.h"

#include "vx/text/tokenizer.hpp"

#include <gtest/gtest.h>

using vx::GgufKind;
using vx::text::Tokenizer;
using namespace vx::test;

namespace {

Tokenizer load(const GgufWriter &writer) {
  const std::string bytes = writer.bytes();
  vx::GgufFile file;
  std::string error;
  EXPECT_TRUE(vx::parseGguf(bytesOf(bytes), file, error)) << error;
  return Tokenizer::from_gguf(file);
}

std::string errorOf(const GgufWriter &writer) {
  try {
    load(writer);
  } catch (const vx::text::Error &error) {
    EXPECT_EQ(error.kind(), vx::text::Error::Kind::file);
    return error.what();
  }
  return "none";
}

using Ids = std::vector<int32_t>;
Ids encode(const Tokenizer &tokenizer, std::string_view text, bool addsSpecial = true, bool matchesSpecial = true) {
  vx::text::EncodeOptions options;
  options.add_special_tokens = addsSpecial;
  options.match_special_tokens = matchesSpecial;
  return tokenizer.encode(text, options).ids;
}

} // namespace

TEST(GgufTokenizer, Gpt2) {
  const Tokenizer tokenizer = load(gpt2Vocabulary());
  EXPECT_EQ(encode(tokenizer, "ab abcc"), (Ids{4, 5, 7}));
  EXPECT_EQ(encode(tokenizer, "c<end>c"), (Ids{2, 6, 2}));
  EXPECT_EQ(tokenizer.decode(Ids{4, 5, 6, 2}), "ab abc");
  EXPECT_EQ(tokenizer.decode(Ids{4, 6}, false), "ab<end>");
  EXPECT_TRUE(tokenizer.is_special(6));
  EXPECT_FALSE(tokenizer.is_special(7));
  EXPECT_EQ(tokenizer.vocabulary_size(), 8u);
}

TEST(GgufTokenizer, ComposedText) {
  const auto tokensOf = [](const char *pre) {
    GgufWriter writer =
        vocabularyFile("gpt2", {"e", "\u00cc", "\u0123", "\u00c3", "\u00a9", "<s>"}, {1, 1, 1, 1, 1, 3});
    writer.addArray<std::string>("tokenizer.ggml.merges", GgufKind::string, {}).add("tokenizer.ggml.pre", pre);
    return encode(load(writer), "e\u0301");
  };
  for (const char *composed : {"mpt", "olmo", "command-r", "qwen2"})
    EXPECT_EQ(tokensOf(composed), (Ids{3, 4})) << composed;
  for (const char *plain : {"gpt-2", "smollm", "qwen35", "deepseek-v3", "gpt-4o", "default"})
    EXPECT_EQ(tokensOf(plain), (Ids{0, 1, 2})) << plain;
}

// A text that spells a special token stays text where that is asked for; the user's tokens are looked for always.
TEST(GgufTokenizer, SpecialTokensInText) {
  const Tokenizer tokenizer = load(llamaVocabulary());
  EXPECT_EQ(encode(tokenizer, "<s>a", false), (Ids{1, 3, 4}));
  const Ids plain = encode(tokenizer, "<s>a<user>", false, false);
  EXPECT_EQ(std::ranges::count(plain, 1), 0);
  EXPECT_EQ(plain.back(), 9);
}

TEST(GgufTokenizer, BeginOfText) {
  EXPECT_EQ(encode(load(gpt2Vocabulary()), "a"), (Ids{0}));
  EXPECT_EQ(encode(load(gpt2Vocabulary("llama-bpe")), "a"), (Ids{6, 0}));
  EXPECT_EQ(
      encode(load(gpt2Vocabulary("llama-bpe").add<uint8_t>("tokenizer.ggml.add_bos_token", GgufKind::boolean, 0)), "a"),
      (Ids{0}));
  EXPECT_EQ(encode(load(gpt2Vocabulary().add<uint8_t>("tokenizer.ggml.add_bos_token", GgufKind::boolean, 1)), "a"),
            (Ids{6, 0}));
  EXPECT_EQ(encode(load(gpt2Vocabulary("llama-bpe")), "a", false), (Ids{0}));
  EXPECT_EQ(encode(load(llamaVocabulary().add<uint8_t>("tokenizer.ggml.add_eos_token", GgufKind::boolean, 1)), "a"),
            (Ids{1, 3, 4, 2}));
}

// The best score merges first: "ba" of "aba", though "ab" is to its left.
TEST(GgufTokenizer, LlamaMergesByScore) {
  const Tokenizer tokenizer = load(llamaVocabulary());
  EXPECT_EQ(encode(tokenizer, "aba", false), (Ids{3, 4, 8}));
  EXPECT_EQ(encode(tokenizer, "ab", false), (Ids{7}));
  EXPECT_EQ(tokenizer.decode(Ids{7, 3, 4}), "ab a");
  // A character without a token becomes bytes.
  EXPECT_EQ(encode(tokenizer, "\u00e9", false), (Ids{3, 10 + 0xc3, 10 + 0xa9}));
  EXPECT_EQ(tokenizer.decode(Ids{3, 10 + 0xc3, 10 + 0xa9}), "\u00e9");
  EXPECT_EQ(encode(load(llamaVocabulary(false)), "\u00e9", false), (Ids{3, 0}));
  const Tokenizer bare = load(llamaVocabulary().add<uint8_t>("tokenizer.ggml.add_space_prefix", GgufKind::boolean, 0));
  EXPECT_EQ(encode(bare, "ab a", false), (Ids{6, 3, 4}));
  EXPECT_EQ(bare.decode(Ids{7, 4}), " aba");
}

TEST(GgufTokenizer, Bert) {
  const Tokenizer tokenizer = load(bertVocabulary());
  EXPECT_EQ(encode(tokenizer, "ABC, x"), (Ids{1, 3, 4, 5, 0, 2}));
  EXPECT_EQ(tokenizer.id_to_token(4), "##c");
  EXPECT_EQ(tokenizer.id_to_token(6), "[x]");
  EXPECT_EQ(tokenizer.id_to_token(7), "<m>");
  EXPECT_EQ(tokenizer.encode_pair("ab", "ab").type_ids, (Ids{0, 0, 0, 1, 1}));
  EXPECT_EQ(encode(load(bertVocabulary().add<uint8_t>("tokenizer.ggml.normalizer.lowercase", GgufKind::boolean, 0)),
                   "AB", false),
            (Ids{0}));
}

TEST(GgufTokenizer, T5) {
  const Tokenizer tokenizer = load(t5Vocabulary());
  EXPECT_EQ(encode(tokenizer, "ab  a"), (Ids{4, 5, 4, 1}));
  EXPECT_EQ(encode(load(t5Vocabulary()), "z"), (Ids{3, 2, 1}));
}

TEST(GgufTokenizer, Refused) {
  EXPECT_EQ(errorOf(GgufWriter()), "the file has no tokenizer: expected the key 'tokenizer.ggml.model', got none");
  EXPECT_EQ(errorOf(GgufWriter().add("tokenizer.ggml.model", "rwkv")),
            "key 'tokenizer.ggml.model' is 'rwkv', which is not supported; known are gpt2, llama, t5, bert");
  EXPECT_EQ(errorOf(GgufWriter().add<uint32_t>("tokenizer.ggml.model", GgufKind::u32, 1)),
            "key 'tokenizer.ggml.model' is 1, expected a string");
  EXPECT_EQ(errorOf(GgufWriter().add("tokenizer.ggml.model", "gpt2")),
            "the file has no vocabulary: expected the key 'tokenizer.ggml.tokens' with an array of strings, got none");
  const std::string unknownPre = errorOf(gpt2Vocabulary("nobody"));
  EXPECT_TRUE(
      unknownPre.starts_with("key 'tokenizer.ggml.pre' is 'nobody', which is not supported; known are falcon, gpt-2, "))
      << unknownPre;
  EXPECT_EQ(errorOf(vocabularyFile("gpt2", {"a", "b", "a"}, {1, 1, 1})),
            "token 'a' is in 'tokenizer.ggml.tokens' twice, as 0 and 2");
  EXPECT_EQ(errorOf(vocabularyFile("gpt2", {"a", "\xff"}, {1, 1})), "token 1 is not UTF-8: '\\xff'");
  EXPECT_EQ(errorOf(vocabularyFile("gpt2", {"a", "b"}, {1})),
            "key 'tokenizer.ggml.token_type' has 1 elements, expected one per token, 2");
  EXPECT_EQ(errorOf(vocabularyFile("gpt2", {"a", "b"}, {1, 7})),
            "key 'tokenizer.ggml.token_type' has for token 1 another kind than 0 to 6");
  EXPECT_EQ(errorOf(vocabularyFile("gpt2", {"a"}, {1})),
            "expected the key 'tokenizer.ggml.merges' with an array of strings, got none");
  EXPECT_EQ(
      errorOf(
          vocabularyFile("gpt2", {"a"}, {1}).addArray<std::string>("tokenizer.ggml.merges", GgufKind::string, {"a"})),
      "merge 0 is 'a', expected two tokens with a space between");
  EXPECT_EQ(errorOf(vocabularyFile("gpt2", {"a"}, {1})
                        .addArray<std::string>("tokenizer.ggml.merges", GgufKind::string, {})
                        .add("tokenizer.ggml.pre", "llama-bpe")),
            "expected the key 'tokenizer.ggml.bos_token_id', since the token is added to texts, got none");
  EXPECT_EQ(errorOf(llamaVocabulary().add<int32_t>("tokenizer.ggml.cls_token_id", GgufKind::i32, 9)), "none");
  EXPECT_EQ(errorOf(gpt2Vocabulary("llama-bpe").add<uint32_t>("tokenizer.ggml.add_bos_token", GgufKind::u32, 1)),
            "key 'tokenizer.ggml.add_bos_token' is 1, expected a bool");
  EXPECT_EQ(errorOf(vocabularyFile("llama", {"a"}, {2})), "expected the key 'tokenizer.ggml.scores', got none");
  const std::vector<float> one = {0};
  EXPECT_EQ(errorOf(vocabularyFile("llama", {"a"}, {1}).addArray("tokenizer.ggml.scores", GgufKind::f32, one)),
            "expected the key 'tokenizer.ggml.unknown_token_id', or a token of the kind 2, got none");
  EXPECT_EQ(errorOf(vocabularyFile("llama", {"<0x00>"}, {6}).addArray("tokenizer.ggml.scores", GgufKind::f32, one)),
            "the vocabulary has 1 tokens of bytes, expected 256 or none");
  std::string damaged = llamaVocabulary().bytes();
  damaged.replace(damaged.find("<0x41>"), 6, "<0x4z>");
  vx::GgufFile file;
  std::string error;
  ASSERT_TRUE(vx::parseGguf(bytesOf(damaged), file, error)) << error;
  try {
    Tokenizer::from_gguf(file);
    ADD_FAILURE();
  } catch (const vx::text::Error &refused) {
    EXPECT_STREQ(refused.what(),
                 "a vocabulary that falls back to bytes has tokens '<0x00>' to '<0xFF>', got none for byte 65");
  }
  EXPECT_EQ(errorOf(vocabularyFile("llama", {"a"}, {2})
                        .addArray("tokenizer.ggml.scores", GgufKind::f32, one)
                        .add<int32_t>("tokenizer.ggml.unknown_token_id", GgufKind::i32, -1)),
            "key 'tokenizer.ggml.unknown_token_id' is -1, expected a token's number below 1");
  EXPECT_EQ(errorOf(vocabularyFile("t5", {"a"}, {2}).addArray("tokenizer.ggml.scores", GgufKind::f32, one)),
            "expected the key 'tokenizer.ggml.unknown_token_id', got none");
  EXPECT_EQ(errorOf(vocabularyFile("bert", {"[UNK]", "\u2581b"}, {3, 1})),
            "expected the key 'tokenizer.ggml.cls_token_id', got none");
}

namespace {

Ids endsOf(const GgufWriter &writer) {
  const std::string bytes = writer.bytes();
  vx::GgufFile file;
  std::string error;
  EXPECT_TRUE(vx::parseGguf(bytesOf(bytes), file, error)) << error;
  return vx::text::end_tokens(file);
}

Ids endsOfTokens(const std::vector<std::string> &tokens, const std::vector<int32_t> &kinds) {
  return endsOf(vocabularyFile("gpt2", tokens, kinds));
}

} // namespace

TEST(EndTokens, Keys) {
  const auto file = [](const char *key, uint32_t token) {
    return vocabularyFile("gpt2", {"a", "b", "c", "d"}, {1, 1, 1, 1})
        .add<uint32_t>("tokenizer.ggml.eos_token_id", GgufKind::u32, 3)
        .add<uint32_t>(std::string("tokenizer.ggml.") + key, GgufKind::u32, token);
  };
  EXPECT_EQ(endsOf(file("eot_token_id", 1)), (Ids{3, 1}));
  EXPECT_EQ(endsOf(file("eom_token_id", 0)), (Ids{3, 0}));
  EXPECT_EQ(endsOf(file("eom_token_id", 3)), (Ids{3}));
  EXPECT_EQ(endsOf(file("bos_token_id", 2)), (Ids{3}));
  EXPECT_EQ(endsOf(vocabularyFile("gpt2", {"a"}, {1})), (Ids{}));
  for (auto [value, text] : {std::pair(-1, "-1"), {INT32_MIN, "-2147483648"}})
    try {
      endsOf(vocabularyFile("gpt2", {"a"}, {1}).add<int32_t>("tokenizer.ggml.eot_token_id", GgufKind::i32, value));
      ADD_FAILURE();
    } catch (const vx::text::Error &error) {
      EXPECT_EQ(error.what(),
                std::string("key 'tokenizer.ggml.eot_token_id': expected the number of a token, got ") + text);
    }
}

TEST(EndTokens, Names) {
  // A control token or one of the user's; a part of a text that only looks like one is none.
  for (const char *name : {"<|eot_id|>",
                           "<|eom_id|>",
                           "<|im_end|>",
                           "<|end|>",
                           "<|return|>",
                           "<|call|>",
                           "<|flush|>",
                           "<|calls|>",
                           "<end_of_turn>",
                           "<|endoftext|>",
                           "<|end_of_text|>",
                           "<EOT>",
                           "_<EOT>",
                           "[EOT]",
                           "[EOS]",
                           "<end_of_utterance>",
                           "<eos>",
                           "<turn|>",
                           "<|tool_response>",
                           "<\uff5cend\u2581of\u2581sentence\uff5c>",
                           "[e~[",
                           "</s>"}) {
    EXPECT_EQ(endsOfTokens({"a", name, "b"}, {1, 3, 1}), (Ids{1})) << name;
    EXPECT_EQ(endsOfTokens({"a", name, "b"}, {1, 1, 1}), (Ids{})) << name;
    EXPECT_EQ(endsOfTokens({"a", name, "b"}, {1, 5, 1}), (Ids{})) << name;
    EXPECT_EQ(endsOfTokens({"a", "b", name}, {3, 3, 4}), name == std::string_view("</s>") ? (Ids{}) : (Ids{2})) << name;
  }
  EXPECT_EQ(endsOfTokens({"<|im_start|>", "<|im_end|> ", "|im_end|", "<s>", ""}, {3, 3, 3, 3, 3}), (Ids{}));
  // Tokens of keys come first, and each is there once.
  EXPECT_EQ(endsOf(vocabularyFile("gpt2", {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}, {3, 3, 3})
                       .add<uint32_t>("tokenizer.ggml.eos_token_id", GgufKind::u32, 2)),
            (Ids{2, 0}));
  // Without kinds, or with too few, a name alone is no reason.
  EXPECT_EQ(endsOf(GgufWriter().addArray<std::string>("tokenizer.ggml.tokens", GgufKind::string, {"<|im_end|>"})),
            (Ids{}));
  EXPECT_EQ(endsOfTokens({"<|im_end|>", "<|eot_id|>"}, {3}), (Ids{0}));
}

// Where an answer has several parts, "<|end|>" ends a part; where tools answer, "</s>" is no end.
TEST(EndTokens, NamesBesideOthers) {
  EXPECT_EQ(endsOfTokens({"<|end|>", "<|return|>", "<|call|>"}, {3, 3, 3}), (Ids{1, 2}));
  EXPECT_EQ(endsOfTokens({"<|end|>", "<|return|>", "<|calls|>"}, {3, 3, 3}), (Ids{1, 2}));
  EXPECT_EQ(endsOfTokens({"<|end|>", "<|flush|>", "<|calls|>"}, {3, 3, 3}), (Ids{1, 2}));
  EXPECT_EQ(endsOfTokens({"<|end|>", "<|return|>", "<|call|>"}, {3, 3, 1}), (Ids{0, 1}));
  EXPECT_EQ(endsOfTokens({"<|end|>", "<|return|>", "<|flush|>"}, {3, 3, 3}), (Ids{0, 1, 2}));
  EXPECT_EQ(endsOfTokens({"</s>", "<|tool_response>"}, {3, 3}), (Ids{1}));
}

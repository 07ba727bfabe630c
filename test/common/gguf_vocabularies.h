// Small vocabularies in GGUF files, one of each kind.
#ifndef VX_TEST_COMMON_GGUF_VOCABULARIES_H
#define VX_TEST_COMMON_GGUF_VOCABULARIES_H

#include "gguf_writer.h"

namespace vx::test {

inline GgufWriter vocabularyFile(std::string_view model, const std::vector<std::string> &tokens,
                                 const std::vector<int32_t> &kinds) {
  GgufWriter writer;
  writer.add("tokenizer.ggml.model", model)
      .addArray<std::string>("tokenizer.ggml.tokens", GgufKind::string, tokens)
      .addArray<int32_t>("tokenizer.ggml.token_type", GgufKind::i32, kinds);
  return writer;
}

// Bytes "a", "b", "c", "Ġ" (a space), merged to "ab" and "Ġab"; "<end>" is special, "cc" the user's.
inline GgufWriter gpt2Vocabulary(std::string_view pre = "gpt-2") {
  return vocabularyFile("gpt2", {"a", "b", "c", "\u0120", "ab", "\u0120ab", "<end>", "cc"}, {1, 1, 1, 1, 1, 1, 3, 4})
      .addArray<std::string>("tokenizer.ggml.merges", GgufKind::string, {"a b", "\u0120 ab"})
      .add("tokenizer.ggml.pre", pre)
      .add<uint32_t>("tokenizer.ggml.bos_token_id", GgufKind::u32, 6);
}

inline GgufWriter llamaVocabulary(bool hasBytes = true) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>", "\u2581", "a", "b", "ab", "\u2581ab", "ba", "<user>"};
  std::vector<int32_t> kinds = {2, 3, 3, 1, 1, 1, 1, 1, 1, 4};
  std::vector<float> scores = {0, 0, 0, -1, -2, -3, -9, -10, -8, 0};
  for (int byte = 0; hasBytes && byte < 256; ++byte) {
    static constexpr char digits[] = "0123456789ABCDEF";
    tokens.push_back({'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'});
    kinds.push_back(6);
    scores.push_back(0);
  }
  return vocabularyFile("llama", tokens, kinds)
      .addArray<float>("tokenizer.ggml.scores", GgufKind::f32, scores)
      .add<uint32_t>("tokenizer.ggml.bos_token_id", GgufKind::u32, 1)
      .add<uint32_t>("tokenizer.ggml.eos_token_id", GgufKind::u32, 2)
      .add<uint32_t>("tokenizer.ggml.unknown_token_id", GgufKind::u32, 0);
}

inline GgufWriter bertVocabulary() {
  return vocabularyFile("bert", {"[UNK]", "[CLS]", "[SEP]", "\u2581ab", "c", "\u2581,", "[x]", "<m>"},
                        {3, 3, 3, 1, 1, 1, 1, 3})
      .add<uint32_t>("tokenizer.ggml.unknown_token_id", GgufKind::u32, 0)
      .add<uint32_t>("tokenizer.ggml.cls_token_id", GgufKind::u32, 1)
      .add<uint32_t>("tokenizer.ggml.seperator_token_id", GgufKind::u32, 2);
}

inline GgufWriter t5Vocabulary() {
  return vocabularyFile("t5", {"<pad>", "</s>", "<unk>", "\u2581", "\u2581a", "b", "ab"}, {3, 3, 2, 1, 1, 1, 1})
      .addArray<float>("tokenizer.ggml.scores", GgufKind::f32, {0, 0, 0, -3, -1, -2, -1.5f})
      .add<uint32_t>("tokenizer.ggml.eos_token_id", GgufKind::u32, 1)
      .add<uint32_t>("tokenizer.ggml.unknown_token_id", GgufKind::u32, 2);
}

} // namespace vx::test

#endif

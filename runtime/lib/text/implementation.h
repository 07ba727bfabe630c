// What a tokenizer is made of.
#ifndef VX_TEXT_IMPLEMENTATION_H
#define VX_TEXT_IMPLEMENTATION_H

#include "text/added_tokens.h"
#include "text/decoders.h"
#include "text/models.h"
#include "text/post_processors.h"
#include "text/pre_tokenizers.h"
#include "text/word_cache.h"

#include <mutex>

namespace vx::text {

// What one call at a time uses, so that calls on several threads do not meet.
struct CallMemory {
  Pieces pieces;
  WorkMemory work;
  ModelMemory model;
  WordCache cache;
  std::vector<WordToken> tokens;
};

} // namespace vx::text

struct vx::text::Tokenizer::Implementation {
  NormalizerPointer normalizer;     // null: none
  PreTokenizerPointer preTokenizer; // null: none
  ModelPointer model;
  std::vector<PostProcessor> processors;
  DecoderPointer decoder; // null: tokens with a space between
  AddedTokens added;
  EncodeOptions defaults;

  // White space at the ends of each token of the model, where spans are trimmed.
  bool trims = false;
  std::vector<TokenSpace> spaces;
  void findSpaces();

  // What an added token is looked for as: its content, normalised where the token is.
  std::string patternOf(const AddedToken &token) const;
  // How a token is spelled, null where there is none.
  const std::string *spelling(int32_t id) const;
  std::string decode(std::span<const int32_t> ids, bool skipsSpecial, bool keepsBytes) const;
  // As many tokens as are wanted, or all, of a text that is UTF-8.
  Encoding encodeOne(std::string_view text, const EncodeOptions &options, int32_t type, size_t limit) const;
  Encoding encodeAll(std::span<const std::string_view> texts, const EncodeOptions &options) const;

  std::unique_ptr<CallMemory> takeMemory() const;
  void giveBack(std::unique_ptr<CallMemory> memory) const;

private:
  // Of a text of which all is looked at.
  Encoding encodeWhole(std::string_view text, const EncodeOptions &options, int32_t type, size_t limit) const;
  // Of a word as many tokens as are wanted, or all.
  void tokenizeWord(std::string_view word, size_t wanted, CallMemory &memory) const;
  bool isLocal() const {
    return preTokenizer && preTokenizer->isLocal() && (!normalizer || normalizer->isLocal()) && !added.hasSpaces();
  }
  void cutText(std::string_view text, const EncodeOptions &options, CallMemory &memory) const;
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<CallMemory>> idle;
};

#endif

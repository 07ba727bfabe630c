// Feeds bytes to the readers of vocabularies, and texts to what they give: tokens and spans that lie in the text, which
// decode to UTF-8, or an error.
//
// The first byte says what follows: a tokenizer.json, a list of tokens, or a SentencePiece model; then, behind a byte
// 0xff, a text. Without one the vocabulary's own bytes are the text.
#include "kind_and_text.h"
#include "vx/text/tokenizer.hpp"

#include <cstdlib>

namespace {

using vx::text::Tokenizer;

void check(bool condition) {
  if (!condition)
    std::abort();
}

Tokenizer read(uint8_t kind, std::string_view bytes) {
  switch (kind % 3) {
  case 0:
    return Tokenizer::from_json(bytes);
  case 1:
    return Tokenizer::from_vocabulary(bytes);
  default:
    return Tokenizer::from_sentencepiece(bytes);
  }
}

void encodeAndDecode(const Tokenizer &tokenizer, std::string_view text) {
  vx::text::EncodeOptions options = tokenizer.default_options();
  options.overflowing = true;
  const vx::text::Encoding encoding = tokenizer.encode(text, options);
  const size_t count = encoding.ids.size();
  check(encoding.type_ids.size() == count && encoding.offsets.size() == count && encoding.words.size() == count);
  check(encoding.attention_mask.size() == count && encoding.special_tokens_mask.size() == count);
  for (const vx::text::Span &span : encoding.offsets)
    check(span.begin <= span.end && span.end <= text.size());
  vx::text::DecodeStream stream(tokenizer);
  std::string pieces;
  for (int32_t id : encoding.ids)
    pieces += stream.push(id);
  pieces += stream.finish();
  // What decodes is text, which encodes.
  tokenizer.encode(tokenizer.decode(encoding.ids, false), options);
  options.truncation.reset();
  tokenizer.encode(pieces, options);
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  return vx::fuzz::mutateKindAndText(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const vx::fuzz::KindAndText input(data, size);
  // At places of their own, so that what is read behind them is found.
  const size_t end = input.kind % 3 == 2 ? input.text.rfind('\xff') : input.text.find('\xff');
  const std::string vocabulary = input.text.substr(0, end),
                    text = end == input.text.npos ? input.text : input.text.substr(end + 1);
  try {
    encodeAndDecode(read(input.kind, vocabulary), text);
  } catch (const vx::text::Error &error) {
    check(*error.what() != 0);
  }
  return 0;
}

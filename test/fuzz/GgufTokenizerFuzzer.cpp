// Feeds bytes to the loader of tokenizers out of GGUF files, and texts to what it returns: tokens that decode to UTF-8,
// or an error.
#include "vx/base/gguf.h"
#include "vx/base/utf8.h"
#include "vx/text/tokenizer.hpp"

#include <cstdlib>

namespace {

void check(bool condition) {
  if (!condition)
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::vector<uint8_t> bytes(data, data + size);
  vx::GgufFile file;
  std::string error;
  if (!vx::parseGguf(bytes, file, error))
    return 0;
  try {
    const vx::text::Tokenizer tokenizer = vx::text::Tokenizer::from_gguf(file);
    std::string text = "ab \u00e9<s>  12 a\r\n\u65e5<user>c";
    for (size_t id = 0; id < std::min<size_t>(tokenizer.vocabulary_size(), 20); ++id)
      text += tokenizer.id_to_token(static_cast<int32_t>(id)).value_or(" ");
    for (bool addsSpecial : {false, true}) {
      vx::text::EncodeOptions options = tokenizer.default_options();
      options.add_special_tokens = addsSpecial;
      const vx::text::Encoding encoding = tokenizer.encode(text, options);
      for (int32_t id : encoding.ids)
        check(id >= 0 && static_cast<size_t>(id) < tokenizer.vocabulary_size());
      for (const vx::text::Span &span : encoding.offsets)
        check(span.begin <= span.end && span.end <= text.size());
      check(vx::isUtf8(tokenizer.decode(encoding.ids, false)));
    }
  } catch (const vx::text::Error &) {
  }
  return 0;
}

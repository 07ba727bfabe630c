// Feeds bytes to the parser of chat templates, and renders what it accepts: a text that is UTF-8, or an error.
#include "mutate_text.h"
#include "vx/base/utf8.h"
#include "vx/text/chat_template.hpp"

#include <cstdlib>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  const size_t made = seed % 4 ? vx::fuzz::mutateText(data, size, maxSize, seed / 4) : 0;
  return made ? made : LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static constexpr char variables[] =
      R"({"messages": [{"role": "user", "content": " H\u00e9 \n"}, {"role": "assistant", "content": null,
    "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": [1, 2.5, true]}}}]}], "tools": [{"type": "function"}],
    "add_generation_prompt": true, "bos_token": "<s>", "s": "a b\tc", "n": 7, "l": [3, 1, 2], "d": {"b": 1, "a": {"c": null}}})";
  vx::text::RenderLimits limits;
  limits.most_steps = 100'000;
  limits.most_memory = 16u << 20;
  limits.most_output = 1u << 20;
  limits.now = 0;
  const std::string source(reinterpret_cast<const char *>(data), size);
  try {
    const std::string text = vx::text::ChatTemplate::parse(source).render(variables, limits);
    if (text.size() > limits.most_output || !vx::isUtf8(text))
      std::abort();
  } catch (const vx::text::Error &error) {
    if (!vx::isUtf8(error.what()))
      std::abort();
  }
  return 0;
}

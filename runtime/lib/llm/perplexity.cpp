#include "perplexity.h"

#include "errors.h"
#include "generator_state.h"

#include "vx/base/utf8.h"

#include <algorithm>
#include <cmath>

namespace vx::llm {

double Perplexity::value() const { return std::exp(loss); }

TextTokens encodeText(const Generator &generator, std::string_view text) {
  if (const size_t valid = wellFormedBytes(text); valid < text.size())
    throw argumentError("expected UTF-8, got the byte 0x{:02x} at offset {}", static_cast<uint8_t>(text[valid]), valid);
  text::EncodeOptions options;
  options.match_special_tokens = false;
  options.offsets = text::OffsetUnit::none;
  text::Encoding encoding = withErrors([&] { return GeneratorAccess::tokenizer(generator).encode(text, options); });
  const std::vector<int32_t> &marks = encoding.special_tokens_mask;
  const auto begin = std::ranges::find(marks, 0);
  // A token that ends a text does not belong between two windows.
  const auto end = std::find(marks.rbegin(), std::make_reverse_iterator(begin), 0).base();
  const auto prefix = static_cast<size_t>(begin - marks.begin());
  encoding.ids.resize(std::max(prefix, static_cast<size_t>(end - marks.begin())));
  return {std::move(encoding.ids), prefix};
}

Perplexity measurePerplexity(Generator &generator, const TextTokens &tokens, size_t window,
                             const std::function<void(const Perplexity &soFar, size_t allWindows)> &progress) {
  if (window < LeastWindow || window > generator.context())
    throw argumentError("expected a window of {} to {} tokens, got {}", LeastWindow, generator.context(), window);
  if (tokens.ids.size() < window)
    throw argumentError(
        "the text has {} tokens, expected at least {}, one window; a smaller --context takes a shorter text",
        tokens.ids.size(), window);
  if (tokens.prefix > window / 2)
    throw argumentError("the tokenizer begins a text with {} tokens, expected at most {}, half of a window",
                        tokens.prefix, window / 2);
  Perplexity result;
  result.textTokens = tokens.ids.size();
  result.leftOutTokens = tokens.ids.size() % window;
  const size_t windows = tokens.ids.size() / window;
  double sum = 0, squares = 0;
  for (size_t number = 0; number < windows; ++number) {
    const auto first = tokens.ids.begin() + static_cast<std::ptrdiff_t>(number * window);
    std::vector<int32_t> ids(first, first + static_cast<std::ptrdiff_t>(window));
    std::copy_n(tokens.ids.begin(), tokens.prefix, ids.begin());
    for (const double score : generator.score(ids, window / 2 + 1)) {
      sum -= score;
      squares += score * score;
      ++result.scoredTokens;
    }
    ++result.windows;
    const auto count = static_cast<double>(result.scoredTokens);
    result.loss = sum / count;
    const double variance = squares / count - result.loss * result.loss;
    result.lossError = count > 1 && variance > 0 ? std::sqrt(variance / (count - 1)) : 0;
    if (progress)
      progress(result, windows);
  }
  return result;
}

} // namespace vx::llm

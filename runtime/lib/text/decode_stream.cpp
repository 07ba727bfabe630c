#include "text/implementation.h"

#include "text/characters.h"

namespace vx::text {

DecodeStream::DecodeStream(Tokenizer tokenizer, bool skip_special_tokens)
    : tokenizer(std::move(tokenizer)), skips(skip_special_tokens) {}

// The text of a token depends on whether one stands before it. So a window of tokens is decoded with and without the
// new ones, and what the two have in common has been given out.
std::string DecodeStream::push(int32_t id) {
  const Tokenizer::Implementation &all = tokenizer.implementation();
  window.push_back(id);
  const std::string text = all.decode(window, skips, true);
  if (text.size() <= given.size()) {
    // A token without a text, as a special one that is skipped, is nothing that others depend on.
    if (text == given && !(context == 0 && given.empty()))
      window.pop_back();
    return "";
  }
  const size_t whole = text.size() - incompleteTail(text);
  // Half a character waits, but for at most three tokens: then it is complete, or none.
  if (whole < text.size())
    return "";
  const size_t from = text.starts_with(given)
                          ? given.size()
                          : std::mismatch(given.begin(), given.end(), text.begin(), text.end()).first - given.begin();
  std::string made = replaceIllFormed(std::string_view(text).substr(from));
  window.erase(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(context));
  context = window.size();
  given = all.decode(window, skips, true);
  return made;
}

std::string DecodeStream::finish() {
  const std::string text = tokenizer.implementation().decode(window, skips, true);
  std::string made = text.size() > given.size() ? replaceIllFormed(std::string_view(text).substr(given.size())) : "";
  window.clear();
  context = 0;
  given.clear();
  return made;
}

} // namespace vx::text

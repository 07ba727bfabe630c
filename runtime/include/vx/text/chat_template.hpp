// Chat templates: the part of Jinja that models' templates use, with Python's values.
//
// Tags: if, for, set, macro, break, continue, raw, filter, with; generation marks a part and does nothing. Blocks are
// trimmed as in transformers: trim_blocks and lstrip_blocks are on, nothing is escaped, and values cannot be changed
// except attributes of a namespace. Functions: range, dict, namespace, raise_exception, strftime_now.
#ifndef VX_TEXT_CHAT_TEMPLATE_HPP
#define VX_TEXT_CHAT_TEMPLATE_HPP

#include "vx/text/tokenizer.hpp"

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace vx::text {

// Bounds of one rendering. A template that reaches one ends with an error that names the bound.
struct RenderLimits {
  uint64_t most_steps = 10'000'000;    // expressions, statements and rounds of loops
  uint64_t most_memory = 1u << 30;     // bytes of all values that it makes
  uint64_t most_output = 64u << 20;    // bytes
  uint64_t most_depth = 400;           // of expressions, statements and calls inside each other
  std::optional<std::time_t> now = {}; // the time of strftime_now; nothing: the clock's
};

// A template. Immutable, and shared by copies. Thread-safe.
class ChatTemplate {
public:
  // Throws Error::file with the line: "line 3: the tag 'include' is not supported".
  static ChatTemplate parse(std::string_view source);

  // The text for `variables`, a JSON object: messages, tools, add_generation_prompt, bos_token and others, each a
  // variable of the template. Throws Error::argument with the line, also with the message of raise_exception.
  std::string render(std::string_view variables, const RenderLimits &limits = {}) const;

  struct Implementation;

private:
  explicit ChatTemplate(std::shared_ptr<const Implementation> implementation) : shared(std::move(implementation)) {}
  std::shared_ptr<const Implementation> shared;
};

} // namespace vx::text

#endif

#include "text/pattern.h"

#include "text/characters.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace vx::text {

namespace {

// What one match may take. A step is some nanoseconds.
constexpr uint32_t stepLimit = 10'000'000, heapLimitKiB = 64 * 1024;
constexpr size_t jitStackStart = 32 * 1024, jitStackLimit = 1024 * 1024;

} // namespace

struct PatternMemory::Parts {
  pcre2_match_data *data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context *limits = pcre2_match_context_create(nullptr);
  pcre2_jit_stack *stack = pcre2_jit_stack_create(jitStackStart, jitStackLimit, nullptr);
  ~Parts() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
    pcre2_jit_stack_free(stack);
  }
};

PatternMemory::PatternMemory() : parts(std::make_unique<Parts>()) {
  if (!parts->data || !parts->limits)
    throw std::bad_alloc();
  pcre2_set_match_limit(parts->limits, stepLimit);
  pcre2_set_heap_limit(parts->limits, heapLimitKiB);
  if (parts->stack)
    pcre2_jit_stack_assign(parts->limits, nullptr, parts->stack);
}

PatternMemory::~PatternMemory() = default;

struct Pattern::Code {
  pcre2_code *compiled = nullptr; // null: the source is what is looked for
  bool isJit = false;
  ~Code() { pcre2_code_free(compiled); }
};

Pattern::Pattern() : code(std::make_unique<Code>()) {}
Pattern::Pattern(Pattern &&) = default;
Pattern &Pattern::operator=(Pattern &&) = default;
Pattern::~Pattern() = default;

Pattern Pattern::fromLiteral(std::string literal) {
  Pattern pattern;
  pattern.source = std::move(literal);
  return pattern;
}

Pattern Pattern::fromExpression(const std::string &expression) {
  return compile(expression, translateExpression(expression));
}
Pattern Pattern::fromPcre2(const std::string &expression) { return compile(expression, expression); }

Pattern Pattern::compile(const std::string &expression, const std::string &translated) {
  Pattern pattern;
  pattern.source = expression;
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free_8)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free_8);
  if (!context)
    throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  int error = 0;
  PCRE2_SIZE place = 0;
  pattern.code->compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &place, context.get());
  if (!pattern.code->compiled) {
    unsigned char text[256] = "";
    pcre2_get_error_message(error, text, sizeof text);
    throw Error(Error::Kind::file, "the regular expression '" + expression +
                                       "' does not compile: " + reinterpret_cast<const char *>(text) + " at byte " +
                                       std::to_string(place) + " of '" + translated + "'");
  }
  pattern.code->isJit = pcre2_jit_compile(pattern.code->compiled, PCRE2_JIT_COMPLETE) == 0;
  return pattern;
}

bool Pattern::findNext(std::string_view text, size_t from, PatternMemory &memory, Span &match) const {
  if (!code->compiled) {
    const size_t at = source.empty() ? text.npos : text.find(source, from);
    if (at == text.npos)
      return false;
    match = {static_cast<uint32_t>(at), static_cast<uint32_t>(at + source.size())};
    return true;
  }
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  PatternMemory::Parts &parts = *memory.parts;
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code->isJit && parts.stack)
    result = pcre2_jit_match(code->compiled, subject, text.size(), from, 0, parts.data, parts.limits);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT)
    result = pcre2_match(code->compiled, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, parts.data,
                         parts.limits);
  if (result == PCRE2_ERROR_NOMATCH)
    return false;
  if (result < 0) {
    unsigned char reason[256] = "";
    pcre2_get_error_message(result, reason, sizeof reason);
    throw Error(Error::Kind::argument, "the text cannot be matched with the vocabulary's regular expression '" +
                                           source + "' from byte " + std::to_string(from) +
                                           " on: " + reinterpret_cast<const char *>(reason));
  }
  const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(parts.data);
  // \K in a look-around could have the end before the begin.
  if (ends[0] > ends[1] || ends[1] < from)
    throw Error(Error::Kind::argument, "the vocabulary's regular expression '" + source +
                                           "' matches a part that ends before it begins, at byte " +
                                           std::to_string(ends[1]));
  match = {static_cast<uint32_t>(ends[0]), static_cast<uint32_t>(ends[1])};
  return true;
}

void Pattern::findAll(std::string_view text, PatternMemory &memory, std::vector<Span> &matches) const {
  matches.clear();
  size_t from = 0, lastEnd = text.npos;
  Span match;
  while (from <= text.size() && findNext(text, from, memory, match)) {
    if (match.begin == match.end && match.end == lastEnd) {
      from = match.end < text.size() ? match.end + codePointAt(text, match.end).size : text.size() + 1;
      continue;
    }
    // One that begins before the last one's end, by \K, has lost what it was to cover.
    match.begin = lastEnd == text.npos ? match.begin : std::max<uint32_t>(match.begin, static_cast<uint32_t>(lastEnd));
    matches.push_back(match);
    from = lastEnd = match.end;
  }
}

} // namespace vx::text

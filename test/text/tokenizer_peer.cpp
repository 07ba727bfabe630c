// Answers a test's questions about a vocabulary, over pipes: tokenizer_peer FILE.
//
// A question is a letter, a length in 4 bytes and so many bytes; numbers are little-endian. An answer is a length in 4
// bytes and so many bytes.
//
//   e, E  encode a text, E without special tokens: for each token its number, the begin and the end of its span in code
//         points, its type and whether it is special, 4 bytes each
//   x, X  the same, where a special token that the text spells is plain text
//   T     encode a text, cut off behind so many tokens as the 4 bytes in front say: the tokens, of 4 bytes each, and
//         behind them whether something was cut off
//   P     encode a pair, with the length of the first text in 4 bytes in front
//   L     encode a pair with limits: in front ten numbers of 4 bytes: the most tokens or 0, the stride, the strategy,
//   the
//         side of tokens that go, padding (0: none, 1: to a length, 2: to a multiple), that length or multiple, its
//         side, its token, its type, and the length of the first text, or -1 where there is no second one: a count of
//         encodings, the ones that overflow behind the first, each as a count of tokens and what 'e' says of each with
//         its attention
//   d, D  decode numbers of 4 bytes each, D with special tokens
//   s     the same token by token: the pieces joined, each of them UTF-8 of its own
//   t     encode a text: the seconds that it took, in 8 bytes, and the count of tokens in 4
//   c     encode each code point of a list, of 4 bytes each, between two letters: the count of tokens and the tokens
#include "vx/text/tokenizer.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

namespace {

bool readExactly(void *to, size_t size) { return std::fread(to, 1, size, stdin) == size; }

void put(std::string &answer, const void *value, size_t size) { answer.append(static_cast<const char *>(value), size); }
void put(std::string &answer, uint32_t value) { put(answer, &value, sizeof value); }

void putEncoding(std::string &answer, const vx::text::Encoding &encoding) {
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    put(answer, static_cast<uint32_t>(encoding.ids[i]));
    put(answer, encoding.offsets[i].begin);
    put(answer, encoding.offsets[i].end);
    put(answer, static_cast<uint32_t>(encoding.type_ids[i]));
    put(answer, static_cast<uint32_t>(encoding.special_tokens_mask[i]));
  }
}

std::vector<int32_t> numbersOf(const std::string &bytes);

// An encoding with limits, and what overflowed.
void putLimited(std::string &answer, const std::string &bytes, const vx::text::Tokenizer &tokenizer,
                vx::text::EncodeOptions options) {
  constexpr size_t Facts = 10;
  const std::vector<int32_t> facts = numbersOf(bytes.substr(0, Facts * 4));
  const std::string texts = bytes.substr(Facts * 4);
  auto sideOf = [](int32_t number) { return number == 0 ? vx::text::Side::left : vx::text::Side::right; };
  options.overflowing = true;
  options.truncation.reset();
  options.padding.reset();
  if (facts[0] > 0)
    options.truncation = {static_cast<size_t>(facts[0]), static_cast<size_t>(facts[1]),
                          static_cast<vx::text::Truncation::Strategy>(facts[2]), sideOf(facts[3])};
  if (facts[4] > 0) {
    vx::text::Padding padding;
    if (facts[4] == 1)
      padding.length = static_cast<size_t>(facts[5]);
    else
      padding.multiple_of = static_cast<size_t>(facts[5]);
    padding.side = sideOf(facts[6]);
    padding.id = facts[7];
    padding.type_id = facts[8];
    options.padding = padding;
  }
  const size_t first = facts[9] < 0 ? texts.size() : static_cast<size_t>(facts[9]);
  const vx::text::Encoding encoding = facts[9] < 0
                                          ? tokenizer.encode(texts, options)
                                          : tokenizer.encode_pair(texts.substr(0, first), texts.substr(first), options);
  put(answer, static_cast<uint32_t>(1 + encoding.overflowing.size()));
  auto putOne = [&](const vx::text::Encoding &one) {
    put(answer, static_cast<uint32_t>(one.ids.size()));
    putEncoding(answer, one);
    for (int32_t attention : one.attention_mask)
      put(answer, static_cast<uint32_t>(attention));
  };
  putOne(encoding);
  for (const vx::text::Encoding &one : encoding.overflowing)
    putOne(one);
}

std::vector<int32_t> numbersOf(const std::string &bytes) {
  std::vector<int32_t> numbers(bytes.size() / 4);
  if (!numbers.empty())
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * 4);
  return numbers;
}

std::string spell(uint32_t code) {
  if (code < 0x80)
    return {static_cast<char>(code)};
  if (code < 0x800)
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  if (code < 0x10000)
    return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
            static_cast<char>(0x80 | (code & 63))};
  return {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
          static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
}

std::string answerTo(char question, const std::string &bytes, const vx::text::Tokenizer &tokenizer) {
  vx::text::EncodeOptions options = tokenizer.default_options();
  options.offsets = vx::text::OffsetUnit::code_points;
  std::string answer;
  switch (question) {
  case 'e':
  case 'E':
  case 'x':
  case 'X':
    options.add_special_tokens = question == 'e' || question == 'x';
    options.match_special_tokens = question == 'e' || question == 'E';
    putEncoding(answer, tokenizer.encode(bytes, options));
    break;
  case 'T': {
    options.truncation = {.max_length = static_cast<size_t>(numbersOf(bytes.substr(0, 4)).at(0))};
    options.offsets = vx::text::OffsetUnit::none;
    const vx::text::Encoding encoding = tokenizer.encode(bytes.substr(4), options);
    for (int32_t id : encoding.ids)
      put(answer, static_cast<uint32_t>(id));
    put(answer, static_cast<uint32_t>(encoding.is_truncated));
    break;
  }
  case 'P': {
    const uint32_t first = static_cast<uint32_t>(numbersOf(bytes.substr(0, 4)).at(0));
    putEncoding(answer, tokenizer.encode_pair(bytes.substr(4, first), bytes.substr(4 + first), options));
    break;
  }
  case 'L':
    putLimited(answer, bytes, tokenizer, options);
    break;
  case 'd':
  case 'D':
    answer = tokenizer.decode(numbersOf(bytes), question == 'd');
    break;
  case 's': {
    vx::text::DecodeStream stream(tokenizer);
    for (int32_t id : numbersOf(bytes)) {
      const std::string piece = stream.push(id);
      put(answer, static_cast<uint32_t>(piece.size()));
      answer += piece;
    }
    const std::string piece = stream.finish();
    put(answer, static_cast<uint32_t>(piece.size()));
    answer += piece;
    break;
  }
  case 't': {
    const auto begin = std::chrono::steady_clock::now();
    const vx::text::Encoding encoding = tokenizer.encode(bytes, options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    put(answer, &seconds, sizeof seconds);
    put(answer, static_cast<uint32_t>(encoding.ids.size()));
    break;
  }
  case 'c':
    for (int32_t code : numbersOf(bytes)) {
      const vx::text::Encoding encoding = tokenizer.encode("a" + spell(static_cast<uint32_t>(code)) + "a", options);
      put(answer, static_cast<uint32_t>(encoding.ids.size()));
      for (int32_t id : encoding.ids)
        put(answer, static_cast<uint32_t>(id));
    }
    break;
  default:
    throw vx::text::Error(vx::text::Error::Kind::argument, std::string("no question is '") + question + "'");
  }
  return answer;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: tokenizer_peer FILE.json|FILE.txt|FILE.model < QUESTIONS > ANSWERS\n");
    return 2;
  }
  try {
    const vx::text::Tokenizer tokenizer = vx::text::Tokenizer::load(arguments[1]);
    char question = 0;
    while (readExactly(&question, 1)) {
      uint32_t size = 0;
      if (!readExactly(&size, sizeof size))
        return 1;
      std::string bytes(size, '\0');
      if (!readExactly(bytes.data(), size))
        return 1;
      const std::string answer = answerTo(question, bytes, tokenizer);
      size = static_cast<uint32_t>(answer.size());
      std::fwrite(&size, sizeof size, 1, stdout);
      std::fwrite(answer.data(), 1, answer.size(), stdout);
      std::fflush(stdout);
    }
  } catch (const vx::text::Error &error) {
    std::fprintf(stderr, "tokenizer_peer: error: %s\n", error.what());
    return 1;
  }
  return 0;
}

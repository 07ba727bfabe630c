// Answers a test's questions about a vocabulary, over pipes: tokenizer_peer FILE.
//
// A question is a letter, a length in 4 bytes and so many bytes; numbers are little-endian. An answer is a length in 4
// bytes and so many bytes.
//
//   e, E  encode a text, E without special tokens: for each token its number, the begin and the end of its span in code
//         points, its type and whether it is special, 4 bytes each
//   P     encode a pair, with the length of the first text in 4 bytes in front
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
  case 'E':
    options.add_special_tokens = false;
    [[fallthrough]];
  case 'e':
    putEncoding(answer, tokenizer.encode(bytes, options));
    break;
  case 'P': {
    const uint32_t first = static_cast<uint32_t>(numbersOf(bytes.substr(0, 4)).at(0));
    putEncoding(answer, tokenizer.encode_pair(bytes.substr(4, first), bytes.substr(4 + first), options));
    break;
  }
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

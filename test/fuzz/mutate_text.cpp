#include "mutate_text.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace vx::fuzz {

namespace {

enum class Kind { Number, Name, Space, Mark };

struct Token {
  Kind kind;
  std::string text;
};

bool isNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$'; }

std::vector<Token> tokensOf(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    Kind kind = Kind::Mark;
    const auto first = static_cast<unsigned char>(text[at]);
    auto extend = [&](auto isPart) {
      while (end < text.size() && isPart(text[end]))
        ++end;
    };
    if (std::isdigit(first)) {
      kind = Kind::Number;
      extend([](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
    } else if (std::isalpha(first) || first == '_' ||
               ((first == '%' || first == '@' || first == '#' || first == '!') && end < text.size() &&
                isNamePart(text[end]))) {
      kind = Kind::Name;
      extend(isNamePart);
    } else if (std::isspace(first)) {
      kind = Kind::Space;
    }
    tokens.push_back({kind, std::string(text.substr(at, end - at))});
    at = end;
  }
  return tokens;
}

class Mutator {
public:
  Mutator(std::vector<Token> &tokens, uint32_t seed) : tokens(tokens), random(seed) {}

  void run() {
    const uint32_t count = 1 + random() % 3;
    for (uint32_t i = 0; i < count && !tokens.empty(); ++i)
      change();
  }

private:
  void change() {
    const size_t at = random() % tokens.size();
    switch (random() % 8) {
    case 0:
      tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at));
      return;
    case 1: {
      const Token copy = tokens[at];
      tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(at), copy);
      return;
    }
    case 2:
      return line(at);
    case 3: {
      const Token copy = tokens[random() % tokens.size()];
      tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(at), copy);
      return;
    }
    default:
      return replace(at);
    }
  }

  /// A token by another of its kind.
  void replace(size_t from) {
    size_t at = from;
    while (at < tokens.size() && tokens[at].kind == Kind::Space)
      ++at;
    if (at == tokens.size())
      return;
    static constexpr std::string_view numbers[] = {"0",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "8",
                                                   "64",
                                                   "127",
                                                   "128",
                                                   "255",
                                                   "2147483647",
                                                   "4294967296",
                                                   "9223372036854775807",
                                                   "9223372036854775808",
                                                   "99999999999999999999"};
    if (tokens[at].kind == Kind::Number && random() % 2 == 0) {
      tokens[at].text = numbers[random() % std::size(numbers)];
      return;
    }
    std::vector<const Token *> others;
    for (const Token &token : tokens)
      if (token.kind == tokens[at].kind && token.text.front() == tokens[at].text.front())
        others.push_back(&token);
    if (tokens[at].kind != Kind::Name || random() % 4 == 0) {
      others.clear();
      for (const Token &token : tokens)
        if (token.kind == tokens[at].kind)
          others.push_back(&token);
    }
    const std::string copy = others[random() % others.size()]->text;
    tokens[at].text = copy;
  }

  /// A line is taken away, repeated, or put elsewhere.
  void line(size_t at) {
    auto isEnd = [](const Token &token) { return token.text == "\n"; };
    const auto begin =
        std::find_if(std::make_reverse_iterator(tokens.begin() + static_cast<ptrdiff_t>(at)), tokens.rend(), isEnd)
            .base();
    auto end = std::find_if(tokens.begin() + static_cast<ptrdiff_t>(at), tokens.end(), isEnd);
    if (end != tokens.end())
      ++end;
    const std::vector<Token> copy(begin, end);
    const uint32_t way = random() % 3;
    if (way != 0)
      tokens.erase(begin, end);
    if (way == 1)
      return;
    std::vector<size_t> starts = {0};
    for (size_t i = 0; i < tokens.size(); ++i)
      if (isEnd(tokens[i]))
        starts.push_back(i + 1);
    tokens.insert(tokens.begin() + static_cast<ptrdiff_t>(starts[random() % starts.size()]), copy.begin(), copy.end());
  }

  std::vector<Token> &tokens;
  std::minstd_rand random;
};

} // namespace

size_t mutateText(uint8_t *data, size_t size, size_t maxSize, uint32_t seed) {
  std::vector<Token> tokens = tokensOf({reinterpret_cast<const char *>(data), size});
  Mutator(tokens, seed).run();
  std::string out;
  for (const Token &token : tokens)
    out += token.text;
  if (out.empty() || out.size() > maxSize)
    return 0;
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

} // namespace vx::fuzz

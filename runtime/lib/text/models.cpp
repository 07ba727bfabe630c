#include "text/models.h"

#include "text/characters.h"
#include "vx/text/tokenizer.hpp"

#include <algorithm>

namespace vx::text {

void Vocabulary::set(int32_t id, std::string token) {
  if (static_cast<size_t>(id) >= tokens.size()) {
    tokens.resize(id + 1);
    isThere.resize(id + 1);
  }
  tokens[id] = std::move(token);
  isThere[id] = true;
}

Model::Model(Vocabulary vocabulary) : all(std::move(vocabulary)) {
  for (size_t id = 0; id < all.tokens.size(); ++id)
    if (all.isThere[id])
      numbers.insert(all.tokens[id], static_cast<int32_t>(id));
}

size_t Model::findBoundary(std::string_view word, size_t begin, size_t end) const {
  if (!hasBoundaries())
    return word.npos;
  std::call_once(made, [this] {
    std::vector<std::pair<std::string, int32_t>> keys;
    for (size_t id = 0; id < all.tokens.size(); ++id)
      if (all.isThere[id])
        if (std::string bytes = bytesOf(all.tokens[id]); !bytes.empty()) {
          longest = std::max(longest, bytes.size());
          keys.emplace_back(std::move(bytes), static_cast<int32_t>(id));
        }
    trie = ByteTrie(std::move(keys));
  });
  // Tokens that begin in front of the place and end behind it.
  const auto isCrossed = [&](size_t place) {
    for (size_t from = place; from-- > 0 && place - from < longest;) {
      uint32_t node = ByteTrie::root;
      for (size_t at = from; at < word.size(); ++at) {
        node = trie.step(node, static_cast<unsigned char>(word[at]));
        if (node == ByteTrie::none)
          break;
        if (at >= place && trie.number(node) >= 0)
          return true;
      }
    }
    return false;
  };
  for (size_t place = begin; place < end && place < word.size(); ++place)
    if (!isContinuation(word[place]) && !isCrossed(place))
      return place;
  return word.npos;
}

int32_t Model::require(const std::string &token, const char *what) const {
  const int32_t id = find(token);
  if (id < 0)
    throw Error(Error::Kind::file, std::string("the vocabulary has ") + what + ", got none for '" + token + "'");
  return id;
}

std::vector<int32_t> Model::findByteTokens() const {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::vector<int32_t> ids;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char name[] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
    ids.push_back(find(std::string_view(name, sizeof name)));
  }
  return ids;
}

std::vector<int32_t> Model::requireByteTokens() const {
  std::vector<int32_t> ids = findByteTokens();
  if (const auto missing = std::ranges::find(ids, -1); missing != ids.end())
    throw Error(Error::Kind::file,
                "a vocabulary that falls back to bytes has tokens '<0x00>' to '<0xFF>', got none for byte " +
                    std::to_string(missing - ids.begin()));
  return ids;
}

namespace {

class WordLevel : public Model {
public:
  WordLevel(Vocabulary vocabulary, const std::string &unknown)
      : Model(std::move(vocabulary)), unknown(find(unknown)), unknownName(unknown) {}
  void tokenize(std::string_view word, ModelMemory &, std::vector<WordToken> &tokens) const override {
    int32_t id = find(word);
    if (id < 0)
      id = unknown;
    if (id < 0)
      throw Error(Error::Kind::argument, "the vocabulary has no token for the word '" + std::string(word) +
                                             "' and none for '" + unknownName + "'");
    tokens.push_back({id, 0, static_cast<uint32_t>(word.size())});
  }

private:
  int32_t unknown;
  std::string unknownName;
};

class WordPiece : public Model {
public:
  WordPiece(Vocabulary vocabulary, const std::string &unknown, const std::string &prefix, size_t longestWord)
      : Model(std::move(vocabulary)), unknown(require(unknown, "a token for what is unknown")),
        longestWord(longestWord) {
    std::vector<std::pair<std::string, int32_t>> first, others;
    const Vocabulary &all = this->vocabulary();
    for (size_t i = 0; i < all.tokens.size(); ++i) {
      if (!all.isThere[i])
        continue;
      first.emplace_back(all.tokens[i], static_cast<int32_t>(i));
      if (all.tokens[i].starts_with(prefix))
        others.emplace_back(all.tokens[i].substr(prefix.size()), static_cast<int32_t>(i));
    }
    beginnings = ByteTrie(std::move(first));
    continuations = ByteTrie(std::move(others));
  }

  void tokenize(std::string_view word, ModelMemory &, std::vector<WordToken> &tokens) const override {
    const size_t begun = tokens.size();
    bool isKnown = word.size() <= longestWord || countCodePoints(word) <= longestWord;
    for (uint32_t at = 0; isKnown && at < word.size();) {
      const ByteTrie &trie = at == 0 ? beginnings : continuations;
      uint32_t node = ByteTrie::root;
      WordToken longest{-1, at, at};
      for (uint32_t end = at; end < word.size();) {
        node = trie.step(node, static_cast<unsigned char>(word[end]));
        if (node == ByteTrie::none)
          break;
        ++end;
        if (const int32_t id = trie.number(node); id >= 0)
          longest = {id, at, end};
      }
      isKnown = longest.id >= 0;
      tokens.push_back(longest);
      at = longest.end;
    }
    if (isKnown)
      return;
    tokens.resize(begun);
    tokens.push_back({unknown, 0, static_cast<uint32_t>(word.size())});
  }

private:
  int32_t unknown;
  size_t longestWord;
  ByteTrie beginnings, continuations;
};

} // namespace

ModelPointer makeWordLevel(Vocabulary vocabulary, const std::string &unknown) {
  return std::make_unique<WordLevel>(std::move(vocabulary), unknown);
}
ModelPointer makeWordPiece(Vocabulary vocabulary, const std::string &unknown, const std::string &prefix,
                           size_t longestWord) {
  return std::make_unique<WordPiece>(std::move(vocabulary), unknown, prefix, longestWord);
}

} // namespace vx::text

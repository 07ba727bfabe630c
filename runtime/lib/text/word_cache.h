// The tokens of words that have been seen: in a text most words come again.
#ifndef VX_TEXT_WORD_CACHE_H
#define VX_TEXT_WORD_CACHE_H

#include "text/models.h"

#include <span>

namespace vx::text {

class WordCache {
public:
  static constexpr size_t longestWord = 28, mostTokens = 8;

  // False where it is not there; else adds its tokens.
  bool find(std::string_view word, uint64_t hash, std::vector<WordToken> &tokens) const {
    if (entries.empty())
      return false;
    const Entry &entry = entries[hash % count];
    if (entry.size != word.size() || entry.hash != hash || std::memcmp(entry.word, word.data(), word.size()) != 0)
      return false;
    for (size_t i = 0; i < entry.tokens; ++i)
      tokens.push_back({entry.ids[i], entry.begins[i], entry.ends[i]});
    return true;
  }
  void insert(std::string_view word, uint64_t hash, std::span<const WordToken> tokens) {
    if (tokens.size() > mostTokens)
      return;
    if (entries.empty())
      entries.resize(count);
    Entry &entry = entries[hash % count];
    entry.hash = hash;
    entry.size = static_cast<uint8_t>(word.size());
    entry.tokens = static_cast<uint8_t>(tokens.size());
    std::memcpy(entry.word, word.data(), word.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      entry.ids[i] = tokens[i].id;
      entry.begins[i] = static_cast<uint8_t>(tokens[i].begin);
      entry.ends[i] = static_cast<uint8_t>(tokens[i].end);
    }
  }

private:
  static constexpr size_t count = 1 << 14;
  struct Entry {
    uint64_t hash = 0;
    uint8_t size = 0, tokens = 0; // a word has a byte or more
    uint8_t begins[mostTokens], ends[mostTokens];
    char word[longestWord];
    int32_t ids[mostTokens];
  };
  std::vector<Entry> entries;
};

} // namespace vx::text

#endif

// Byte pair encoding: of all neighbours that merge, the pair of the lowest rank does, from the left, until none is
// left.
#include "text/byte_alphabet.h"
#include "text/byte_trie.h"
#include "text/characters.h"
#include "text/models.h"
#include "vx/text/tokenizer.hpp"

#include <algorithm>
#include <unordered_map>

namespace vx::text {

namespace {

using Symbol = ModelMemory::Symbol;
using Candidate = ModelMemory::Candidate;

/// Up to so many symbols are searched one by one for the best pair, which is faster than to keep a heap.
constexpr size_t fewSymbols = 24;

void addSymbol(std::vector<Symbol> &symbols, int32_t id, uint32_t begin, uint32_t size, bool isFrozen = false) {
  const auto count = static_cast<int32_t>(symbols.size());
  if (count > 0)
    symbols.back().next = count;
  symbols.push_back({id, count - 1, -1, begin, size, isFrozen});
}

/// `find(left, right)` is the merge of two symbols. Symbols of size 0 are gone afterwards, but stay in the list.
template <typename Find>
void mergeByHeap(ModelMemory &memory, Find find) {
  std::vector<Symbol> &symbols = memory.symbols;
  std::vector<Candidate> &heap = memory.heap;
  heap.clear();
  const auto isLater = [](const Candidate &a, const Candidate &b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
  };
  const auto offer = [&](int32_t left, int32_t right) {
    if (const Merge merge = find(symbols[left], symbols[right]); merge.result >= 0)
      heap.push_back({merge.rank, static_cast<uint32_t>(left), merge.result, symbols[left].size + symbols[right].size});
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i)
    offer(static_cast<int32_t>(i), static_cast<int32_t>(i + 1));
  std::make_heap(heap.begin(), heap.end(), isLater);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), isLater);
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol &left = symbols[best.place];
    // One of an earlier state of its neighbours.
    if (left.size == 0 || left.next < 0 || left.size + symbols[left.next].size != best.size)
      continue;
    Symbol &right = symbols[left.next];
    left.id = best.result;
    left.size += right.size;
    right.size = 0;
    left.next = right.next;
    if (left.next >= 0)
      symbols[left.next].previous = static_cast<int32_t>(best.place);
    const auto place = static_cast<int32_t>(best.place);
    size_t count = heap.size();
    if (left.previous >= 0)
      offer(left.previous, place);
    if (heap.size() > count)
      std::push_heap(heap.begin(), heap.end(), isLater);
    count = heap.size();
    if (left.next >= 0)
      offer(place, left.next);
    if (heap.size() > count)
      std::push_heap(heap.begin(), heap.end(), isLater);
  }
}

class Bpe : public Model {
public:
  Bpe(Vocabulary vocabulary, const BpeRules &rules)
      : Model(std::move(vocabulary)), prefix(rules.prefix), suffix(rules.suffix), fusesUnknown(rules.fusesUnknown),
        takesWholeWords(rules.takesWholeWords), isOfBytes(rules.isOfBytes) {
    if (rules.unknown)
      unknown = require(*rules.unknown, "a token for what is unknown");
    if (rules.fallsBackToBytes)
      byteTokens = findByteTokens();
    // What is unknown, and the bytes of what is, merge to tokens that are spelled otherwise than the text.
    const auto isText = [&](const std::string &part) {
      const int32_t id = find(part);
      return id != unknown && std::ranges::find(byteTokens, id) == byteTokens.end();
    };
    mergesText = prefix.empty() && suffix.empty();
    merges.reserve(rules.merges.size());
    for (size_t rank = 0; rank < rules.merges.size(); ++rank) {
      const auto &[left, right] = rules.merges[rank];
      if (right.size() < prefix.size())
        throw Error(Error::Kind::file, "the right part of merge " + std::to_string(rank) + " begins with '" + prefix +
                                           "', got '" + right + "'");
      mergesText = mergesText && isText(left) && isText(right);
      const int32_t result = require(left + right.substr(prefix.size()), "a token for each merge");
      merges.insert(require(left, "a token for each part of a merge"),
                    require(right, "a token for each part of a merge"), {static_cast<uint32_t>(rank), result});
    }
    const Vocabulary &all = this->vocabulary();
    for (size_t id = 0; isOfBytes && id < all.tokens.size(); ++id)
      if (const auto bytes = all.isThere[id] ? bytesOfCharacters(all.tokens[id]) : std::nullopt) {
        words.insert(*bytes, static_cast<int32_t>(id));
        if (bytes->size() == 1)
          singles[static_cast<unsigned char>((*bytes)[0])] = static_cast<int32_t>(id);
      }
  }

  void tokenize(std::string_view word, ModelMemory &memory, std::vector<WordToken> &tokens) const override {
    if (takesWholeWords)
      if (const int32_t id = isOfBytes ? words.find(word) : find(word); id >= 0) {
        tokens.push_back({id, 0, static_cast<uint32_t>(word.size())});
        return;
      }
    std::vector<Symbol> &symbols = memory.symbols;
    symbols.clear();
    if (isOfBytes)
      addBytes(word, symbols);
    else
      addCharacters(word, symbols);
    if (symbols.size() <= fewSymbols)
      mergeFew(symbols);
    else
      mergeByHeap(memory, [this](const Symbol &left, const Symbol &right) { return merges.find(left.id, right.id); });
    uint32_t at = 0;
    for (const Symbol &symbol : symbols)
      if (symbol.size > 0) {
        tokens.push_back({symbol.id, at, at + symbol.size});
        at += symbol.size;
      }
  }

protected:
  bool hasBoundaries() const override { return mergesText; }
  std::string bytesOf(const std::string &token) const override {
    return isOfBytes ? bytesOfCharacters(token).value_or("") : token;
  }

private:
  void addBytes(std::string_view word, std::vector<Symbol> &symbols) const {
    bool wasUnknown = false;
    for (char byte : word) {
      const int32_t id = singles[static_cast<unsigned char>(byte)];
      if (id < 0 && wasUnknown && fusesUnknown)
        ++symbols.back().size;
      else if (id >= 0 || unknown >= 0)
        addSymbol(symbols, id >= 0 ? id : unknown, 0, 1);
      wasUnknown = id < 0 && unknown >= 0;
    }
  }

  void addCharacters(std::string_view word, std::vector<Symbol> &symbols) const {
    uint32_t pending = 0; // bytes of an unknown token that is not added yet
    const auto addPending = [&] {
      if (pending > 0)
        addSymbol(symbols, unknown, 0, pending);
      pending = 0;
    };
    std::string name;
    for (size_t at = 0; at < word.size();) {
      const uint32_t size = codePointAt(word, at).size;
      std::string_view text = word.substr(at, size);
      const bool isLast = at + size == word.size();
      if ((at > 0 && !prefix.empty()) || (isLast && !suffix.empty())) {
        name.assign(at > 0 ? prefix : "");
        name += text;
        name += isLast ? suffix : "";
        text = name;
      }
      at += size;
      if (const int32_t id = find(text); id >= 0) {
        addPending();
        addSymbol(symbols, id, 0, size);
        continue;
      }
      if (!byteTokens.empty() &&
          std::ranges::all_of(text, [&](char byte) { return byteTokens[static_cast<unsigned char>(byte)] >= 0; })) {
        for (char byte : text)
          addSymbol(symbols, byteTokens[static_cast<unsigned char>(byte)], 0, 1);
        continue;
      }
      if (unknown < 0)
        continue;
      if (!fusesUnknown)
        addPending();
      pending += size;
    }
    addPending();
  }

  void mergeFew(std::vector<Symbol> &symbols) const {
    Merge next[fewSymbols];
    size_t count = symbols.size();
    for (size_t i = 0; i + 1 < count; ++i)
      next[i] = merges.find(symbols[i].id, symbols[i + 1].id);
    while (count > 1) {
      size_t best = 0;
      for (size_t i = 1; i + 1 < count; ++i)
        if (next[i].rank < next[best].rank)
          best = i;
      if (next[best].result < 0)
        break;
      symbols[best].id = next[best].result;
      symbols[best].size += symbols[best + 1].size;
      --count;
      for (size_t i = best + 1; i < count; ++i) {
        symbols[i] = symbols[i + 1];
        next[i] = next[i + 1];
      }
      if (best > 0)
        next[best - 1] = merges.find(symbols[best - 1].id, symbols[best].id);
      if (best + 1 < count)
        next[best] = merges.find(symbols[best].id, symbols[best + 1].id);
    }
    symbols.resize(count);
  }

  std::string prefix, suffix;
  bool fusesUnknown, takesWholeWords, isOfBytes;
  int32_t unknown = -1;
  bool mergesText = false;
  std::vector<int32_t> byteTokens; // empty: none
  MergeTable merges;
  ByteTable words; // by bytes
  std::vector<int32_t> singles = std::vector<int32_t>(256, -1);
};

/// SentencePiece merges what is a piece together, the one of the highest score first.
class SentencePieceBpe : public Model {
public:
  explicit SentencePieceBpe(SentencePieces all)
      : Model(std::move(all.vocabulary)), kinds(std::move(all.kinds)), unknown(all.unknown) {
    using Kind = SentencePieces::Kind;
    if (all.fallsBackToBytes)
      byteTokens = requireByteTokens();
    // Equal scores are one rank.
    std::vector<float> order = all.scores;
    std::sort(order.begin(), order.end(), std::greater<>());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    std::vector<std::pair<std::string, int32_t>> frozen;
    for (size_t id = 0; id < kinds.size(); ++id) {
      const std::string &piece = vocabulary().tokens[id];
      ranks.push_back(static_cast<uint32_t>(
          std::lower_bound(order.begin(), order.end(), all.scores[id], std::greater<>()) - order.begin()));
      if (kinds[id] == Kind::UserDefined)
        frozen.emplace_back(piece, static_cast<int32_t>(id));
      if (kinds[id] == Kind::Normal || kinds[id] == Kind::UserDefined || kinds[id] == Kind::Unused) {
        pieces.insert(piece, static_cast<int32_t>(id));
        longest = std::max(longest, piece.size());
      }
    }
    userDefined = ByteTrie(std::move(frozen));
  }

  void tokenize(std::string_view text, ModelMemory &memory, std::vector<WordToken> &tokens) const override {
    std::vector<Symbol> &symbols = memory.symbols;
    symbols.clear();
    for (uint32_t at = 0; at < text.size();) {
      const uint32_t whole = findUserDefined(text, at), size = whole ? whole : codePointAt(text, at).size;
      addSymbol(symbols, -1, at, size, whole > 0);
      at += size;
    }
    // A piece that is unused stands for the two that it was merged from.
    std::unordered_map<std::string_view, uint32_t> splits;
    mergeByHeap(memory, [&](const Symbol &left, const Symbol &right) -> Merge {
      const size_t size = size_t(left.size) + right.size;
      if (left.isFrozen || right.isFrozen || size > longest)
        return {};
      const std::string_view both = text.substr(left.begin, size);
      const int32_t id = pieces.find(both);
      if (id < 0)
        return {};
      if (kinds[id] == SentencePieces::Kind::Unused)
        splits[both] = left.size;
      return {ranks[id], id};
    });
    bool wasUnknown = false;
    for (const Symbol &symbol : symbols)
      if (symbol.size > 0)
        add(text, symbol.begin, symbol.begin + symbol.size, splits, tokens, wasUnknown);
  }

protected:
  bool hasBoundaries() const override { return true; }

private:
  uint32_t findUserDefined(std::string_view text, uint32_t at) const {
    uint32_t node = ByteTrie::root, found = 0;
    for (uint32_t end = at; end < text.size();) {
      node = userDefined.step(node, static_cast<unsigned char>(text[end]));
      if (node == ByteTrie::none)
        break;
      ++end;
      if (userDefined.number(node) >= 0)
        found = end - at;
    }
    return found;
  }

  void add(std::string_view text, uint32_t begin, uint32_t end,
           const std::unordered_map<std::string_view, uint32_t> &splits, std::vector<WordToken> &tokens,
           bool &wasUnknown) const {
    const std::string_view piece = text.substr(begin, end - begin);
    int32_t id = find(piece);
    if (id >= 0 && kinds[id] == SentencePieces::Kind::Unused) {
      if (const auto split = splits.find(piece); split != splits.end()) {
        add(text, begin, begin + split->second, splits, tokens, wasUnknown);
        add(text, begin + split->second, end, splits, tokens, wasUnknown);
        return;
      }
    }
    if (id < 0)
      id = unknown;
    const bool isUnknown = kinds[id] == SentencePieces::Kind::Unknown;
    if (isUnknown && !byteTokens.empty()) {
      for (char byte : piece)
        tokens.push_back({byteTokens[static_cast<unsigned char>(byte)], begin, end});
    } else if (isUnknown && wasUnknown) {
      tokens.back().end = end;
    } else {
      tokens.push_back({id, begin, end});
    }
    wasUnknown = isUnknown;
  }

  std::vector<SentencePieces::Kind> kinds;
  int32_t unknown;
  std::vector<int32_t> byteTokens;
  std::vector<uint32_t> ranks;
  ByteTable pieces;
  size_t longest = 0;
  ByteTrie userDefined;
};

} // namespace

ModelPointer makeBpe(Vocabulary vocabulary, const BpeRules &rules) {
  return std::make_unique<Bpe>(std::move(vocabulary), rules);
}
ModelPointer makeSentencePieceBpe(SentencePieces pieces) {
  return std::make_unique<SentencePieceBpe>(std::move(pieces));
}

} // namespace vx::text

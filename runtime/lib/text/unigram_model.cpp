// Unigram language models: of all ways to cut a text into pieces, the one whose scores have the largest sum.
#include "text/byte_trie.h"
#include "text/characters.h"
#include "text/models.h"
#include "vx/text/tokenizer.hpp"

#include <algorithm>
#include <limits>

namespace vx::text {

namespace {

constexpr double unknownPenalty = 10;
/// What SentencePiece (0.2.3) gives a piece that the user has defined for each of its bytes but one, whatever others
/// have. It multiplies in double precision and rounds the product to a float.
constexpr double ofUserDefined = 0.1;

/// `Score` is the type that sums are rounded to: where two ways are nearly as good, it decides.
template <typename Score>
class Viterbi {
public:
  ByteTrie trie;
  std::vector<double> scores; // of pieces, by their number
  double unknownScore = 0;
  int32_t unknown = -1;

  /// The best piece that ends at each byte, in memory.best.
  void run(std::string_view text, ModelMemory &memory) const {
    using Best = ModelMemory::Best;
    std::vector<Best> &best = memory.best;
    best.assign(text.size() + 1, Best{0, -1, -1});
    const auto offer = [&](size_t end, double score, uint32_t begin, int32_t id) {
      if (best[end].begin < 0 || score > best[end].score)
        best[end] = {static_cast<Score>(score), static_cast<int32_t>(begin), id};
    };
    for (uint32_t at = 0; at < text.size();) {
      const double before = best[at].score;
      const uint32_t size = codePointAt(text, at).size;
      bool hasSingle = false;
      uint32_t node = ByteTrie::root;
      for (size_t end = at; end < text.size();) {
        node = trie.step(node, static_cast<unsigned char>(text[end]));
        if (node == ByteTrie::none)
          break;
        ++end;
        const int32_t id = trie.number(node);
        if (id < 0)
          continue;
        offer(end, add(scores[id], before), at, id);
        hasSingle |= end == at + size;
      }
      if (!hasSingle) {
        if (unknown < 0)
          throw Error(Error::Kind::argument, "the vocabulary has no token for '" + std::string(text.substr(at, size)) +
                                                 "' and none for what is unknown");
        offer(at + size, add(unknownScore, before), at, unknown);
      }
      at += size;
    }
  }

private:
  static Score add(double score, double before) { return static_cast<Score>(score) + static_cast<Score>(before); }
};

class Unigram : public Model {
public:
  Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<int32_t> unknown, bool fallsBackToBytes)
      : Model(std::move(vocabulary)) {
    std::vector<std::pair<std::string, int32_t>> keys;
    double least = std::numeric_limits<double>::infinity();
    for (size_t id = 0; id < scores.size(); ++id) {
      keys.emplace_back(this->vocabulary().tokens[id], static_cast<int32_t>(id));
      least = std::min(least, scores[id]);
    }
    viterbi.trie = ByteTrie(std::move(keys));
    viterbi.scores = std::move(scores);
    viterbi.unknownScore = least - unknownPenalty;
    viterbi.unknown = unknown.value_or(-1);
    if (fallsBackToBytes)
      byteTokens = findByteTokens();
  }

  void tokenize(std::string_view text, ModelMemory &memory, std::vector<WordToken> &tokens) const override {
    viterbi.run(text, memory);
    const size_t begun = tokens.size();
    for (auto end = static_cast<uint32_t>(text.size()); end > 0;) {
      const ModelMemory::Best &best = memory.best[end];
      const auto begin = static_cast<uint32_t>(best.begin);
      // What is unknown one behind the other is one.
      if (best.id == viterbi.unknown && tokens.size() > begun && tokens.back().id == best.id)
        tokens.back().begin = begin;
      else
        tokens.push_back({best.id, begin, end});
      end = begin;
    }
    std::reverse(tokens.begin() + begun, tokens.end());
    if (!byteTokens.empty())
      fallBack(text, tokens, begun);
  }

protected:
  bool hasBoundaries() const override { return true; }

private:
  void fallBack(std::string_view text, std::vector<WordToken> &tokens, size_t begun) const {
    const auto falls = [&](const WordToken &token) {
      const std::string_view piece = text.substr(token.begin, token.end - token.begin);
      return token.id == viterbi.unknown && find(piece) < 0 &&
             std::ranges::all_of(piece, [&](char byte) { return byteTokens[static_cast<unsigned char>(byte)] >= 0; });
    };
    if (std::none_of(tokens.begin() + begun, tokens.end(), falls))
      return;
    const std::vector<WordToken> old(tokens.begin() + begun, tokens.end());
    tokens.resize(begun);
    for (const WordToken &token : old) {
      if (!falls(token)) {
        tokens.push_back(token);
        continue;
      }
      for (uint32_t at = token.begin; at < token.end; ++at)
        tokens.push_back({byteTokens[static_cast<unsigned char>(text[at])], token.begin, token.end});
    }
  }

  Viterbi<double> viterbi;
  std::vector<int32_t> byteTokens;
};

class SentencePieceUnigram : public Model {
public:
  explicit SentencePieceUnigram(SentencePieces all) : Model(std::move(all.vocabulary)) {
    using Kind = SentencePieces::Kind;
    float least = std::numeric_limits<float>::max();
    for (size_t id = 0; id < all.kinds.size(); ++id)
      if (all.kinds[id] == Kind::Normal)
        least = std::min(least, all.scores[id]);
    std::vector<std::pair<std::string, int32_t>> keys;
    for (size_t id = 0; id < all.kinds.size(); ++id) {
      const std::string &piece = vocabulary().tokens[id];
      viterbi.scores.push_back(all.kinds[id] == Kind::UserDefined
                                   ? static_cast<float>(static_cast<double>(piece.size() - 1) * ofUserDefined)
                                   : all.scores[id]);
      if (all.kinds[id] == Kind::Normal || all.kinds[id] == Kind::UserDefined)
        keys.emplace_back(piece, static_cast<int32_t>(id));
    }
    viterbi.trie = ByteTrie(std::move(keys));
    viterbi.unknownScore = static_cast<float>(least - static_cast<float>(unknownPenalty));
    viterbi.unknown = all.unknown;
    if (all.fallsBackToBytes)
      byteTokens = requireByteTokens();
  }

  void tokenize(std::string_view text, ModelMemory &memory, std::vector<WordToken> &tokens) const override {
    viterbi.run(text, memory);
    std::vector<WordToken> reversed;
    for (auto end = static_cast<uint32_t>(text.size()); end > 0;) {
      const ModelMemory::Best &best = memory.best[end];
      reversed.push_back({best.id, static_cast<uint32_t>(best.begin), end});
      end = static_cast<uint32_t>(best.begin);
    }
    bool wasUnknown = false;
    for (auto token = reversed.rbegin(); token != reversed.rend(); ++token) {
      const bool isUnknown = token->id == viterbi.unknown;
      if (isUnknown && !byteTokens.empty()) {
        for (uint32_t at = token->begin; at < token->end; ++at)
          tokens.push_back({byteTokens[static_cast<unsigned char>(text[at])], token->begin, token->end});
      } else if (isUnknown && wasUnknown) {
        tokens.back().end = token->end;
      } else {
        tokens.push_back(*token);
      }
      wasUnknown = isUnknown;
    }
  }

protected:
  bool hasBoundaries() const override { return true; }

private:
  Viterbi<float> viterbi;
  std::vector<int32_t> byteTokens;
};

} // namespace

ModelPointer makeUnigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<int32_t> unknown,
                         bool fallsBackToBytes) {
  return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), unknown, fallsBackToBytes);
}
ModelPointer makeSentencePieceUnigram(SentencePieces pieces) {
  return std::make_unique<SentencePieceUnigram>(std::move(pieces));
}

} // namespace vx::text

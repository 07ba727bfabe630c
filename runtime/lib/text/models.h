// How a word becomes tokens.
#ifndef VX_TEXT_MODELS_H
#define VX_TEXT_MODELS_H

#include "text/byte_table.h"
#include "text/byte_trie.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vx::text {

// A token of a word, and the bytes of the word that it stands for.
struct WordToken {
  int32_t id;
  uint32_t begin, end;
};

// What a model needs while it runs, kept for the next word.
struct ModelMemory {
  struct Symbol {
    int32_t id;
    int32_t previous, next; // -1: none
    uint32_t begin, size;   // of size 0: merged into the one before
    bool isFrozen;
  };
  struct Candidate {
    uint32_t rank, place;
    int32_t result;
    uint32_t size;
  };
  struct Best {
    double score;
    int32_t begin, id;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<Best> best;
};

// Tokens by their number. Numbers without a token are empty and not there.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<bool> isThere;
  void set(int32_t id, std::string token);
};

class Model {
public:
  explicit Model(Vocabulary vocabulary);
  virtual ~Model() = default;
  // Adds the tokens of a word that is not empty. Throws Error::argument where the word has what no token is for.
  virtual void tokenize(std::string_view word, ModelMemory &memory, std::vector<WordToken> &tokens) const = 0;

  // The first place from `begin` on, before `end`, that no token of a word reaches over, whatever else stands in it:
  // what is in front of it becomes the same tokens as by itself. npos where none is found, or that is not known of the
  // model.
  size_t findBoundary(std::string_view word, size_t begin, size_t end) const;

  const Vocabulary &vocabulary() const { return all; }
  // -1: not there.
  int32_t find(std::string_view token) const { return numbers.find(token); }

protected:
  // Whether tokens stand for the bytes that they have in the vocabulary, and depend on these alone.
  virtual bool hasBoundaries() const { return false; }
  // Those bytes.
  virtual std::string bytesOf(const std::string &token) const { return token; }
  // The number of a token that the file names; throws Error::file where there is none.
  int32_t require(const std::string &token, const char *what) const;
  // Of "<0x00>" to "<0xFF>"; -1 where one is not there.
  std::vector<int32_t> findByteTokens() const;
  // The same; throws Error::file where one is not there.
  std::vector<int32_t> requireByteTokens() const;

private:
  Vocabulary all;
  ByteTable numbers;
  // For boundaries, made when it is asked for first.
  mutable std::once_flag made;
  mutable ByteTrie trie;
  mutable size_t longest = 0;
};
using ModelPointer = std::unique_ptr<const Model>;

struct BpeRules {
  std::vector<std::pair<std::string, std::string>> merges; // the first is done first
  std::optional<std::string> unknown;
  std::string prefix, suffix; // of tokens in the middle of a word, and at its end
  bool fusesUnknown = false, fallsBackToBytes = false;
  bool takesWholeWords = false; // a word that is a token is that token, whatever merges make of it
  bool isOfBytes = false;       // words come as bytes, the vocabulary spells them (byte_alphabet.h)
};
ModelPointer makeBpe(Vocabulary vocabulary, const BpeRules &rules);
ModelPointer makeWordPiece(Vocabulary vocabulary, const std::string &unknown, const std::string &prefix,
                           size_t longestWord);
ModelPointer makeWordLevel(Vocabulary vocabulary, const std::string &unknown);
ModelPointer makeUnigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<int32_t> unknown,
                         bool fallsBackToBytes);

// A vocabulary of SentencePiece's own file.
struct SentencePieces {
  enum class Kind : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };
  Vocabulary vocabulary;
  std::vector<float> scores;
  std::vector<Kind> kinds;
  int32_t unknown = 0;
  bool fallsBackToBytes = false;
};
ModelPointer makeSentencePieceBpe(SentencePieces pieces);
ModelPointer makeSentencePieceUnigram(SentencePieces pieces);

} // namespace vx::text

#endif

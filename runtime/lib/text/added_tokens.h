// Tokens that stand beside the model: found in a text before the model sees it.
#ifndef VX_TEXT_ADDED_TOKENS_H
#define VX_TEXT_ADDED_TOKENS_H

#include "text/byte_trie.h"
#include "text/pieces.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace vx::text {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  std::string pattern; // what is looked for: the content, normalised where the token is
  bool isSpecial = false, isSingleWord = false, takesLeft = false, takesRight = false, isNormalized = false;
};

class AddedTokens {
public:
  AddedTokens() = default;
  AddedTokens(AddedTokens &&) = default;
  AddedTokens &operator=(AddedTokens &&) = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Cuts the pieces that are no tokens at those of one kind: the ones that are looked for in normalised text, or the
  // others.
  void split(Pieces &pieces, bool isNormalized, bool matchesSpecial) const;
  bool isEmpty(bool isNormalized) const { return parts[isNormalized].isEmpty; }

  const AddedToken *find(int32_t id) const;
  const AddedToken *find(std::string_view content) const;
  bool isSpecialContent(std::string_view content) const;
  int32_t largest() const { return largestId; }
  // Whether one may reach over a space.
  bool hasSpaces() const;

private:
  struct Part {
    ByteTrie trie;
    bool isEmpty = true;
    bool starts[256] = {};
  };
  void cut(const Pieces &pieces, const Piece &piece, const Part &part, bool matchesSpecial,
           std::vector<Piece> &result) const;
  Part parts[2];
  std::vector<AddedToken> list;
  std::unordered_map<int32_t, size_t> byId;
  std::unordered_map<std::string_view, size_t> byContent; // of the list's strings, which stay where they are
  int32_t largestId = -1;
};

} // namespace vx::text

#endif

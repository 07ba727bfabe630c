#include "text/added_tokens.h"

#include "text/characters.h"

#include <algorithm>

namespace vx::text {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : list(std::move(tokens)) {
  std::vector<std::pair<std::string, int32_t>> keys[2];
  for (size_t i = 0; i < list.size(); ++i) {
    const AddedToken &token = list[i];
    byId[token.id] = i;
    byContent[token.content] = i;
    largestId = std::max(largestId, token.id);
    if (token.pattern.empty())
      continue;
    Part &part = parts[token.isNormalized];
    part.isEmpty = false;
    part.starts[static_cast<unsigned char>(token.pattern[0])] = true;
    keys[token.isNormalized].emplace_back(token.pattern, static_cast<int32_t>(i));
  }
  for (int kind = 0; kind < 2; ++kind)
    parts[kind].trie = ByteTrie(std::move(keys[kind]));
}

const AddedToken *AddedTokens::find(int32_t id) const {
  const auto found = byId.find(id);
  return found == byId.end() ? nullptr : &list[found->second];
}

const AddedToken *AddedTokens::find(std::string_view content) const {
  const auto found = byContent.find(content);
  return found == byContent.end() ? nullptr : &list[found->second];
}

bool AddedTokens::hasSpaces() const {
  return std::ranges::any_of(list, [](const AddedToken &token) {
    return token.content.find(' ') != token.content.npos || token.pattern.find(' ') != token.pattern.npos;
  });
}

bool AddedTokens::isSpecialContent(std::string_view content) const {
  const AddedToken *token = find(content);
  return token && token->isSpecial;
}

namespace {

/// Where the character before byte `at`, which is not 0, begins.
size_t beforeCharacter(std::string_view text, size_t at) {
  do
    --at;
  while (isContinuation(text[at]));
  return at;
}

} // namespace

void AddedTokens::cut(const Pieces &pieces, const Piece &piece, const Part &part, bool matchesSpecial,
                      std::vector<Piece> &result) const {
  const std::string_view text = pieces.view(piece);
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    if (!part.starts[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    uint32_t node = ByteTrie::root;
    size_t found = at;
    int32_t number = -1;
    for (size_t end = at; end < text.size();) {
      node = part.trie.step(node, static_cast<unsigned char>(text[end]));
      if (node == ByteTrie::none)
        break;
      ++end;
      if (part.trie.number(node) >= 0) {
        number = part.trie.number(node);
        found = end;
      }
    }
    if (number < 0) {
      ++at;
      continue;
    }
    size_t begin = at, end = found;
    at = found;
    const AddedToken &token = list[number];
    if (token.isSpecial && !matchesSpecial)
      continue;
    if (token.isSingleWord && ((begin > 0 && isWordCharacter(codePointAt(text, beforeCharacter(text, begin)).code)) ||
                               (end < text.size() && isWordCharacter(codePointAt(text, end).code))))
      continue;
    while (token.takesLeft && begin > done) {
      const size_t before = beforeCharacter(text, begin);
      if (!isWhiteSpace(codePointAt(text, before).code))
        break;
      begin = before;
    }
    begin = std::max(begin, done);
    while (token.takesRight && end < text.size() && isWhiteSpace(codePointAt(text, end).code))
      end += codePointAt(text, end).size;
    const auto add = [&](size_t from, size_t to, int32_t id) {
      if (from < to)
        result.push_back(
            {piece.buffer, piece.begin + static_cast<uint32_t>(from), piece.begin + static_cast<uint32_t>(to), id});
    };
    add(done, begin, -1);
    add(begin, end, token.id);
    done = end;
    at = std::max(at, end);
  }
  if (done < text.size())
    result.push_back({piece.buffer, piece.begin + static_cast<uint32_t>(done), piece.end});
}

void AddedTokens::split(Pieces &pieces, bool isNormalized, bool matchesSpecial) const {
  const Part &part = parts[isNormalized];
  if (part.isEmpty)
    return;
  pieces.next.clear();
  for (const Piece &piece : pieces.list) {
    if (piece.token >= 0)
      pieces.next.push_back(piece);
    else
      cut(pieces, piece, part, matchesSpecial, pieces.next);
  }
  pieces.list.swap(pieces.next);
}

} // namespace vx::text

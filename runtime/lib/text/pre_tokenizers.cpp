#include "text/pre_tokenizers.h"

#include "text/characters.h"

#include <algorithm>

namespace vx::text {

namespace {

/// A part of a piece, and whether a pattern matched there.
struct Part {
  uint32_t begin, end;
  bool isMatch;
};

class Parts {
public:
  void add(uint32_t begin, uint32_t end, bool isMatch) {
    if (begin < end)
      list.push_back({begin, end, isMatch});
  }
  void clear() { list.clear(); }
  const std::vector<Part> &all() const { return list; }

  void join(Behaviour behaviour) {
    if (behaviour == Behaviour::MergedWithNext)
      std::reverse(list.begin(), list.end());
    bool wasMatch = false;
    size_t count = 0;
    for (const Part &part : list) {
      const bool joins = behaviour == Behaviour::Contiguous ? part.isMatch == wasMatch : part.isMatch && !wasMatch;
      wasMatch = part.isMatch;
      if (joins && count > 0) {
        list[count - 1].begin = std::min(list[count - 1].begin, part.begin);
        list[count - 1].end = std::max(list[count - 1].end, part.end);
      } else {
        list[count++] = part;
      }
    }
    list.resize(count);
    if (behaviour == Behaviour::MergedWithNext)
      std::reverse(list.begin(), list.end());
  }

private:
  std::vector<Part> list;
};

/// Cuts each piece by `find`, which fills in the parts of a text.
template <typename Find>
void splitEach(Pieces &pieces, Behaviour behaviour, Find find) {
  pieces.next.clear();
  Parts parts;
  for (const Piece &piece : pieces.list) {
    if (piece.token >= 0) {
      pieces.next.push_back(piece);
      continue;
    }
    parts.clear();
    find(pieces.view(piece), parts);
    if (behaviour != Behaviour::Removed && behaviour != Behaviour::Isolated)
      parts.join(behaviour);
    for (const Part &part : parts.all())
      if (behaviour != Behaviour::Removed || !part.isMatch)
        pieces.next.push_back({piece.buffer, piece.begin + part.begin, piece.begin + part.end});
  }
  pieces.list.swap(pieces.next);
}

/// Each character that `matches` is a match of its own.
template <typename Matches>
void splitByCharacter(Pieces &pieces, Behaviour behaviour, Matches matches) {
  splitEach(pieces, behaviour, [&](std::string_view text, Parts &parts) {
    uint32_t last = 0;
    for (uint32_t at = 0; at < text.size();) {
      const CodePoint point = codePointAt(text, at);
      if (matches(point.code)) {
        parts.add(last, at, false);
        parts.add(at, at + point.size, true);
        last = at + point.size;
      }
      at += point.size;
    }
    parts.add(last, static_cast<uint32_t>(text.size()), false);
  });
}

void addMatches(std::string_view text, const std::vector<Span> &matches, bool isInverted, Parts &parts) {
  uint32_t last = 0;
  for (const Span &match : matches) {
    parts.add(last, match.begin, isInverted);
    parts.add(match.begin, match.end, !isInverted);
    last = match.end;
  }
  parts.add(last, static_cast<uint32_t>(text.size()), isInverted);
}

class Sequence : public PreTokenizer {
public:
  explicit Sequence(std::vector<PreTokenizerPointer> parts) : parts(std::move(parts)) {}
  void split(Pieces &pieces, WorkMemory &memory) const override {
    for (const PreTokenizerPointer &part : parts)
      part->split(pieces, memory);
  }
  bool needsPlaces() const override {
    return std::ranges::any_of(parts, [](const PreTokenizerPointer &part) { return part->needsPlaces(); });
  }
  // Those that come later see one word at a time.
  bool isLocal() const override { return !parts.empty() && parts[0]->isLocal(); }

private:
  std::vector<PreTokenizerPointer> parts;
};

/// Runs of characters of one class, as a function of the characters says; those of class `Gone` go.
template <typename Classify>
class Runs : public PreTokenizer {
public:
  explicit Runs(Classify classify) : classify(classify) {}
  bool isLocal() const override { return true; }
  void split(Pieces &pieces, WorkMemory &) const override {
    splitEach(pieces, Behaviour::Removed, [this](std::string_view text, Parts &parts) {
      uint32_t begin = 0;
      int current = gone;
      for (uint32_t at = 0; at < text.size();) {
        const CodePoint point = codePointAt(text, at);
        const int kind = classify(point.code);
        if (kind != current || kind == alone) {
          parts.add(begin, at, current == gone);
          begin = at;
          current = kind;
        }
        at += point.size;
      }
      parts.add(begin, static_cast<uint32_t>(text.size()), current == gone);
    });
  }
  static constexpr int gone = 0, alone = 1, word = 2, other = 3;

private:
  Classify classify;
};
using Kind = Runs<int (*)(char32_t)>;

/// White space goes, and each mark stands alone.
int classifyBert(char32_t code) {
  if (code < 0x80)
    return code == ' ' || (code >= 9 && code <= 13) ? Kind::gone : isPunctuation(code) ? Kind::alone : Kind::word;
  return isWhiteSpace(code) ? Kind::gone : isPunctuation(code) ? Kind::alone : Kind::word;
}
int classifyWords(char32_t code) {
  return isWordCharacter(code) ? Kind::word : isWhiteSpace(code) ? Kind::gone : Kind::other;
}
int classifyWhiteSpace(char32_t code) { return isWhiteSpace(code) ? Kind::gone : Kind::word; }

template <typename Matches>
class Characters : public PreTokenizer {
public:
  Characters(Matches matches, Behaviour behaviour) : matches(matches), behaviour(behaviour) {}
  void split(Pieces &pieces, WorkMemory &) const override { splitByCharacter(pieces, behaviour, matches); }

private:
  Matches matches;
  Behaviour behaviour;
};
template <typename Matches>
PreTokenizerPointer makeCharacters(Matches matches, Behaviour behaviour) {
  return std::make_unique<Characters<Matches>>(matches, behaviour);
}

class FixedLength : public PreTokenizer {
public:
  explicit FixedLength(size_t length) : length(length) {}
  void split(Pieces &pieces, WorkMemory &) const override {
    splitEach(pieces, Behaviour::Isolated, [this](std::string_view text, Parts &parts) {
      size_t count = 0;
      uint32_t begin = 0;
      for (uint32_t at = 0; at < text.size(); at += codePointAt(text, at).size, ++count)
        if (count > 0 && count % length == 0) {
          parts.add(begin, at, false);
          begin = at;
        }
      parts.add(begin, static_cast<uint32_t>(text.size()), false);
    });
  }

private:
  size_t length;
};

class Split : public PreTokenizer {
public:
  Split(Pattern pattern, Behaviour behaviour, bool isInverted)
      : pattern(std::move(pattern)), behaviour(behaviour), isInverted(isInverted) {}
  void split(Pieces &pieces, WorkMemory &memory) const override {
    splitEach(pieces, behaviour, [&](std::string_view text, Parts &parts) {
      pattern.findAll(text, memory.patterns, memory.matches);
      addMatches(text, memory.matches, isInverted, parts);
    });
  }

private:
  Pattern pattern;
  Behaviour behaviour;
  bool isInverted;
};

/// A piece as a buffer of its own, to be changed.
AlignedText &copyPiece(Pieces &pieces, Piece &piece) {
  AlignedText &copy = pieces.addBuffer();
  copy.assign(pieces.buffers[piece.buffer], piece.begin, piece.end);
  piece.buffer = static_cast<uint32_t>(pieces.count - 1);
  return copy;
}

template <typename Change>
void changeEach(Pieces &pieces, Change change) {
  for (Piece &piece : pieces.list) {
    if (piece.token >= 0)
      continue;
    change(piece);
  }
}

class Metaspace : public PreTokenizer {
public:
  Metaspace(std::string replacement, PrependScheme scheme, bool splits)
      : replacement(std::move(replacement)), scheme(scheme), splits(splits) {}

  void split(Pieces &pieces, WorkMemory &memory) const override {
    changeEach(pieces, [&](Piece &piece) {
      const uint32_t place = pieces.buffers[piece.buffer].place(piece.begin, piece.end).begin;
      AlignedText &text = copyPiece(pieces, piece);
      memory.matches.clear();
      const std::string_view view = text.view();
      for (size_t at = view.find(' '); at != view.npos; at = view.find(' ', at + 1))
        memory.matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)});
      text.replace(memory.matches, replacement);
      if ((scheme == PrependScheme::Always || (scheme == PrependScheme::First && place == 0)) &&
          !text.view().starts_with(replacement))
        text.prepend(replacement);
      piece.begin = 0;
      piece.end = static_cast<uint32_t>(text.view().size());
    });
    if (splits)
      splitEach(pieces, Behaviour::Isolated, [this](std::string_view text, Parts &parts) {
        size_t begin = 0;
        while (begin < text.size()) {
          const size_t end = std::min(text.find(replacement, begin + 1), text.size());
          parts.add(static_cast<uint32_t>(begin), static_cast<uint32_t>(end), false);
          begin = end;
        }
      });
  }

  bool needsPlaces() const override { return scheme == PrependScheme::First; }

private:
  std::string replacement;
  PrependScheme scheme;
  bool splits;
};

class ByteLevel : public PreTokenizer {
public:
  ByteLevel(bool addsSpace, bool splits, bool keepsBytes) : addsSpace(addsSpace), keepsBytes(keepsBytes) {
    if (splits)
      pattern.emplace(Pattern::fromExpression(
          "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"));
    if (!keepsBytes)
      toCharacters = makeByteCharacters();
  }

  bool isLocal() const override { return pattern.has_value(); }
  void split(Pieces &pieces, WorkMemory &memory) const override {
    if (addsSpace)
      changeEach(pieces, [&](Piece &piece) {
        if (pieces.view(piece).starts_with(' '))
          return;
        AlignedText &text = copyPiece(pieces, piece);
        text.prepend(" ");
        piece.begin = 0;
        piece.end = static_cast<uint32_t>(text.view().size());
      });
    if (pattern)
      splitEach(pieces, Behaviour::Isolated, [&](std::string_view text, Parts &parts) {
        pattern->findAll(text, memory.patterns, memory.matches);
        addMatches(text, memory.matches, false, parts);
      });
    if (!keepsBytes)
      changeEach(pieces, [&](Piece &piece) {
        AlignedText &text = copyPiece(pieces, piece);
        toCharacters->normalize(text, memory);
        piece.begin = 0;
        piece.end = static_cast<uint32_t>(text.view().size());
      });
  }

private:
  bool addsSpace, keepsBytes;
  std::optional<Pattern> pattern;
  NormalizerPointer toCharacters;
};

} // namespace

PreTokenizerPointer makeSequence(std::vector<PreTokenizerPointer> parts) {
  return std::make_unique<Sequence>(std::move(parts));
}
PreTokenizerPointer makeBertWords() { return std::make_unique<Kind>(classifyBert); }
PreTokenizerPointer makeWhitespace() { return std::make_unique<Kind>(classifyWords); }
PreTokenizerPointer makeWhitespaceSplit() { return std::make_unique<Kind>(classifyWhiteSpace); }
PreTokenizerPointer makePunctuation(Behaviour behaviour) { return makeCharacters(isPunctuation, behaviour); }
PreTokenizerPointer makeDigits(bool isIndividual) {
  return makeCharacters(isNumeric, isIndividual ? Behaviour::Isolated : Behaviour::Contiguous);
}
PreTokenizerPointer makeDelimiter(char32_t delimiter) {
  return makeCharacters([delimiter](char32_t code) { return code == delimiter; }, Behaviour::Removed);
}
PreTokenizerPointer makeFixedLength(size_t length) { return std::make_unique<FixedLength>(length); }
PreTokenizerPointer makeSplit(Pattern pattern, Behaviour behaviour, bool isInverted) {
  return std::make_unique<Split>(std::move(pattern), behaviour, isInverted);
}
PreTokenizerPointer makeScripts() {
  // What is between the runs, blanks at the beginning of a text, is no part of a word.
  return makeSplit(Pattern::fromPcre2(scriptRuns()), Behaviour::Removed, /*isInverted=*/true);
}
PreTokenizerPointer makeMetaspace(std::string replacement, PrependScheme scheme, bool splits) {
  return std::make_unique<Metaspace>(std::move(replacement), scheme, splits);
}
PreTokenizerPointer makeByteLevel(bool addsSpace, bool splits, bool keepsBytes) {
  return std::make_unique<ByteLevel>(addsSpace, splits, keepsBytes);
}

} // namespace vx::text

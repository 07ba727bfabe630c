// Tokenizers of SentencePiece's own file: a message of protobuf, of which a few fields are read.
#include "text/charsmap.h"
#include "text/implementation.h"
#include "text/read_components.h"

#include "text/characters.h"
#include "vx/base/printable.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

namespace vx::text {

namespace {

constexpr std::string_view spaceMark = "\xe2\x96\x81"; // U+2581

[[noreturn]] void failAt(size_t offset, const std::string &what) {
  throw Error(Error::Kind::file, "the SentencePiece model is damaged at byte " + std::to_string(offset) + ": " + what);
}

/// Fields of a message, one after another.
class Message {
public:
  Message(std::string_view bytes, size_t offset) : bytes(bytes), offset(offset) {}

  uint32_t field = 0;
  uint64_t value = 0;       // of a field that is a number
  std::string_view content; // of one that is bytes
  bool isBytes = false;

  bool next() {
    if (at == bytes.size())
      return false;
    const uint64_t tag = varint();
    field = static_cast<uint32_t>(tag >> 3);
    if (tag >> 3 == 0 || tag >> 32 != 0)
      failAt(place(), "expected the number of a field, got " + std::to_string(tag >> 3));
    isBytes = (tag & 7) == 2;
    switch (tag & 7) {
    case 0:
      value = varint();
      break;
    case 1:
      value = fixed(8);
      break;
    case 2: {
      const uint64_t size = varint();
      if (size > bytes.size() - at)
        failAt(place(), "expected " + std::to_string(size) + " bytes, got " + std::to_string(bytes.size() - at));
      content = bytes.substr(at, size);
      at += size;
      break;
    }
    case 5:
      value = fixed(4);
      break;
    default:
      failAt(place(), "expected a type of field of 0, 1, 2 or 5, got " + std::to_string(tag & 7));
    }
    return true;
  }
  Message inner() const {
    if (!isBytes)
      failAt(place(), "expected field " + std::to_string(field) + " to be a message");
    return Message(content, static_cast<size_t>(content.data() - bytes.data()) + offset);
  }
  std::string text() const {
    if (!isBytes || findIllFormed(content) != content.size())
      failAt(place(), "expected field " + std::to_string(field) + " to be UTF-8");
    return std::string(content);
  }
  size_t place() const { return offset + at; }

private:
  uint64_t varint() {
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == bytes.size())
        failAt(place(), "expected a number, got the end");
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      number |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return number;
    }
    failAt(place(), "expected a number of at most 10 bytes");
  }
  uint64_t fixed(size_t size) {
    if (bytes.size() - at < size)
      failAt(place(), "expected " + std::to_string(size) + " bytes, got " + std::to_string(bytes.size() - at));
    uint64_t number = 0;
    for (size_t i = size; i > 0; --i)
      number = number << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
    at += size;
    return number;
  }

  std::string_view bytes;
  size_t offset, at = 0;
};

struct Specification {
  SentencePieces pieces;
  bool isBpe = false, spaceIsBehind = false;
  std::string unknownSurface = " \xe2\x81\x87 ";
  std::string charsmap;
  bool addsDummy = true, removesSpaces = true, marksSpaces = true;
};

void readPiece(Message message, Specification &all) {
  std::string piece;
  float score = 0;
  uint64_t kind = 1;
  while (message.next()) {
    if (message.field == 1)
      piece = message.text();
    else if (message.field == 2)
      score = std::bit_cast<float>(static_cast<uint32_t>(message.value));
    else if (message.field == 3)
      kind = message.value;
  }
  if (kind < 1 || kind > 6)
    failAt(message.place(), "expected a kind of piece of 1 to 6, got " + std::to_string(kind));
  if (!std::isfinite(score))
    failAt(message.place(), "expected a finite score for '" + printableLine(piece) + "'");
  const auto id = static_cast<int32_t>(all.pieces.kinds.size());
  all.pieces.vocabulary.set(id, piece);
  all.pieces.scores.push_back(score);
  all.pieces.kinds.push_back(static_cast<SentencePieces::Kind>(kind));
}

void readTrainer(Message message, Specification &all) {
  uint64_t type = 1;
  while (message.next()) {
    if (message.field == 3)
      type = message.value;
    else if (message.field == 24)
      all.spaceIsBehind = message.value != 0;
    else if (message.field == 35)
      all.pieces.fallsBackToBytes = message.value != 0;
    else if (message.field == 44)
      all.unknownSurface = message.text();
  }
  if (type != 1 && type != 2)
    failAt(message.place(), "expected a model of type 1 (Unigram) or 2 (BPE), " +
                                std::string(type == 3   ? "WORD"
                                            : type == 4 ? "CHAR"
                                                        : "others") +
                                " is not supported, got " + std::to_string(type));
  all.isBpe = type == 2;
}

void readNormalizerOf(Message message, Specification &all) {
  while (message.next()) {
    if (message.field == 2)
      all.charsmap = message.content;
    else if (message.field == 3)
      all.addsDummy = message.value != 0;
    else if (message.field == 4)
      all.removesSpaces = message.value != 0;
    else if (message.field == 5)
      all.marksSpaces = message.value != 0;
  }
}

/// SentencePiece's own: its rules, then spaces.
class Rules : public Normalizer {
public:
  explicit Rules(const Specification &all)
      : charsmap(all.charsmap), spaceIsBehind(all.spaceIsBehind), addsDummy(all.addsDummy),
        removesSpaces(all.removesSpaces), space(all.marksSpaces ? spaceMark : " ") {
    std::vector<std::pair<std::string, int32_t>> keys;
    for (size_t id = 0; id < all.pieces.kinds.size(); ++id)
      if (all.pieces.kinds[id] == SentencePieces::Kind::UserDefined)
        keys.emplace_back(all.pieces.vocabulary.tokens[id], static_cast<int32_t>(id));
    userDefined = ByteTrie(std::move(keys));
  }

  void normalize(AlignedText &text, WorkMemory &) const override {
    const std::string_view view = text.view();
    std::string made;
    std::vector<Span> places;
    const auto add = [&](std::string_view bytes, Span place) {
      made += bytes;
      if (text.hasPlaces())
        places.insert(places.end(), bytes.size(), place);
    };
    size_t at = 0;
    Charsmap::Rule rule{};
    const auto next = [&] {
      rule = ruleAt(view.substr(at));
      return rule.size > 0;
    };
    while (removesSpaces && next() && rule.to == " ")
      at += rule.size;
    if (at == view.size()) {
      text.take("", {}, true);
      return;
    }
    const auto placeOf = [&](size_t from, size_t size) { return Span{text.place(from, from + size)}; };
    if (addsDummy && !spaceIsBehind)
      add(space, {placeOf(at, 1).begin, placeOf(at, 1).begin});
    bool wasSpace = removesSpaces;
    Span last;
    while (at < view.size() && next()) {
      std::string_view to = rule.to;
      last = placeOf(at, rule.size);
      while (wasSpace && to.starts_with(' '))
        to.remove_prefix(1);
      if (!to.empty()) {
        for (size_t i = 0; i < to.size(); ++i)
          add(to[i] == ' ' ? std::string_view(space) : to.substr(i, 1), last);
        wasSpace = to.ends_with(' ');
      }
      if (!removesSpaces)
        wasSpace = false;
      at += rule.size;
    }
    while (removesSpaces && made.ends_with(space)) {
      made.resize(made.size() - space.size());
      places.resize(text.hasPlaces() ? made.size() : 0);
    }
    if (addsDummy && spaceIsBehind)
      add(space, {last.end, last.end});
    text.take(std::move(made), std::move(places), true);
  }

private:
  /// What the text begins with becomes what; of size 0 at the end.
  Charsmap::Rule ruleAt(std::string_view text) const {
    if (text.empty())
      return {0, {}};
    uint32_t node = ByteTrie::root;
    size_t whole = 0;
    for (size_t end = 0; end < text.size();) {
      node = userDefined.step(node, static_cast<unsigned char>(text[end]));
      if (node == ByteTrie::none)
        break;
      ++end;
      if (userDefined.number(node) >= 0)
        whole = end;
    }
    if (whole > 0)
      return {whole, text.substr(0, whole)};
    if (charsmap.startsRule(static_cast<unsigned char>(text[0])))
      if (const auto rule = charsmap.findLongest(text))
        return *rule;
    const size_t size = codePointAt(text, 0).size;
    return {size, text.substr(0, size)};
  }

  Charsmap charsmap;
  ByteTrie userDefined;
  bool spaceIsBehind, addsDummy, removesSpaces;
  std::string space;
};

/// The texts of pieces: marks are spaces, what controls has none.
class PieceTexts : public Decoder {
public:
  explicit PieceTexts(const Specification &all)
      : surface(all.unknownSurface), stripsFirst(all.addsDummy || all.removesSpaces), removesSpaces(all.removesSpaces),
        bytes(makeByteFallbackDecoder()) {
    for (size_t id = 0; id < all.pieces.kinds.size(); ++id) {
      const SentencePieces::Kind kind = all.pieces.kinds[id];
      if (kind == SentencePieces::Kind::Control || kind == SentencePieces::Kind::Unknown)
        named.emplace(all.pieces.vocabulary.tokens[id], kind == SentencePieces::Kind::Unknown);
    }
    fallsBack = all.pieces.fallsBackToBytes;
  }

  void decode(std::vector<std::string> &tokens, bool keepsBytes) const override {
    bool isFirst = true, isEmpty = true;
    std::string run;
    std::vector<std::string> made;
    const auto flush = [&] {
      made.push_back(keepsBytes ? run : replaceIllFormed(run));
      run.clear();
    };
    for (std::string &token : tokens) {
      if (fallsBack) {
        std::vector<std::string> one{token};
        bytes->decode(one, true);
        if (one[0].size() == 1 && token.size() == 6) {
          run += one[0];
          isEmpty = false;
          continue;
        }
      }
      flush();
      if (!isEmpty)
        isFirst = false;
      if (const auto found = named.find(token); found != named.end()) {
        made.push_back(found->second ? surface : "");
        isEmpty &= made.back().empty();
        continue;
      }
      std::string_view rest = token;
      if (isFirst && stripsFirst && rest.starts_with(spaceMark)) {
        rest.remove_prefix(spaceMark.size());
        isFirst = removesSpaces;
      }
      std::string text;
      for (size_t at = 0; at < rest.size();) {
        const bool isSpace = rest.substr(at).starts_with(spaceMark);
        text += isSpace ? ' ' : rest[at];
        at += isSpace ? spaceMark.size() : 1;
      }
      isEmpty &= text.empty();
      made.push_back(std::move(text));
    }
    flush();
    tokens = std::move(made);
  }

private:
  std::string surface;
  bool stripsFirst, removesSpaces, fallsBack;
  DecoderPointer bytes;
  std::unordered_map<std::string, bool> named; // whether it is the unknown one
};

Specification readModelFile(std::string_view bytes) {
  Specification all;
  Message message(bytes, 0);
  while (message.next()) {
    if (message.field == 1)
      readPiece(message.inner(), all);
    else if (message.field == 2)
      readTrainer(message.inner(), all);
    else if (message.field == 3)
      readNormalizerOf(message.inner(), all);
  }
  const auto unknown = std::ranges::find(all.pieces.kinds, SentencePieces::Kind::Unknown);
  if (unknown == all.pieces.kinds.end())
    failAt(bytes.size(), "expected a piece for what is unknown, got " + std::to_string(all.pieces.kinds.size()) +
                             " pieces without one");
  all.pieces.unknown = static_cast<int32_t>(unknown - all.pieces.kinds.begin());
  return all;
}

/// Where bytes stand for what is unknown, all of them are there.
void checkByteTokens(const Specification &all) {
  size_t count = 0;
  for (SentencePieces::Kind kind : all.pieces.kinds)
    count += kind == SentencePieces::Kind::Byte;
  if (all.pieces.fallsBackToBytes && count != 256)
    throw Error(Error::Kind::file,
                "a SentencePiece model that falls back to bytes has 256 pieces of bytes, got " + std::to_string(count));
}

} // namespace

Tokenizer Tokenizer::from_sentencepiece(std::string_view model) {
  Specification all = readModelFile(model);
  checkByteTokens(all);
  auto made = std::make_shared<Implementation>();
  made->normalizer = std::make_unique<Rules>(all);
  made->decoder = std::make_unique<PieceTexts>(all);
  std::vector<AddedToken> tokens;
  for (size_t id = 0; id < all.pieces.kinds.size(); ++id)
    if (all.pieces.kinds[id] == SentencePieces::Kind::Control) {
      AddedToken token; // without a pattern: a text that spells it is text
      token.id = static_cast<int32_t>(id);
      token.content = all.pieces.vocabulary.tokens[id];
      token.isSpecial = true;
      tokens.push_back(std::move(token));
    }
  made->added = AddedTokens(std::move(tokens));
  made->model =
      all.isBpe ? makeSentencePieceBpe(std::move(all.pieces)) : makeSentencePieceUnigram(std::move(all.pieces));
  return Tokenizer(std::move(made));
}

} // namespace vx::text

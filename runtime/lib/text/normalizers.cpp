#include "text/normalizers.h"

#include "text/byte_alphabet.h"
#include "text/characters.h"
#include "text/normal_forms.h"

#include <algorithm>

namespace vx::text {

namespace {

class Sequence : public Normalizer {
public:
  explicit Sequence(std::vector<NormalizerPointer> parts) : parts(std::move(parts)) {}
  void normalize(AlignedText &text, WorkMemory &memory) const override {
    for (const NormalizerPointer &part : parts)
      part->normalize(text, memory);
  }
  bool isLocal() const override {
    return std::ranges::all_of(parts, [](const NormalizerPointer &part) { return part->isLocal(); });
  }

private:
  std::vector<NormalizerPointer> parts;
};

/// A text that is written anew, character by character, and where each comes from.
class Rewriting {
public:
  explicit Rewriting(AlignedText &text)
      : text(text), made(std::move(text.spareText())), places(std::move(text.sparePlaces())) {
    made.clear();
    places.clear();
    made.reserve(text.view().size() + text.view().size() / 8);
    if (text.hasPlaces())
      places.reserve(made.capacity());
  }
  /// Adds what comes from the character of `size` bytes at byte `from`.
  void add(char32_t code, size_t from, uint32_t size) {
    if (text.hasPlaces())
      places.insert(places.end(), sizeInBytes(code), text.characterPlace(from, size));
    appendCodePoint(made, code);
  }
  void copy(size_t from, uint32_t size) {
    if (text.hasPlaces())
      for (uint32_t i = 0; i < size; ++i)
        places.push_back(text.characterPlace(from, size));
    made.append(text.view().substr(from, size));
  }
  void finish(bool isShifted) { text.take(std::move(made), std::move(places), isShifted); }

private:
  AlignedText &text;
  std::string made;
  std::vector<Span> places;
};

class Bert : public Normalizer {
public:
  explicit Bert(BertRules rules) : rules(rules) {
    for (unsigned byte = 0; byte < 128; ++byte) {
      const bool isSpace = byte == ' ' || (byte >= 9 && byte <= 13);
      ascii[byte] = static_cast<unsigned char>(byte);
      if (rules.cleans && (byte == '\t' || byte == '\n' || byte == '\r'))
        ascii[byte] = ' ';
      else if (rules.cleans && (byte < 0x20 || byte == 0x7f))
        ascii[byte] = gone;
      else if (rules.cleans && isSpace)
        ascii[byte] = ' ';
      if (rules.lowercases && byte >= 'A' && byte <= 'Z')
        ascii[byte] = static_cast<unsigned char>(byte + 32);
    }
  }

  bool isLocal() const override { return true; }
  void normalize(AlignedText &text, WorkMemory &memory) const override {
    if (allAscii(text))
      return;
    const std::string_view view = text.view();
    Rewriting made(text);
    for (size_t at = 0; at < view.size();) {
      const CodePoint point = codePointAt(view, at);
      if (point.code < 0x80) {
        if (const unsigned char to = ascii[point.code]; to != gone)
          made.add(to, at, 1);
      } else if (!addCharacter(made, point, at)) {
        made.finish(false);
        return byParts(text, memory);
      }
      at += point.size;
    }
    made.finish(true);
  }

private:
  static constexpr unsigned char gone = 0xff;

  /// Where each character is one of ASCII that stays one, places stay too.
  bool allAscii(AlignedText &text) const {
    const std::string_view view = text.view();
    std::string made = std::move(text.spareText());
    made.resize(view.size());
    unsigned char all = 0;
    for (size_t i = 0; i < view.size(); ++i) {
      const auto byte = static_cast<unsigned char>(view[i]);
      const unsigned char to = byte < 0x80 ? ascii[byte] : gone;
      all |= to;
      made[i] = static_cast<char>(to);
    }
    if (all >= 0x80) {
      text.spareText() = std::move(made);
      return false;
    }
    text.take(std::move(made), {}, false);
    return true;
  }

  /// False where characters may have to change places.
  bool addCharacter(Rewriting &made, CodePoint point, size_t at) const {
    char32_t code = point.code;
    if (rules.cleans) {
      if (code == 0xfffd || isOther(code))
        return true;
      if (isWhiteSpace(code))
        code = ' ';
    }
    const bool isApart = rules.splitsChinese && isChineseCharacter(code);
    if (isApart)
      made.add(' ', at, point.size);
    if (rules.stripsAccents) {
      int32_t parts[mostParts];
      const int count = code == ' ' ? (parts[0] = ' ', 1) : decompose(code, false, parts);
      for (int i = 0; i < count; ++i) {
        const auto part = static_cast<char32_t>(parts[i]);
        if (isNonspacingMark(part))
          continue;
        if (combiningClass(part) != 0)
          return false;
        addLowercase(made, part, at, point.size);
      }
    } else {
      addLowercase(made, code, at, point.size);
    }
    if (isApart)
      made.add(' ', at, point.size);
    return true;
  }

  void addLowercase(Rewriting &made, char32_t code, size_t at, uint32_t size) const {
    char32_t parts[2] = {code};
    const int count = rules.lowercases ? lowercase(code, parts) : 1;
    for (int i = 0; i < count; ++i)
      made.add(parts[i], at, size);
  }

  /// One step behind the other.
  void byParts(AlignedText &text, WorkMemory &memory) const {
    if (rules.cleans) {
      text.keepOnly([](char32_t code) {
        return code != 0 && code != 0xfffd && (code == '\t' || code == '\n' || code == '\r' || !isOther(code));
      });
    }
    memory.changes.clear();
    const std::string_view view = text.view();
    for (size_t at = 0; at < view.size();) {
      CodePoint point = codePointAt(view, at);
      at += point.size;
      if (rules.cleans && isWhiteSpace(point.code))
        point.code = ' ';
      const bool isApart = rules.splitsChinese && isChineseCharacter(point.code);
      if (isApart)
        memory.changes.push_back({' ', 0});
      memory.changes.push_back({point.code, isApart});
      if (isApart)
        memory.changes.push_back({' ', 1});
    }
    text.transform(memory.changes, 0);
    if (rules.stripsAccents) {
      makeNormalForm(false, false)->normalize(text, memory);
      text.keepOnly([](char32_t code) { return !isNonspacingMark(code); });
    }
    if (rules.lowercases)
      makeLowercase()->normalize(text, memory);
  }

  BertRules rules;
  unsigned char ascii[128];
};

class NormalForm : public Normalizer {
public:
  NormalForm(bool composes, bool isCompatible) : composes(composes), isCompatible(isCompatible) {}

  bool isLocal() const override { return true; }
  void normalize(AlignedText &text, WorkMemory &memory) const override {
    const std::string_view view = text.view();
    size_t at = findNext(view, 0).begin;
    if (at == view.size())
      return;
    std::vector<Change> &changes = memory.changes;
    changes.clear();
    size_t copied = 0;
    const auto copyUpTo = [&](size_t end) {
      while (copied < end) {
        const CodePoint point = codePointAt(view, copied);
        changes.push_back({point.code, 0});
        copied += point.size;
      }
    };
    while (at < view.size()) {
      const Span part = findNext(view, at);
      copyUpTo(part.begin);
      appendNormalForm(view.substr(part.begin, part.end - part.begin), composes, isCompatible, changes);
      copied = at = part.end;
    }
    text.transform(changes, 0);
  }

private:
  /// The next characters that must be looked at together, behind byte `from`: with the one before them where they
  /// could compose with it.
  Span findNext(std::string_view view, size_t from) const {
    size_t before = from, at = from;
    while (at < view.size()) {
      const CodePoint point = codePointAt(view, at);
      if (!isInertIn(point.code, composes))
        break;
      before = at;
      at += point.size;
    }
    size_t end = at;
    while (end < view.size()) {
      const CodePoint point = codePointAt(view, end);
      if (isInertIn(point.code, composes))
        break;
      end += point.size;
    }
    if (at == view.size())
      return {static_cast<uint32_t>(at), static_cast<uint32_t>(at)};
    return {static_cast<uint32_t>(composes ? before : at), static_cast<uint32_t>(end)};
  }

  bool composes, isCompatible;
};

class Lowercase : public Normalizer {
public:
  bool isLocal() const override { return true; }
  void normalize(AlignedText &text, WorkMemory &) const override {
    const std::string_view view = text.view();
    Rewriting made(text);
    bool isShifted = false;
    for (size_t at = 0; at < view.size();) {
      const CodePoint point = codePointAt(view, at);
      char32_t parts[2];
      const int count = lowercase(point.code, parts);
      for (int i = 0; i < count; ++i)
        made.add(parts[i], at, point.size);
      isShifted |= count > 1 || sizeInBytes(parts[0]) != point.size;
      at += point.size;
    }
    made.finish(isShifted);
  }
};

class Strip : public Normalizer {
public:
  Strip(bool left, bool right) : left(left), right(right) {}
  void normalize(AlignedText &text, WorkMemory &memory) const override {
    const std::string_view view = text.view();
    size_t begin = 0, end = view.size();
    while (left && begin < end && isWhiteSpace(codePointAt(view, begin).code))
      begin += codePointAt(view, begin).size;
    while (right && begin < end) {
      size_t last = end - 1;
      while (isContinuation(view[last]))
        --last;
      if (!isWhiteSpace(codePointAt(view, last).code))
        break;
      end = last;
    }
    memory.matches.clear();
    if (begin > 0)
      memory.matches.push_back({0, static_cast<uint32_t>(begin)});
    if (end < view.size())
      memory.matches.push_back({static_cast<uint32_t>(end), static_cast<uint32_t>(view.size())});
    text.replace(memory.matches, "");
  }

private:
  bool left, right;
};

class StripAccents : public Normalizer {
public:
  bool isLocal() const override { return true; }
  void normalize(AlignedText &text, WorkMemory &) const override {
    text.keepOnly([](char32_t code) { return !isMark(code); });
  }
};

class Replace : public Normalizer {
public:
  Replace(Pattern pattern, std::string content) : pattern(std::move(pattern)), content(std::move(content)) {}
  void normalize(AlignedText &text, WorkMemory &memory) const override {
    if (text.view().empty())
      return;
    pattern.findAll(text.view(), memory.patterns, memory.matches);
    text.replace(memory.matches, content);
  }

private:
  Pattern pattern;
  std::string content;
};

class Surround : public Normalizer {
public:
  Surround(std::string front, std::string back) : front(std::move(front)), back(std::move(back)) {}
  void normalize(AlignedText &text, WorkMemory &) const override {
    text.prepend(front);
    if (!back.empty())
      text.append(back);
  }

private:
  std::string front, back;
};

class Nmt : public Normalizer {
public:
  void normalize(AlignedText &text, WorkMemory &) const override {
    text.keepOnly([](char32_t code) {
      return !((code >= 1 && code <= 8) || code == 0xb || (code >= 0xe && code <= 0x1f) || code == 0x7f ||
               code == 0x8f || code == 0x9f);
    });
    const std::string_view view = text.view();
    Rewriting made(text);
    for (size_t at = 0; at < view.size();) {
      const CodePoint point = codePointAt(view, at);
      made.add(isSpace(point.code) ? ' ' : point.code, at, point.size);
      at += point.size;
    }
    made.finish(true);
  }

private:
  static bool isSpace(char32_t code) {
    return code == 9 || code == 0xa || code == 0xc || code == 0xd || code == 0x1680 ||
           (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 || code == 0x2581 || code == 0xfeff ||
           code == 0xfffd;
  }
};

class ByteCharacters : public Normalizer {
public:
  void normalize(AlignedText &text, WorkMemory &) const override {
    const std::string_view view = text.view();
    Rewriting made(text);
    for (size_t at = 0; at < view.size();) {
      const uint32_t size = codePointAt(view, at).size;
      for (uint32_t i = 0; i < size; ++i)
        made.add(byteCharacters[static_cast<unsigned char>(view[at + i])], at, size);
      at += size;
    }
    made.finish(true);
  }
};

} // namespace

NormalizerPointer makeSequence(std::vector<NormalizerPointer> parts) {
  return std::make_unique<Sequence>(std::move(parts));
}
NormalizerPointer makeBert(BertRules rules) { return std::make_unique<Bert>(rules); }
NormalizerPointer makeNormalForm(bool composes, bool isCompatible) {
  return std::make_unique<NormalForm>(composes, isCompatible);
}
NormalizerPointer makeLowercase() { return std::make_unique<Lowercase>(); }
NormalizerPointer makeStrip(bool left, bool right) { return std::make_unique<Strip>(left, right); }
NormalizerPointer makeStripAccents() { return std::make_unique<StripAccents>(); }
NormalizerPointer makeReplace(Pattern pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
NormalizerPointer makePrepend(std::string front) { return std::make_unique<Surround>(std::move(front), ""); }
NormalizerPointer makeAppend(std::string back) { return std::make_unique<Surround>("", std::move(back)); }
NormalizerPointer makeNmt() { return std::make_unique<Nmt>(); }
NormalizerPointer makeByteCharacters() { return std::make_unique<ByteCharacters>(); }

} // namespace vx::text

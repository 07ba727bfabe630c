#include "text/charsmap.h"

#include "text/characters.h"
#include "text/normalizers.h"

#include <utf8proc.h>

namespace vx::text {

namespace {

// An element of the array, as Darts-clone writes it.
constexpr bool hasValue(uint32_t unit) { return (unit >> 8 & 1) != 0; }
constexpr uint32_t valueOf(uint32_t unit) { return unit & 0x7fffffff; }
constexpr uint32_t labelOf(uint32_t unit) { return unit & 0x800000ff; }
constexpr uint32_t offsetOf(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

uint32_t readLittleEndian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

} // namespace

Charsmap::Charsmap(std::string_view bytes) {
  if (bytes.empty())
    return;
  const uint32_t size = bytes.size() < 4 ? 0 : readLittleEndian(bytes, 0);
  if (bytes.size() < 4 || size > bytes.size() - 4 || size % 4 != 0 || size == 0)
    throw Error(Error::Kind::file, "a precompiled charsmap of " + std::to_string(bytes.size()) +
                                       " bytes has an array of whole units inside of it, got one of " +
                                       std::to_string(size) + " bytes");
  units.reserve(size / 4);
  for (size_t at = 4; at < size + size_t(4); at += 4)
    units.push_back(readLittleEndian(bytes, at));
  texts = bytes.substr(4 + size_t(size));
  // A rule must lead to text that is UTF-8, whole.
  if (findIllFormed(texts) != texts.size())
    throw Error(Error::Kind::file, "the texts of a precompiled charsmap are UTF-8, got a byte that is not at " +
                                       std::to_string(findIllFormed(texts)));
  for (unsigned byte = 1; byte < 256; ++byte) {
    const uint32_t at = offsetOf(units[0]) ^ byte;
    starts[byte] = at < units.size() && labelOf(units[at]) == byte;
  }
}

std::optional<Charsmap::Rule> Charsmap::find(std::string_view text, bool isLongest) const {
  std::optional<Rule> found;
  if (units.empty())
    return found;
  uint32_t at = offsetOf(units[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (byte == 0 || at >= units.size() || labelOf(units[at]) != byte)
      break;
    const bool ends = hasValue(units[at]);
    at ^= offsetOf(units[at]);
    if (!ends || at >= units.size())
      continue;
    const uint32_t begin = valueOf(units[at]);
    // In the middle of a character of a damaged file's texts nothing begins.
    if (begin >= texts.size() || isContinuation(texts[begin]))
      continue;
    const size_t end = texts.find('\0', begin);
    found = Rule{i + 1, std::string_view(texts).substr(begin, end == texts.npos ? end : end - begin)};
    if (!isLongest)
      break;
  }
  return found;
}

namespace {

class Precompiled : public Normalizer {
public:
  explicit Precompiled(std::string_view bytes) : rules(bytes) {}

  void normalize(AlignedText &text, WorkMemory &memory) const override {
    const std::string_view view = text.view();
    std::vector<Change> &changes = memory.changes;
    changes.clear();
    bool isModified = false;
    for (size_t at = 0; at < view.size();) {
      const std::string_view cluster = view.substr(at, clusterSize(view, at));
      at += cluster.size();
      if (cluster.size() < 6 && apply(cluster, changes)) {
        isModified = true;
        continue;
      }
      for (size_t i = 0; i < cluster.size();) {
        const CodePoint point = codePointAt(cluster, i);
        if (apply(cluster.substr(i, point.size), changes))
          isModified = true;
        else
          changes.push_back({point.code, 0});
        i += point.size;
      }
    }
    if (isModified)
      text.transform(changes, 0);
  }

private:
  /// Bytes of what a reader takes for one character.
  static size_t clusterSize(std::string_view view, size_t at) {
    CodePoint point = codePointAt(view, at);
    size_t end = at + point.size;
    utf8proc_int32_t state = 0;
    while (end < view.size()) {
      const CodePoint next = codePointAt(view, end);
      if (point.code < 0x80 && next.code < 0x80) {
        if (point.code != '\r' || next.code != '\n')
          break;
      } else if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(point.code),
                                                  static_cast<utf8proc_int32_t>(next.code), &state)) {
        break;
      }
      end += next.size;
      point = next;
    }
    return end - at;
  }

  /// The whole of `part` becomes what its shortest beginning that has a rule does, as PyPI's tokenizers has it.
  bool apply(std::string_view part, std::vector<Change> &changes) const {
    if (!rules.startsRule(static_cast<unsigned char>(part[0])))
      return false;
    const std::optional<Charsmap::Rule> rule = rules.findShortest(part);
    if (!rule)
      return false;
    const auto before = static_cast<int>(countCodePoints(part)), behind = static_cast<int>(countCodePoints(rule->to));
    const size_t first = changes.size();
    for (size_t at = 0; at < rule->to.size();) {
      const CodePoint point = codePointAt(rule->to, at);
      changes.push_back({point.code, 0});
      at += point.size;
    }
    for (size_t i = first + before; i < changes.size(); ++i)
      changes[i].change = 1;
    if (behind < before && !changes.empty())
      changes.back().change += behind - before;
    return true;
  }

  Charsmap rules;
};

} // namespace

NormalizerPointer makePrecompiled(std::string charsmap) { return std::make_unique<Precompiled>(charsmap); }

} // namespace vx::text

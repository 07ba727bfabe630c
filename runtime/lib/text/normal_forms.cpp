#include "text/normal_forms.h"

#include "text/characters.h"

#include <algorithm>
#include <utf8proc.h>

namespace vx::text {

namespace {

constexpr bool isHangulSyllable(char32_t code) { return code >= 0xac00 && code <= 0xd7a3; }
constexpr bool isHangulJamo(char32_t code) { return code >= 0x1100 && code <= 0x11ff; }

/// The character that two compose to; 0: none.
char32_t compose(char32_t first, char32_t second) {
  if (first < 0x80 && second < 0x300)
    return 0;
  utf8proc_int32_t pair[3] = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second), 0};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(pair, 2, options) == 1 ? static_cast<char32_t>(pair[0]) : 0;
}

struct Part {
  char32_t code;
  int change, order;
};

/// Characters between two of class 0 by their class, those of one class as they stood.
void putInOrder(std::vector<Part> &parts) {
  for (size_t begin = 0; begin < parts.size(); ++begin) {
    size_t end = begin;
    bool isSorted = true;
    for (; end < parts.size() && parts[end].order != 0; ++end)
      isSorted &= end == begin || parts[end - 1].order <= parts[end].order;
    if (!isSorted) {
      std::vector<std::pair<std::pair<int, size_t>, Part>> keyed;
      for (size_t i = begin; i < end; ++i)
        keyed.push_back({{parts[i].order, i}, parts[i]});
      std::sort(keyed.begin(), keyed.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
      for (size_t i = begin; i < end; ++i)
        parts[i] = keyed[i - begin].second;
    }
    begin = end;
  }
}

} // namespace

int combiningClass(char32_t code) {
  return code < 0x300 ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
}

bool isInertIn(char32_t code, bool composes) {
  if (code < 0xa0)
    return true;
  if (isHangulSyllable(code))
    return composes;
  if (isHangulJamo(code))
    return !composes;
  if (combiningClass(code) != 0 || (composes && isMark(code)))
    return false;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->decomp_seqindex == UINT16_MAX;
}

int decompose(char32_t code, bool isCompatible, int32_t *parts) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (isCompatible ? UTF8PROC_COMPAT : 0));
  int boundary = 0;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts, mostParts, options, &boundary);
  if (count < 1 || count > mostParts) {
    parts[0] = static_cast<int32_t>(code);
    return 1;
  }
  return static_cast<int>(count);
}

int lowercase(char32_t code, char32_t *parts) {
  if (code < 0x80) {
    parts[0] = code >= 'A' && code <= 'Z' ? code + 32 : code;
    return 1;
  }
  if (code == 0x130) {
    parts[0] = 'i';
    parts[1] = 0x307;
    return 2;
  }
  parts[0] = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
  return 1;
}

void appendNormalForm(std::string_view text, bool composes, bool isCompatible, std::vector<Change> &changes) {
  std::vector<Part> parts;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = codePointAt(text, at);
    at += point.size;
    int32_t pieces[mostParts];
    const int count = decompose(point.code, isCompatible, pieces);
    for (int i = 0; i < count; ++i) {
      const auto code = static_cast<char32_t>(pieces[i]);
      parts.push_back({code, i > 0, combiningClass(code)});
    }
  }
  putInOrder(parts);
  if (!composes) {
    for (const Part &part : parts)
      changes.push_back({part.code, part.change});
    return;
  }
  size_t starter = changes.size();
  bool hasStarter = false;
  int last = 0; // the class of what stands between the starter and this
  for (const Part &part : parts) {
    const bool isAdjacent = hasStarter && starter + 1 == changes.size();
    if (hasStarter && (isAdjacent || (last < part.order && last != 0))) {
      if (const char32_t composed = compose(changes[starter].code, part.code)) {
        changes[starter].code = composed;
        changes[starter].change += part.change - 1;
        continue;
      }
    }
    if (part.order == 0) {
      starter = changes.size();
      hasStarter = true;
      last = 0;
    } else {
      last = part.order;
    }
    changes.push_back({part.code, part.change});
  }
}

} // namespace vx::text

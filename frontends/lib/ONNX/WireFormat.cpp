#include "WireFormat.h"

#include <optional>

using llvm::StringRef;

namespace vx::onnx {

enum WireType : uint64_t { Varint = 0, Fixed64 = 1, Bytes = 2, GroupBegin = 3, GroupEnd = 4, Fixed32 = 5 };

static std::optional<uint64_t> takeVarint(StringRef &rest) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70 && !rest.empty(); shift += 7) {
    auto byte = static_cast<uint8_t>(rest.front());
    rest = rest.drop_front();
    value |= shift < 64 ? uint64_t(byte & 0x7f) << shift : 0;
    if (byte < 0x80)
      return value;
  }
  return std::nullopt;
}

/// Skips the value after a tag. A group ends with a tag of its own number; those inside of it are skipped too.
static bool skipValue(StringRef &rest, uint64_t tag, StringRef &payload) {
  auto skip = [&](uint64_t size) {
    payload = rest.take_front(size);
    rest = rest.drop_front(payload.size());
    return payload.size() == size;
  };
  switch (tag & 7) {
  case Varint:
    return takeVarint(rest).has_value();
  case Fixed64:
    return skip(8);
  case Fixed32:
    return skip(4);
  case Bytes: {
    std::optional<uint64_t> size = takeVarint(rest);
    return size && skip(*size);
  }
  case GroupBegin: {
    // Without recursion: a parser has found them no deeper than it allows.
    unsigned depth = 1;
    while (depth > 0) {
      std::optional<uint64_t> inner = takeVarint(rest);
      if (!inner)
        return false;
      StringRef ignored;
      if ((*inner & 7) == GroupBegin)
        ++depth;
      else if ((*inner & 7) == GroupEnd)
        --depth;
      else if (!skipValue(rest, *inner, ignored))
        return false;
    }
    return true;
  }
  default:
    return false;
  }
}

bool forEachField(StringRef message, llvm::function_ref<void(const WireField &)> visit) {
  StringRef rest = message;
  while (!rest.empty()) {
    const char *begin = rest.data();
    std::optional<uint64_t> tag = takeVarint(rest);
    if (!tag)
      return false;
    WireField field;
    field.number = *tag >> 3;
    field.isBytes = (*tag & 7) == Bytes;
    field.tag = StringRef(begin, static_cast<size_t>(rest.data() - begin));
    if (!skipValue(rest, *tag, field.payload))
      return false;
    field.whole = StringRef(begin, static_cast<size_t>(rest.data() - begin));
    visit(field);
  }
  return true;
}

void appendVarint(std::string &text, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    text += static_cast<char>((value & 0x7f) | 0x80);
  text += static_cast<char>(value);
}

void appendTag(std::string &text, uint64_t number) { appendVarint(text, number << 3 | Bytes); }

} // namespace vx::onnx

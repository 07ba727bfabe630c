#include "TokenizerFile.h"

#include <bit>

namespace vx {

namespace {

/// Little-endian numbers and strings, as GGUF has them.
class GgufBytes {
public:
  template <typename T>
  void number(T value) {
    const auto bits = std::bit_cast<std::array<char, sizeof(T)>>(value);
    bytes.append(bits.data(), bits.size());
  }
  void string(std::string_view text) {
    number(static_cast<uint64_t>(text.size()));
    bytes += text;
  }
  void element(const GgufValue &value, size_t i) {
    switch (value.elementKind()) {
    case GgufKind::u8:
      return number(static_cast<uint8_t>(value.unsignedAt(i).value_or(0)));
    case GgufKind::i8:
      return number(static_cast<int8_t>(value.signedAt(i).value_or(0)));
    case GgufKind::u16:
      return number(static_cast<uint16_t>(value.unsignedAt(i).value_or(0)));
    case GgufKind::i16:
      return number(static_cast<int16_t>(value.signedAt(i).value_or(0)));
    case GgufKind::u32:
      return number(static_cast<uint32_t>(value.unsignedAt(i).value_or(0)));
    case GgufKind::i32:
      return number(static_cast<int32_t>(value.signedAt(i).value_or(0)));
    case GgufKind::u64:
      return number(value.unsignedAt(i).value_or(0));
    case GgufKind::i64:
      return number(value.signedAt(i).value_or(0));
    case GgufKind::f32:
      return number(static_cast<float>(value.numberAt(i).value_or(0)));
    case GgufKind::f64:
      return number(value.numberAt(i).value_or(0));
    case GgufKind::boolean:
      return number(static_cast<uint8_t>(value.booleanAt(i).value_or(false)));
    case GgufKind::string:
      return string(value.stringAt(i).value_or(""));
    case GgufKind::array: // no array has arrays
      return;
    }
  }
  std::string bytes;
};

} // namespace

std::string writeTokenizerFile(const GgufModel &model) {
  GgufBytes keys;
  uint64_t count = 0;
  for (const GgufKey &key : model.keys()) {
    if (!std::string_view(key.name).starts_with("tokenizer."))
      continue;
    ++count;
    keys.string(key.name);
    keys.number(static_cast<uint32_t>(key.value.kind()));
    if (key.value.kind() == GgufKind::array) {
      keys.number(static_cast<uint32_t>(key.value.elementKind()));
      keys.number(static_cast<uint64_t>(key.value.size()));
    }
    for (size_t i = 0; i < key.value.size(); ++i)
      keys.element(key.value, i);
  }
  GgufBytes file;
  file.bytes = "GGUF";
  file.number(uint32_t(3));
  file.number(uint64_t(0));
  file.number(count);
  return file.bytes + keys.bytes;
}

} // namespace vx

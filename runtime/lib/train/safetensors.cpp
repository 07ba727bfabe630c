#include "safetensors.h"

#include "failure.h"
#include "json_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace vx::train {

namespace {

constexpr struct {
  const char *name;
  vx_element_type type;
} Types[] = {{"BOOL", VX_BOOL},
             {"U8", VX_U8},
             {"I8", VX_I8},
             {"F8_E5M2", VX_F8E5M2},
             {"F8_E4M3", VX_F8E4M3FN},
             {"F8_E8M0", VX_F8E8M0},
             {"F8_E4M3FNUZ", VX_F8E4M3FNUZ},
             {"F8_E5M2FNUZ", VX_F8E5M2FNUZ},
             {"I16", VX_I16},
             {"U16", VX_U16},
             {"F16", VX_F16},
             {"BF16", VX_BF16},
             {"I32", VX_I32},
             {"U32", VX_U32},
             {"F32", VX_F32},
             {"F64", VX_F64},
             {"I64", VX_I64},
             {"U64", VX_U64}};

constexpr char MetadataKey[] = "__metadata__";
// As the format's own library has it.
constexpr uint64_t LargestHeader = 100'000'000;

void appendCharacter(std::string &text, uint32_t code) {
  auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

struct Entry {
  SafeTensor tensor;
  uint64_t begin = 0, end = 0;
};

// As much of JSON as the header has: objects of objects of strings and lists of whole numbers. No part of it is nested
// deeper, so that nothing here is recursive. The first error is kept, and ends the text.
class HeaderParser {
public:
  HeaderParser(std::string_view text, std::string &error) : text(text), error(error) {}

  bool parse(std::map<std::string, std::string> &metadata, std::vector<Entry> &entries) {
    std::set<std::string> names;
    object([&](std::string name) {
      if (!names.insert(name).second)
        return fail(fmt::format("the header names '{}' twice", name));
      if (name != MetadataKey)
        return tensor(std::move(name), entries);
      object([&](std::string key) {
        std::string value = string();
        if (isGood() && !metadata.emplace(key, std::move(value)).second)
          fail(fmt::format("the metadata names '{}' twice", key));
      });
    });
    if (isGood() && (peek() != '\0' || at < text.size()))
      failAt("nothing more");
    return isGood();
  }

private:
  bool isGood() const { return error.empty(); }
  void fail(std::string reason) {
    if (isGood())
      error = std::move(reason);
    at = text.size();
  }
  void failAt(const char *wanted) {
    fail(fmt::format("the header wants {} at character {}, got '{}'", wanted, at,
                     text.substr(std::min(at, text.size()), 16)));
  }
  // The next character that is no blank; 0 at the end.
  char peek() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted || at >= text.size())
      return false;
    ++at;
    return true;
  }

  // Calls `member` with each key; it reads the value.
  template <typename F>
  void object(F &&member) {
    if (!take('{'))
      return failAt("'{'");
    if (take('}'))
      return;
    while (isGood()) {
      std::string key = string();
      if (isGood() && !take(':'))
        failAt("':'");
      if (!isGood())
        return;
      member(std::move(key));
      if (!isGood() || take('}'))
        return;
      if (!take(','))
        return failAt("',' or '}'");
    }
  }

  uint32_t hex() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at) {
      const char c = at < text.size() ? text[at] : '\0';
      if (c >= '0' && c <= '9')
        code = code << 4 | static_cast<uint32_t>(c - '0');
      else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        code = code << 4 | static_cast<uint32_t>((c | 0x20) - 'a' + 10);
      else {
        failAt("four hexadecimal digits");
        return 0;
      }
    }
    return code;
  }
  void escape(std::string &value) {
    static constexpr char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char c = at < text.size() ? text[at] : '\0';
    if (c == 'u') {
      ++at;
      uint32_t code = hex();
      if (code >= 0xd800 && code < 0xdc00 && text.substr(std::min(at, text.size()), 2) == "\\u") {
        at += 2;
        const uint32_t low = hex();
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xd800;
      }
      if (isGood() && code >= 0xd800 && code < 0xe000)
        return failAt("a whole pair of surrogates before");
      appendCharacter(value, code);
      return;
    }
    const char *found = c ? std::strchr(letters, c) : nullptr;
    if (!found)
      return failAt("an escape that JSON has");
    value += meant[found - letters];
    ++at;
  }
  std::string string() {
    std::string value;
    if (!take('"')) {
      failAt("a string");
      return value;
    }
    const size_t begin = at;
    while (isGood()) {
      if (at >= text.size()) {
        fail(fmt::format("the header has a string without end at character {}", begin));
        break;
      }
      const char c = text[at];
      if (static_cast<unsigned char>(c) < 0x20) {
        failAt("no control character in a string");
        break;
      }
      const size_t length = characterLength(text.substr(at));
      if (length == 0) {
        fail(fmt::format("the header is no UTF-8 at character {}", at));
        break;
      }
      const size_t character = at;
      at += length;
      if (c == '"')
        break;
      if (c == '\\')
        escape(value);
      else
        value += text.substr(character, length);
    }
    return value;
  }

  std::optional<uint64_t> number() {
    uint64_t value = 0;
    peek();
    const size_t begin = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      const uint64_t digit = static_cast<uint64_t>(text[at] - '0');
      if (value > (INT64_MAX - digit) / 10) {
        at = begin;
        failAt("a number below 2^63");
        return {};
      }
      value = value * 10 + digit;
    }
    if (at == begin || (text[begin] == '0' && at > begin + 1)) {
      at = begin;
      failAt("a whole number");
      return {};
    }
    return value;
  }
  std::vector<uint64_t> numbers() {
    std::vector<uint64_t> list;
    if (!take('[')) {
      failAt("'['");
      return list;
    }
    if (take(']'))
      return list;
    while (isGood()) {
      if (const std::optional<uint64_t> value = number())
        list.push_back(*value);
      if (!isGood() || take(']'))
        break;
      if (!take(','))
        failAt("',' or ']'");
    }
    return list;
  }

  void tensor(std::string name, std::vector<Entry> &entries) {
    Entry entry;
    entry.tensor.name = std::move(name);
    bool hasType = false, hasShape = false, hasOffsets = false;
    object([&](std::string key) {
      bool &has = key == "dtype" ? hasType : key == "shape" ? hasShape : hasOffsets;
      if (key == "dtype") {
        const std::string type = string();
        for (const auto &known : Types)
          if (type == known.name)
            entry.tensor.type = known.type;
        if (isGood() && entry.tensor.type == VX_ELEMENT_NONE)
          fail(fmt::format("tensor '{}' has the element type '{}', which is not supported", entry.tensor.name, type));
      } else if (key == "shape") {
        entry.tensor.dims.clear();
        for (uint64_t dim : numbers())
          entry.tensor.dims.push_back(static_cast<int64_t>(dim));
      } else if (key == "data_offsets") {
        const std::vector<uint64_t> offsets = numbers();
        if (isGood() && offsets.size() != 2)
          return fail(fmt::format("tensor '{}' has {} data_offsets, want 2", entry.tensor.name, offsets.size()));
        if (isGood())
          entry.begin = offsets[0], entry.end = offsets[1];
      } else {
        return fail(fmt::format("tensor '{}' has the unknown key '{}'", entry.tensor.name, key));
      }
      if (has)
        fail(fmt::format("tensor '{}' has '{}' twice", entry.tensor.name, key));
      has = true;
    });
    if (isGood() && !(hasType && hasShape && hasOffsets))
      fail(fmt::format("tensor '{}' wants 'dtype', 'shape' and 'data_offsets', '{}' is missing", entry.tensor.name,
                       !hasType    ? "dtype"
                       : !hasShape ? "shape"
                                   : "data_offsets"));
    if (isGood())
      entries.push_back(std::move(entry));
  }

  const std::string_view text;
  std::string &error;
  size_t at = 0;
};

} // namespace

const char *safeTensorTypeName(vx_element_type type) {
  for (const auto &known : Types)
    if (type == known.type)
      return known.name;
  return nullptr;
}

bool parseSafeTensors(std::span<const uint8_t> file, SafeTensors &result, std::string &error) {
  result = {};
  error.clear();
  auto fail = [&](std::string reason) {
    error = std::move(reason);
    return false;
  };
  if (file.size() < 8)
    return fail(fmt::format("truncated: a safetensors file has 8 bytes or more, got {}", file.size()));
  uint64_t size = 0;
  for (size_t i = 0; i < 8; ++i)
    size |= static_cast<uint64_t>(file[i]) << 8 * i;
  if (size > LargestHeader)
    return fail(fmt::format("not a safetensors file: its first 8 bytes want a header of {} bytes, allowed are {}", size,
                            LargestHeader));
  if (size > file.size() - 8)
    return fail(fmt::format("truncated: the header wants {} bytes, got {}", size, file.size() - 8));
  std::vector<Entry> entries;
  const std::string_view text(reinterpret_cast<const char *>(file.data()) + 8, static_cast<size_t>(size));
  if (!HeaderParser(text, error).parse(result.metadata, entries))
    return false;

  const std::span<const uint8_t> data = file.subspan(8 + static_cast<size_t>(size));
  std::vector<const Entry *> byPlace;
  for (Entry &entry : entries) {
    const std::string &name = entry.tensor.name;
    uint64_t wanted = 0;
    if (!byteCount(entry.tensor.type, entry.tensor.dims, wanted))
      return fail(fmt::format("tensor '{}': {} is too large", name, typeText(entry.tensor.type, entry.tensor.dims)));
    if (entry.end < entry.begin || entry.end - entry.begin != wanted)
      return fail(fmt::format("tensor '{}': {} wants {} bytes, its data_offsets are {} and {}", name,
                              typeText(entry.tensor.type, entry.tensor.dims), wanted, entry.begin, entry.end));
    byPlace.push_back(&entry);
  }
  // The tensors lie one behind the other and are all that there is.
  std::sort(byPlace.begin(), byPlace.end(),
            [](const Entry *a, const Entry *b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  uint64_t next = 0;
  for (const Entry *entry : byPlace) {
    if (entry->begin != next)
      return fail(fmt::format("tensor '{}' begins at byte {}, want {}, where the one before ends", entry->tensor.name,
                              entry->begin, next));
    next = entry->end;
  }
  if (data.size() < next)
    return fail(fmt::format("truncated: the tensors want {} bytes, got {}", next, data.size()));
  if (data.size() > next)
    return fail(fmt::format("too long: the tensors want {} bytes, got {}", next, data.size()));
  for (Entry &entry : entries) {
    entry.tensor.bytes = data.subspan(static_cast<size_t>(entry.begin), static_cast<size_t>(entry.end - entry.begin));
    result.tensors.push_back(std::move(entry.tensor));
  }
  return true;
}

std::vector<uint8_t> safeTensorsHeader(const SafeTensors &content) {
  std::string text = "{";
  auto member = [&](const std::string &name) { text += (text.back() == '{' ? "" : ",") + jsonString(name) + ":"; };
  if (!content.metadata.empty()) {
    member(MetadataKey);
    text += '{';
    for (const auto &[key, value] : content.metadata) {
      member(key);
      text += jsonString(value);
    }
    text += '}';
  }
  uint64_t next = 0;
  for (const SafeTensor &tensor : content.tensors) {
    member(tensor.name);
    text += fmt::format("{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", safeTensorTypeName(tensor.type),
                        fmt::join(tensor.dims, ","), next, next + tensor.bytes.size());
    next += tensor.bytes.size();
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::vector<uint8_t> bytes(8);
  for (size_t i = 0; i < 8; ++i)
    bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(text.size()) >> 8 * i);
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

} // namespace vx::train

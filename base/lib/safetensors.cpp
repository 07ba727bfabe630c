#include "vx/base/safetensors.h"

#include "vx/base/tensor_type.h"
#include "vx/base/utf8.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

namespace vx {

namespace {

constexpr SafeTensorType Types[] = {{"BOOL", "bool", 8},
                                    {"U8", "u8", 8},
                                    {"I8", "i8", 8},
                                    {"F8_E5M2", "f8E5M2", 8},
                                    {"F8_E4M3", "f8E4M3FN", 8},
                                    {"F8_E8M0", "f8E8M0", 8},
                                    {"F8_E4M3FNUZ", "f8E4M3FNUZ", 8},
                                    {"F8_E5M2FNUZ", "f8E5M2FNUZ", 8},
                                    {"I16", "i16", 16},
                                    {"U16", "u16", 16},
                                    {"F16", "f16", 16},
                                    {"BF16", "bf16", 16},
                                    {"I32", "i32", 32},
                                    {"U32", "u32", 32},
                                    {"F32", "f32", 32},
                                    {"F64", "f64", 64},
                                    {"I64", "i64", 64},
                                    {"U64", "u64", 64}};

constexpr char MetadataKey[] = "__metadata__";
// As the format's own library has it.
constexpr uint64_t LargestHeader = 100'000'000;

void append(std::string &text, std::string_view part) { text += part; }
void append(std::string &text, uint64_t number) { text += std::to_string(number); }

template <typename... Parts>
std::string join(const Parts &...parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

std::string typeText(const SafeTensorEntry &tensor) { return tensorTypeText(tensor.type->vxName, tensor.dims); }

struct Entry {
  SafeTensorEntry tensor;
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
        return fail(join("header: expected each tensor once, got '", name, "' twice"));
      if (name != MetadataKey)
        return tensor(std::move(name), entries);
      object([&](std::string key) {
        std::string value = string();
        if (isGood() && !metadata.emplace(key, std::move(value)).second)
          fail(join("metadata: expected each key once, got '", key, "' twice"));
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
    fail(join("header: expected ", wanted, " at character ", at, ", got '", text.substr(std::min(at, text.size()), 16),
              "'"));
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
      appendUtf8(value, code);
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
        fail(join("the header has a string without end at character ", begin));
        break;
      }
      const char c = text[at];
      if (static_cast<unsigned char>(c) < 0x20) {
        failAt("no control character in a string");
        break;
      }
      const size_t length = decodeUtf8(text.substr(at)).size;
      if (length == 0) {
        fail(join("the header is no UTF-8 at character ", at));
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
        for (const SafeTensorType &known : Types)
          if (type == known.name)
            entry.tensor.type = &known;
        if (isGood() && !entry.tensor.type)
          fail(join("tensor '", entry.tensor.name, "' has the element type '", type, "', which is not supported"));
      } else if (key == "shape") {
        entry.tensor.dims.clear();
        for (uint64_t dim : numbers())
          entry.tensor.dims.push_back(static_cast<int64_t>(dim));
      } else if (key == "data_offsets") {
        const std::vector<uint64_t> offsets = numbers();
        if (isGood() && offsets.size() != 2)
          return fail(join("tensor '", entry.tensor.name, "' has ", offsets.size(), " data_offsets, expected 2"));
        if (isGood())
          entry.begin = offsets[0], entry.end = offsets[1];
      } else {
        return fail(
            join("tensor '", entry.tensor.name, "': expected 'dtype', 'shape' and 'data_offsets', got '", key, "'"));
      }
      if (has)
        fail(join("tensor '", entry.tensor.name, "': expected each key once, got '", key, "' twice"));
      has = true;
    });
    if (isGood() && !(hasType && hasShape && hasOffsets))
      fail(join("tensor '", entry.tensor.name, "' needs 'dtype', 'shape' and 'data_offsets', '",
                !hasType    ? "dtype"
                : !hasShape ? "shape"
                            : "data_offsets",
                "' is missing"));
    if (isGood())
      entries.push_back(std::move(entry));
  }

  const std::string_view text;
  std::string &error;
  size_t at = 0;
};

} // namespace

const SafeTensorType *findSafeTensorType(std::string_view vxName) {
  const auto *found = std::find_if(std::begin(Types), std::end(Types),
                                   [&](const SafeTensorType &type) { return vxName == type.vxName; });
  return found == std::end(Types) ? nullptr : found;
}

bool parseSafeTensors(std::span<const uint8_t> file, SafeTensorsFile &result, std::string &error) {
  result = {};
  error.clear();
  auto fail = [&](std::string reason) {
    error = std::move(reason);
    return false;
  };
  if (file.size() < 8)
    return fail(join("truncated: a safetensors file has 8 bytes or more, got ", file.size()));
  uint64_t size = 0;
  for (size_t i = 0; i < 8; ++i)
    size |= static_cast<uint64_t>(file[i]) << 8 * i;
  if (size > LargestHeader)
    return fail(join("not a safetensors file: its first 8 bytes say that the header has ", size,
                     " bytes, expected at most ", LargestHeader));
  if (size > file.size() - 8)
    return fail(join("truncated: the header needs ", size, " bytes, got ", file.size() - 8));
  std::vector<Entry> entries;
  const std::string_view text(reinterpret_cast<const char *>(file.data()) + 8, static_cast<size_t>(size));
  if (!HeaderParser(text, error).parse(result.metadata, entries))
    return false;

  const std::span<const uint8_t> data = file.subspan(8 + static_cast<size_t>(size));
  std::vector<const Entry *> byPlace;
  for (Entry &entry : entries) {
    const std::string &name = entry.tensor.name;
    const std::optional<uint64_t> wanted =
        tensorBytes(static_cast<uint32_t>(entry.tensor.type->bits), entry.tensor.dims);
    if (!wanted)
      return fail(join("tensor '", name, "': ", typeText(entry.tensor), " is too large"));
    if (entry.end < entry.begin || entry.end - entry.begin != *wanted)
      return fail(join("tensor '", name, "': ", typeText(entry.tensor), " needs ", *wanted,
                       " bytes, its data_offsets are ", entry.begin, " and ", entry.end));
    byPlace.push_back(&entry);
  }
  // The tensors lie one behind the other and are all that there is.
  std::sort(byPlace.begin(), byPlace.end(),
            [](const Entry *a, const Entry *b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  uint64_t next = 0;
  for (const Entry *entry : byPlace) {
    if (entry->begin != next)
      return fail(join("tensor '", entry->tensor.name, "' begins at byte ", entry->begin, ", expected ", next,
                       ", where the one before ends"));
    next = entry->end;
  }
  if (data.size() < next)
    return fail(join("truncated: the tensors need ", next, " bytes, got ", data.size()));
  if (data.size() > next)
    return fail(join("too long: the tensors need ", next, " bytes, got ", data.size()));
  for (Entry &entry : entries) {
    entry.tensor.bytes = data.subspan(static_cast<size_t>(entry.begin), static_cast<size_t>(entry.end - entry.begin));
    result.tensors.push_back(std::move(entry.tensor));
  }
  return true;
}

} // namespace vx

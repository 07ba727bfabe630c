#include "vx/base/npy_header.h"

#include <charconv>
#include <cstring>
#include <string_view>

namespace vx {

namespace {

constexpr char Magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

// The dictionary. After an error nothing more is read; the first one is kept.
class Parser {
public:
  Parser(std::string_view text, std::string &error) : text(text), error(error) {}

  bool parse(NpyHeader &header) {
    bool hasType = false, hasShape = false, hasOrder = false;
    expect('{');
    while (isGood() && peek() != '}') {
      const std::string key = string();
      expect(':');
      if (!isGood())
        break;
      if (key == "descr") {
        type(header, string());
        hasType = true;
      } else if (key == "fortran_order") {
        header.fortranOrder = boolean();
        hasOrder = true;
      } else if (key == "shape") {
        shape(header);
        hasShape = true;
      } else {
        fail(".npy header: expected 'descr', 'fortran_order' and 'shape', got '" + key + "'");
      }
      if (peek() == ',')
        ++at;
    }
    if (isGood() && !(hasType && hasOrder && hasShape))
      fail(".npy header: expected 'descr', 'fortran_order' and 'shape', got '" + std::string(text) + "'");
    return isGood();
  }

private:
  bool isGood() const { return error.empty(); }
  void fail(std::string reason) {
    if (isGood())
      error = std::move(reason);
    at = text.size();
  }
  void failAt(const std::string &wanted, size_t shown) {
    fail(".npy header: expected " + wanted + " at character " + std::to_string(at) + ", got '" +
         std::string(text.substr(at, shown)) + "'");
  }
  char peek() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  void expect(char wanted) {
    if (peek() != wanted)
      return failAt(std::string("'") + wanted + "'", 8);
    ++at;
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      failAt("a string", 16);
      return {};
    }
    const size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos) {
      fail(".npy header has a string without end at character " + std::to_string(at));
      return {};
    }
    std::string value(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return value;
  }
  bool boolean() {
    peek();
    for (bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text.substr(at, word.size()) == word) {
        at += word.size();
        return value;
      }
    }
    failAt("True or False", 8);
    return false;
  }
  void shape(NpyHeader &header) {
    expect('(');
    while (isGood() && peek() != ')') {
      int64_t dim = 0;
      const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), dim);
      if (problem != std::errc() || dim < 0)
        return failAt("a size", 24);
      at = static_cast<size_t>(end - text.data());
      header.dims.push_back(dim);
      if (peek() == ',')
        ++at;
    }
    if (isGood())
      ++at;
  }
  void type(NpyHeader &header, const std::string &name) {
    if (!isGood())
      return;
    const char *digits = name.data() + 2;
    if (name.size() < 3 || !std::strchr("<>|=", name[0]) ||
        std::from_chars(digits, name.data() + name.size(), header.itemSize).ptr != name.data() + name.size())
      return fail(".npy element type '" + name + "' is not supported");
    header.order = name[0];
    header.kind = name[1];
  }

  const std::string_view text;
  std::string &error;
  size_t at = 0;
};

} // namespace

bool parseNpyHeader(std::span<const uint8_t> bytes, NpyHeader &header, std::string &error) {
  header = {};
  error.clear();
  if (bytes.size() < 10 || std::memcmp(bytes.data(), Magic, sizeof(Magic)) != 0) {
    error = "not an .npy file";
    return false;
  }
  const int major = bytes[6];
  if (major < 1 || major > 3) {
    error = ".npy version " + std::to_string(major) + " is not supported, expected 1, 2 or 3";
    return false;
  }
  const size_t lengthBytes = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + lengthBytes) {
    error = "truncated .npy header";
    return false;
  }
  size_t size = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    size |= size_t(bytes[8 + i]) << (8 * i);
  const size_t begin = 8 + lengthBytes;
  if (size > bytes.size() - begin) {
    error = "truncated .npy header: expected " + std::to_string(size) + " bytes, got " +
            std::to_string(bytes.size() - begin);
    return false;
  }
  header.dataOffset = begin + size;
  return Parser({reinterpret_cast<const char *>(bytes.data()) + begin, size}, error).parse(header);
}

} // namespace vx

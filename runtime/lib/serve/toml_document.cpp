#include "toml_document.h"

#include "vx/base/printable.h"
#include "vx/base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

// The parser stands here and nowhere else. Some of what it asserts of its input is not so ("[}"): its checks behind
// find that, as long as the compiler does not rely on it, which it does for an assertion where NDEBUG is defined.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace vx::serve {
namespace {

TomlPosition positionOf(const toml::source_region &region) { return {region.begin.line, region.begin.column}; }

TomlValue convert(const toml::node &node) {
  TomlValue value;
  value.at = positionOf(node.source());
  switch (node.type()) {
  case toml::node_type::table:
    value.kind = TomlValue::Kind::table;
    for (const auto &[key, inner] : *node.as_table())
      value.entries.push_back({std::string(key.str()), positionOf(key.source()), convert(inner)});
    // The parser keeps them by name.
    std::sort(value.entries.begin(), value.entries.end(), [](const TomlEntry &a, const TomlEntry &b) {
      return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
    });
    break;
  case toml::node_type::array:
    value.kind = TomlValue::Kind::array;
    for (const toml::node &inner : *node.as_array())
      value.elements.push_back(convert(inner));
    break;
  case toml::node_type::string:
    value.kind = TomlValue::Kind::string;
    value.text = node.as_string()->get();
    break;
  case toml::node_type::integer:
    value.kind = TomlValue::Kind::integer;
    value.integer = node.as_integer()->get();
    break;
  case toml::node_type::floating_point:
    value.kind = TomlValue::Kind::real;
    value.real = node.as_floating_point()->get();
    break;
  case toml::node_type::boolean:
    value.kind = TomlValue::Kind::boolean;
    value.boolean = node.as_boolean()->get();
    break;
  default:
    value.kind = TomlValue::Kind::date;
    break;
  }
  return value;
}

// The first character that is no ASCII and stands outside of strings and comments, where TOML has none. Version 3.3 of
// the parser has undefined behaviour for some of them. Where a string does not end, the parser stops, and so does this.
std::optional<TomlPosition> findForeign(std::string_view text) {
  size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; // a mark of the order of bytes
  const auto skipString = [&] {
    const char quote = text[at];
    const std::string triple(3, quote);
    const bool hasLines = text.substr(at, 3) == triple;
    for (at += hasLines ? 3 : 1; at < text.size(); ++at) {
      if (quote == '"' && text[at] == '\\')
        ++at;
      else if (!hasLines && text[at] == '\n')
        return false;
      else if (!hasLines && text[at] == quote)
        return true;
      else if (hasLines && text.substr(at, 3) == triple) {
        // Two more quotes may be the string's last ones.
        at += 2;
        for (int more = 0; more < 2 && at + 1 < text.size() && text[at + 1] == quote; ++more)
          ++at;
        return true;
      }
    }
    return false;
  };
  for (; at < text.size(); ++at) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (text[at] == '"' || text[at] == '\'') {
      if (!skipString())
        return std::nullopt;
    } else if (static_cast<unsigned char>(text[at]) >= 0x80) {
      const size_t line = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
      const std::string_view before = text.substr(0, at),
                             inLine = before.substr(line == std::string_view::npos ? 0 : line + 1);
      const auto isCounted = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
      return TomlPosition{static_cast<uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
                          static_cast<uint32_t>(1 + std::count_if(inLine.begin(), inLine.end(), isCounted))};
    }
  }
  return std::nullopt;
}

// Where line `number`, from 1 on, begins and ends; its line feed is not of it.
std::pair<size_t, size_t> lineOf(std::string_view text, uint32_t number) {
  size_t begin = 0;
  for (uint32_t line = 1; line < number && begin != std::string_view::npos; ++line)
    if (begin = text.find('\n', begin); begin != std::string_view::npos)
      ++begin;
  if (begin == std::string_view::npos)
    return {text.size(), text.size()};
  return {begin, std::min(text.find('\n', begin), text.size())};
}

// Makes the line empty, so that the rest can be read. False where that would change what the rest means: where it is a
// table's header, or there is nothing in it to take.
bool clearLine(std::string &text, uint32_t number) {
  const auto [begin, end] = lineOf(text, number);
  const size_t first = text.find_first_not_of(" \t\r", begin);
  if (first == std::string::npos || first >= end || text[first] == '[')
    return false;
  std::fill(text.begin() + static_cast<ptrdiff_t>(begin), text.begin() + static_cast<ptrdiff_t>(end), ' ');
  return true;
}

} // namespace

std::string TomlValue::describe() const {
  switch (kind) {
  case Kind::table:
    return "a table";
  case Kind::array:
    return "a list";
  case Kind::string:
    return "'" + text + "'";
  case Kind::integer:
    return std::to_string(integer);
  case Kind::real:
    return fmt::format("{}", real);
  case Kind::boolean:
    return boolean ? "true" : "false";
  case Kind::date:
    break;
  }
  return "a date or time";
}

const TomlValue *TomlValue::find(std::string_view key) const {
  for (const TomlEntry &entry : entries)
    if (entry.key == key)
      return &entry.value;
  return nullptr;
}

TomlDocument readToml(std::string_view given) {
  static constexpr size_t mostErrors = 20;
  TomlDocument document;
  std::string text(given);
  // An open bracket or quote makes mistakes of the lines behind it, which are none: only the first of such a run is
  // told.
  const auto add = [&](size_t first, TomlPosition at, std::string error) {
    std::vector<TomlError> &errors = document.errors;
    if (errors.size() - first >= mostErrors || (errors.size() > first && at.line <= errors.back().at.line + 1))
      return false;
    errors.push_back({at, std::move(error)});
    return clearLine(text, at.line);
  };
  while (const std::optional<TomlPosition> at = findForeign(text))
    if (!add(0, *at, "want characters of ASCII outside of strings and comments")) {
      document.isReadable = false;
      return document;
    }
  const size_t first = document.errors.size();
  while (true) {
    const toml::parse_result result = toml::parse(std::string_view(text));
    if (result) {
      document.root = convert(result.table());
      return document;
    }
    // A line that is gone may have held the quote that ended a string, and what stood in it then is no longer inside.
    if (!add(first, positionOf(result.error().source()), printableLine(result.error().description())) ||
        findForeign(text)) {
      document.isReadable = false;
      return document;
    }
  }
}

std::string quoteToml(std::string_view text) {
  std::string quoted = "\"";
  for (size_t at = 0; at < text.size();) {
    const Character character = decodeUtf8(text.substr(at));
    if (character.size == 0) { // no text; TOML has no word for it
      quoted += "\\uFFFD";
      ++at;
      continue;
    }
    if (character.code == '"' || character.code == '\\')
      quoted += fmt::format("\\{}", static_cast<char>(character.code));
    else if (character.code < 0x20 || (character.code >= 0x7f && character.code < 0xa0))
      quoted += fmt::format("\\u{:04X}", character.code);
    else
      quoted += text.substr(at, character.size);
    at += character.size;
  }
  return quoted + "\"";
}

} // namespace vx::serve

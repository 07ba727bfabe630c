#include "text/json_node.h"

#include "vx/base/json_place.h"
#include "vx/base/names.h"
#include "vx/base/printable.h"

#include <algorithm>

namespace vx::text {

namespace {

constexpr int deepest = 64;

[[noreturn]] void failAt(std::string_view text, size_t offset, const std::string &message) {
  throw Error(Error::Kind::file, "tokenizer.json:" + textPlaceAt(text, offset).text() + ": " + printableLine(message));
}

// The JSON pointer from `from` to `to`, one of the values in it. False where it is not.
bool findPointer(const nlohmann::json &from, const nlohmann::json *to, std::string &pointer) {
  if (&from == to)
    return true;
  const size_t size = pointer.size();
  const auto isIn = [&](const nlohmann::json &value, const std::string &step) {
    pointer += step;
    const bool found = findPointer(value, to, pointer);
    if (!found)
      pointer.resize(size);
    return found;
  };
  if (from.is_object())
    return std::any_of(from.items().begin(), from.items().end(),
                       [&](const auto &item) { return isIn(item.value(), jsonPointerStep(item.key())); });
  for (size_t i = 0; from.is_array() && i < from.size(); ++i)
    if (isIn(from[i], jsonPointerStep(i)))
      return true;
  return false;
}

} // namespace

JsonDocument::JsonDocument(std::string_view text) : text(text) {
  // The parser itself does not call itself, but what reads components does.
  int depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (isString) {
      i += text[i] == '\\';
      isString = i >= text.size() || text[i] != '"';
    } else if (text[i] == '"') {
      isString = true;
    } else if (text[i] == '[' || text[i] == '{') {
      if (++depth > deepest)
        failAt(text, i, "expected values in at most " + std::to_string(deepest) + " others, got more");
    } else if (text[i] == ']' || text[i] == '}') {
      --depth;
    }
  }
  try {
    root = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception &error) {
    const auto *syntax = dynamic_cast<const nlohmann::json::parse_error *>(&error);
    const JsonMistake mistake = findJsonMistake(text, error.what(), syntax ? syntax->byte : 0);
    failAt(text, mistake.offset, "expected JSON: " + mistake.reason);
  }
}

std::string JsonNode::pointer() const {
  std::string pointer;
  findPointer(document->root, value, pointer);
  return pointer;
}

void JsonNode::fail(const std::string &what) const {
  failAt(document->text, findJsonValue(document->text, pointer()), (path.empty() ? "" : path + ": ") + what);
}

void JsonNode::failWithout(const char *name) const {
  const std::string message = (path.empty() ? "" : path + ": ") + "expected the key '" + name + "'";
  for (const auto &[key, member] : value->items())
    if (!nearNames(key, {name}).empty())
      failAt(document->text, findJsonKey(document->text, pointer() + jsonPointerStep(key)),
             message + ", got '" + key + "'");
  fail("expected the key '" + std::string(name) + "'");
}

void JsonNode::want(const char *what) const {
  std::string got = value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (got.size() > 60)
    got = got.substr(0, 57) + "...";
  fail(std::string("expected ") + what + ", got " + got);
}

bool JsonNode::has(const char *name) const {
  if (!value->is_object())
    want("an object");
  const auto found = value->find(name);
  return found != value->end() && !found->is_null();
}

JsonNode JsonNode::operator[](const char *name) const {
  if (!value->is_object())
    want("an object");
  const auto found = value->find(name);
  if (found == value->end())
    failWithout(name);
  return {document, *found, path.empty() ? name : path + "." + name};
}

JsonNode JsonNode::at(size_t index) const {
  if (!value->is_array() || index >= value->size())
    want(("a list of more than " + std::to_string(index)).c_str());
  return {document, (*value)[index], path + "[" + std::to_string(index) + "]"};
}

const JsonNode &JsonNode::wantArray() const {
  if (!isArray())
    want("a list");
  return *this;
}
const JsonNode &JsonNode::wantObject() const {
  if (!isObject())
    want("an object");
  return *this;
}

const std::string &JsonNode::string() const {
  if (!value->is_string())
    want("a string");
  return value->get_ref<const std::string &>();
}

bool JsonNode::boolean() const {
  if (!value->is_boolean())
    want("true or false");
  return value->get<bool>();
}

int64_t JsonNode::integer(int64_t least, int64_t most) const {
  const bool isWhole = value->is_number_integer() &&
                       (!value->is_number_unsigned() || value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
  if (!isWhole || value->get<int64_t>() < least || value->get<int64_t>() > most)
    want(("a whole number from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
  return value->get<int64_t>();
}

double JsonNode::number() const {
  if (!value->is_number())
    want("a number");
  return value->get<double>();
}

} // namespace vx::text

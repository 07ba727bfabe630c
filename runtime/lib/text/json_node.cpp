#include "text/json_node.h"

#include "vx/base/printable.h"

namespace vx::text {

namespace {
constexpr int deepest = 64;
} // namespace

nlohmann::json parseJson(std::string_view text) {
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
        throw Error(Error::Kind::file, "tokenizer.json nests at most " + std::to_string(deepest) +
                                           " deep, got more at byte " + std::to_string(i));
    } else if (text[i] == ']' || text[i] == '}') {
      --depth;
    }
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception &error) {
    throw Error(Error::Kind::file, "tokenizer.json is no JSON: " + printableLine(error.what()));
  }
}

void JsonNode::fail(const std::string &what) const {
  throw Error(Error::Kind::file, "tokenizer.json: " + printableLine(path + ": " + what));
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
    fail(std::string("has no '") + name + "'");
  return {*found, path.empty() ? name : path + "." + name};
}

JsonNode JsonNode::at(size_t index) const {
  if (!value->is_array() || index >= value->size())
    want(("a list of more than " + std::to_string(index)).c_str());
  return {(*value)[index], path + "[" + std::to_string(index) + "]"};
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

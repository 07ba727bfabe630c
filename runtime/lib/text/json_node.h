// Reading of JSON whose shape is not known to be right: each access says what it wants, and where it was.
#ifndef VX_TEXT_JSON_NODE_H
#define VX_TEXT_JSON_NODE_H

#include "vx/text/tokenizer.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace vx::text {

// A text that stays in place, and its values.
struct JsonDocument {
  // Throws Error::file for what is no JSON, or nests too deep.
  explicit JsonDocument(std::string_view text);

  std::string_view text;
  nlohmann::json root;
};

// A value of a document, which outlives the node.
class JsonNode {
public:
  explicit JsonNode(const JsonDocument &document) : document(&document), value(&document.root) {}

  bool isNull() const { return value->is_null(); }
  bool isString() const { return value->is_string(); }
  bool isArray() const { return value->is_array(); }
  bool isObject() const { return value->is_object(); }
  size_t size() const { return value->size(); }
  const nlohmann::json &raw() const { return *value; }

  // Whether an object has it and it is not null.
  bool has(const char *name) const;
  JsonNode operator[](const char *name) const; // throws where it is not there
  JsonNode at(size_t index) const;

  const std::string &string() const;
  bool boolean() const;
  int64_t integer(int64_t least, int64_t most) const;
  double number() const;

  std::string string(const char *name, std::string otherwise) const {
    return has(name) ? (*this)[name].string() : otherwise;
  }
  bool boolean(const char *name, bool otherwise) const { return has(name) ? (*this)[name].boolean() : otherwise; }
  std::string type() const { return (*this)["type"].string(); }

  const JsonNode &wantArray() const;
  const JsonNode &wantObject() const;
  [[noreturn]] void fail(const std::string &what) const;

private:
  JsonNode(const JsonDocument *document, const nlohmann::json &value, std::string path)
      : document(document), value(&value), path(std::move(path)) {}
  [[noreturn]] void want(const char *what) const;
  [[noreturn]] void failWithout(const char *name) const; // of an object
  std::string pointer() const;                           // a JSON pointer from the root
  const JsonDocument *document;
  const nlohmann::json *value;
  std::string path; // "model.vocab"
};

} // namespace vx::text

#endif

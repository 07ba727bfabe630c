#include "json_request.h"

#include <algorithm>
#include <vector>

namespace vx::serve {
namespace {

using Json = nlohmann::json;

// Makes the document of what the reader meets, and stops it at a limit.
class LimitedBuilder final : public nlohmann::json_sax<Json> {
public:
  explicit LimitedBuilder(const JsonLimits &limits) : limits(limits) {}
  Json take() { return std::move(root); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override { return add(value); }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return false; } // JSON has none
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &name) override {
    if (stack.back()->contains(name))
      throw serviceError(ErrorCode::invalid_json, "the body has the key '{}' twice in one object", name);
    count();
    pending = &(*stack.back())[name];
    return true;
  }
  bool parse_error(std::size_t position, const std::string &, const Json::exception &error) override {
    const std::string_view what = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: REASON"
    const size_t colon = what.find(": ", what.find("column"));
    throw serviceError(ErrorCode::invalid_json, "the body is no JSON at offset {}: {}", position,
                       colon == std::string_view::npos ? what : what.substr(colon + 2));
  }

private:
  void count() {
    if (++values > limits.values)
      throw serviceError(ErrorCode::invalid_json, "the body may have {} values, got more", limits.values)
          .expected(fmt::format("at most {} values", limits.values), "more");
  }
  Json *place(Json &&value) {
    count();
    Json *where = &root;
    if (pending) {
      where = std::exchange(pending, nullptr);
      *where = std::move(value);
    } else if (!stack.empty()) {
      stack.back()->push_back(std::move(value));
      where = &stack.back()->back();
    } else {
      root = std::move(value);
    }
    return where;
  }
  bool add(Json &&value) {
    place(std::move(value));
    return true;
  }
  bool open(Json &&value) {
    if (stack.size() == limits.depth)
      throw serviceError(ErrorCode::invalid_json, "the body may nest {} lists and objects, got more", limits.depth)
          .expected(fmt::format("at most {} lists and objects", limits.depth), "more");
    // A list that grows moves its elements, but none that is on the stack: those are the last ones.
    stack.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack.pop_back();
    return true;
  }

  const JsonLimits limits;
  size_t values = 0;
  Json root;
  std::vector<Json *> stack;
  Json *pending = nullptr; // the value of the key that came last
};

ServiceError kindError(std::string_view where, std::string_view name, std::string_view want, const Json &got) {
  const std::string path = memberPath(where, name);
  return serviceError(ErrorCode::invalid_value, "'{}': expected {}, got {}", path, want, jsonKind(got))
      .about(path)
      .expected(want, jsonKind(got));
}

} // namespace

Json parseJson(std::string_view text, const JsonLimits &limits) {
  LimitedBuilder builder(limits);
  Json::sax_parse(text, &builder);
  return builder.take();
}

std::string_view jsonKind(const Json &value) {
  switch (value.type()) {
  case Json::value_t::null:
    return "null";
  case Json::value_t::object:
    return "an object";
  case Json::value_t::array:
    return "a list";
  case Json::value_t::string:
    return "a string";
  case Json::value_t::boolean:
    return "a boolean";
  case Json::value_t::number_integer:
  case Json::value_t::number_unsigned:
  case Json::value_t::number_float:
    return "a number";
  default:
    return "nothing";
  }
}

const Json *findMember(const Json &object, const char *name) {
  const auto place = object.find(name);
  return place == object.end() || place->is_null() ? nullptr : &*place;
}

std::string memberPath(std::string_view where, std::string_view name) {
  return where.empty() ? std::string(name) : fmt::format("{}.{}", where, name);
}

std::string stringMember(const Json &object, const char *name, std::string_view where) {
  const Json *member = findMember(object, name);
  if (!member)
    throw serviceError(ErrorCode::invalid_value, "'{}' is missing", memberPath(where, name))
        .about(memberPath(where, name))
        .expected("a string", "none");
  if (!member->is_string())
    throw kindError(where, name, "a string", *member);
  return member->get<std::string>();
}

bool boolMember(const Json &object, const char *name, bool standard, std::string_view where) {
  const Json *member = findMember(object, name);
  if (member && !member->is_boolean())
    throw kindError(where, name, "true or false", *member);
  return member ? member->get<bool>() : standard;
}

uint64_t sizeMember(const Json &object, const char *name, uint64_t least, uint64_t most, uint64_t standard) {
  const Json *member = findMember(object, name);
  if (!member)
    return standard;
  if (!member->is_number_unsigned() || member->get<uint64_t>() < least || member->get<uint64_t>() > most)
    throw serviceError(ErrorCode::invalid_value, "'{}': expected {} to {}, got {}", name, least, most,
                       member->is_number() ? member->dump() : std::string(jsonKind(*member)))
        .about(name)
        .expected(fmt::format("{} to {}", least, most),
                  member->is_number() ? member->dump() : std::string(jsonKind(*member)));
  return member->get<uint64_t>();
}

void checkMembers(const Json &object, std::initializer_list<std::string_view> known, std::string_view where) {
  for (const auto &[name, value] : object.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw serviceError(ErrorCode::invalid_value, "unknown field '{}', known are '{}'", memberPath(where, name),
                         fmt::join(known, "', '"))
          .about(memberPath(where, name))
          .expected(fmt::format("{}", fmt::join(known, ", ")), name);
}

} // namespace vx::serve

// Bodies of JSON from clients that are not trusted.
#ifndef VX_SERVE_JSON_REQUEST_H
#define VX_SERVE_JSON_REQUEST_H

#include "service_error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace vx::serve {

struct JsonLimits {
  size_t depth = 64;
  size_t values = 1 << 20; // numbers, strings and all else, keys included
};

// The document. Throws ErrorCode::invalid_json, with the offset, for what is no JSON of UTF-8 (RFC 8259, so no NaN), an
// object that has a key twice, and what is above the limits, before it has taken memory for that.
nlohmann::json parseJson(std::string_view text, const JsonLimits &limits = {});

// "a list", "a string", "null", ...
std::string_view jsonKind(const nlohmann::json &value);

// The member of an object, or null where it is not there or is null.
const nlohmann::json *findMember(const nlohmann::json &object, const char *name);

// Members of an object, of the kind that is wanted. Throw ErrorCode::invalid_value that names `where`.`name`; `where`
// may be empty.
std::string stringMember(const nlohmann::json &object, const char *name, std::string_view where = {});
bool boolMember(const nlohmann::json &object, const char *name, bool standard, std::string_view where = {});
uint64_t sizeMember(const nlohmann::json &object, const char *name, uint64_t least, uint64_t most, uint64_t standard);

// Throws ErrorCode::invalid_value for a member that is none of `known`.
void checkMembers(const nlohmann::json &object, std::initializer_list<std::string_view> known,
                  std::string_view where = {});

// "a.b", or "b" where there is no a.
std::string memberPath(std::string_view where, std::string_view name);

} // namespace vx::serve

#endif

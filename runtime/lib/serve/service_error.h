// What a client is told when something fails: one table of codes for every path.
#ifndef VX_SERVE_SERVICE_ERROR_H
#define VX_SERVE_SERVICE_ERROR_H

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vx::serve {

enum class ErrorCode : uint8_t {
  bad_request, // no HTTP, or HTTP that two readers may take for different things
  invalid_json,
  invalid_value,
  context_length_exceeded,
  invalid_api_key,
  forbidden,
  not_found,
  model_not_found,
  method_not_allowed,
  request_timeout,
  conflict,
  cancelled,
  body_too_large,
  unsupported_media_type,
  rate_limited,
  queue_full,
  headers_too_large,
  client_gone, // told to nobody but the log
  internal,
  loading,
  draining,
  device_lost,
  deadline,
  out_of_memory
};

// As `error.code` spells it, "invalid_json".
std::string_view errorCodeName(ErrorCode code);
// The code of a spelling; `internal` for one that is not known.
ErrorCode parseErrorCode(std::string_view name);
// The status of HTTP.
unsigned httpStatus(ErrorCode code);
// As `error.type` has it, in the words of OpenAI's interface: its clients choose the class of their exception by the
// status and show this.
std::string_view errorType(ErrorCode code);

// Ends a request. `message` is one line for the client, with what was wanted and what came.
class ServiceError : public std::runtime_error {
public:
  ServiceError(ErrorCode code, const std::string &message) : std::runtime_error(message), code(code) {}

  // The field of the request that is wrong, "input[3]".
  ServiceError &&about(std::string field) && {
    param = std::move(field);
    return std::move(*this);
  }
  // When to come again, in whole seconds.
  ServiceError &&after(uint32_t seconds) && {
    retryAfter = seconds;
    return std::move(*this);
  }
  // A member of `error.details`: op, node, input, output, dim, expected, got, needed or available. The first one of a
  // key stays.
  using Detail = std::variant<uint64_t, std::string>;
  ServiceError &add(std::string_view key, Detail value);
  ServiceError &&with(std::string_view key, std::string_view value) && {
    return std::move(add(key, std::string(value)));
  }
  template <std::unsigned_integral Number>
  ServiceError &&with(std::string_view key, Number value) && {
    return std::move(add(key, uint64_t(value)));
  }
  template <typename Expected, typename Got>
  ServiceError &&expected(const Expected &wanted, const Got &given) && {
    return std::move(*this).with("expected", wanted).with("got", given);
  }
  // The members of a JSON object, as the runtime has it for a failure; none if it is no object.
  ServiceError &addAll(std::string_view json);

  ErrorCode code;
  std::string param;                                   // empty: none
  std::vector<std::pair<std::string, Detail>> details; // in the order in which they were added
  uint32_t retryAfter = 0;                             // 0: no Retry-After
};

// throw serviceError(ErrorCode::invalid_value, "expected a list, got {}", kind)
template <typename... Args>
ServiceError serviceError(ErrorCode code, fmt::format_string<Args...> format, Args &&...args) {
  return ServiceError(code, fmt::format(format, std::forward<Args>(args)...));
}

// {"error":{"message","type","param","code","details","request_id"}}
std::string errorBody(const ServiceError &error, std::string_view requestId);
// KServe's: {"error":MESSAGE}, and "details" where there are some.
std::string kserveErrorBody(const ServiceError &error);

} // namespace vx::serve

#endif

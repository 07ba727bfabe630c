#include "service_error.h"

#include "vx/base/json_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace vx::serve {
namespace {

struct Row {
  ErrorCode code;
  std::string_view name;
  unsigned status;
  std::string_view type;
};

constexpr std::string_view invalidRequest = "invalid_request_error";
constexpr std::string_view serverError = "server_error";
constexpr std::string_view tooMany = "rate_limit_error";

// In the order of ErrorCode.
constexpr std::array rows = {
    Row{ErrorCode::bad_request, "bad_request", 400, invalidRequest},
    Row{ErrorCode::invalid_json, "invalid_json", 400, invalidRequest},
    Row{ErrorCode::invalid_value, "invalid_value", 400, invalidRequest},
    Row{ErrorCode::context_length_exceeded, "context_length_exceeded", 400, invalidRequest},
    Row{ErrorCode::invalid_api_key, "invalid_api_key", 401, "authentication_error"},
    Row{ErrorCode::forbidden, "forbidden", 403, "permission_error"},
    Row{ErrorCode::not_found, "not_found", 404, invalidRequest},
    Row{ErrorCode::model_not_found, "model_not_found", 404, invalidRequest},
    Row{ErrorCode::method_not_allowed, "method_not_allowed", 405, invalidRequest},
    Row{ErrorCode::request_timeout, "request_timeout", 408, invalidRequest},
    Row{ErrorCode::conflict, "conflict", 409, invalidRequest},
    Row{ErrorCode::cancelled, "cancelled", 409, invalidRequest},
    Row{ErrorCode::body_too_large, "body_too_large", 413, invalidRequest},
    Row{ErrorCode::unsupported_media_type, "unsupported_media_type", 415, invalidRequest},
    Row{ErrorCode::rate_limited, "rate_limited", 429, tooMany},
    Row{ErrorCode::queue_full, "queue_full", 429, tooMany},
    Row{ErrorCode::headers_too_large, "headers_too_large", 431, invalidRequest},
    Row{ErrorCode::client_gone, "client_gone", 499, invalidRequest},
    Row{ErrorCode::internal, "internal", 500, serverError},
    Row{ErrorCode::loading, "loading", 503, serverError},
    Row{ErrorCode::draining, "draining", 503, serverError},
    Row{ErrorCode::device_lost, "device_lost", 503, serverError},
    Row{ErrorCode::deadline, "deadline", 504, serverError},
    Row{ErrorCode::out_of_memory, "out_of_memory", 507, serverError},
};

constexpr bool isInOrder() {
  for (size_t i = 0; i < rows.size(); ++i)
    if (static_cast<size_t>(rows[i].code) != i)
      return false;
  return rows.size() == static_cast<size_t>(ErrorCode::out_of_memory) + 1;
}
static_assert(isInOrder(), "one row for each code, in their order");

nlohmann::ordered_json detailsOf(const ServiceError &error) {
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
  for (const auto &[key, value] : error.details)
    std::visit([&details, &name = key](const auto &one) { details[name] = one; }, value);
  return details;
}

const Row &rowOf(ErrorCode code) { return rows.at(static_cast<size_t>(code)); }

} // namespace

std::string_view errorCodeName(ErrorCode code) { return rowOf(code).name; }
ErrorCode parseErrorCode(std::string_view name) {
  const auto place = std::find_if(rows.begin(), rows.end(), [&](const Row &row) { return row.name == name; });
  return place == rows.end() ? ErrorCode::internal : place->code;
}
unsigned httpStatus(ErrorCode code) { return rowOf(code).status; }
std::string_view errorType(ErrorCode code) { return rowOf(code).type; }

ServiceError &ServiceError::add(std::string_view key, Detail value) {
  if (std::none_of(details.begin(), details.end(), [&](const auto &one) { return one.first == key; }))
    details.emplace_back(key, std::move(value));
  return *this;
}

ServiceError &ServiceError::addAll(std::string_view json) {
  const auto document = nlohmann::ordered_json::parse(json, nullptr, false);
  if (document.is_object())
    for (const auto &[key, value] : document.items()) {
      if (value.is_number_unsigned())
        add(key, value.get<uint64_t>());
      else if (value.is_string())
        add(key, value.get<std::string>());
    }
  return *this;
}

std::string kserveErrorBody(const ServiceError &error) {
  nlohmann::ordered_json body = {{"error", error.what()}};
  if (!error.details.empty())
    body["details"] = detailsOf(error);
  return jsonText(body);
}

std::string errorBody(const ServiceError &error, std::string_view requestId) {
  const nlohmann::ordered_json param =
      error.param.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(error.param);
  const nlohmann::ordered_json body = {{"error",
                                        {{"message", error.what()},
                                         {"type", errorType(error.code)},
                                         {"param", param},
                                         {"code", errorCodeName(error.code)},
                                         {"details", detailsOf(error)},
                                         {"request_id", requestId}}}};
  // A message may quote bytes of the client's that are no text.
  return jsonText(body);
}

} // namespace vx::serve

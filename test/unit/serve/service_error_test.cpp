#include "service_error.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace {

using vx::serve::errorBody;
using vx::serve::ErrorCode;
using vx::serve::ServiceError;
using vx::serve::serviceError;

TEST(ServiceError, bodyHasOneShape) {
  const ServiceError error =
      serviceError(ErrorCode::invalid_value, "'dimensions': expected 1 to {}, got {}", 384, 0).about("dimensions");
  EXPECT_EQ(errorBody(error, "abc"),
            R"({"error":{"message":"'dimensions': expected 1 to 384, got 0","type":"invalid_request_error",)"
            R"("param":"dimensions","code":"invalid_value","details":{},"request_id":"abc"}})");
  EXPECT_EQ(errorBody(serviceError(ErrorCode::queue_full, "full").with("queue", 256u).after(1), ""),
            R"({"error":{"message":"full","type":"rate_limit_error","param":null,"code":"queue_full",)"
            R"("details":{"queue":256},"request_id":""}})");
}

// The bytes of a client come back as text, whatever they are.
TEST(ServiceError, bodyIsTextWhateverAMessageQuotes) {
  EXPECT_EQ(errorBody(ServiceError(ErrorCode::not_found, "no path '\xff\"\n'"), "1"),
            "{\"error\":{\"message\":\"no path '\xef\xbf\xbd\\\"\\n'\",\"type\":\"invalid_request_error\","
            "\"param\":null,\"code\":\"not_found\",\"details\":{},\"request_id\":\"1\"}}");
}

// The page has a row for each status, with each of its codes.
TEST(ServiceError, codesAreOnThePage) {
  std::ifstream file(VX_SOURCE_FOLDER "/docs/serving.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const size_t begin = page.find("| status | code |"), end = page.find("\n\n", begin);
  ASSERT_NE(end, std::string::npos);
  const std::string table = page.substr(begin, end - begin);
  for (int number = 0; number <= static_cast<int>(ErrorCode::out_of_memory); ++number) {
    const auto code = static_cast<ErrorCode>(number);
    if (code == ErrorCode::client_gone) // nobody is told
      continue;
    const size_t place = table.find("`" + std::string(errorCodeName(code)) + "`");
    ASSERT_NE(place, std::string::npos) << errorCodeName(code);
    const size_t line = table.rfind('\n', place);
    const std::string statuses = table.substr(line, table.find('|', line + 2) - line);
    EXPECT_NE(statuses.find(std::to_string(httpStatus(code))), std::string::npos) << errorCodeName(code);
  }
}

TEST(ServiceError, codesHaveTheirStatus) {
  EXPECT_EQ(vx::serve::httpStatus(ErrorCode::headers_too_large), 431u);
  EXPECT_EQ(vx::serve::httpStatus(ErrorCode::out_of_memory), 507u);
  EXPECT_EQ(vx::serve::errorCodeName(ErrorCode::device_lost), "device_lost");
  EXPECT_EQ(vx::serve::errorType(ErrorCode::forbidden), "permission_error");
}

} // namespace

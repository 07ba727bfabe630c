// Lines of the server's log, as text and as JSON.
#include "server_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace vx::serve;
using namespace std::chrono_literals;
using testing::MatchesRegex;

class ServerLogTest : public testing::Test {
protected:
  static void set(const std::string &format, const std::string &level = "info", bool logsAccess = true) {
    Configuration configuration;
    configuration.server.logFormat.value = format;
    configuration.server.log.value = level;
    configuration.server.accessLog.value = logsAccess;
    setLog(configuration);
  }
  void TearDown() override { set("text"); }
  template <typename Function>
  static std::string said(Function function) {
    testing::internal::CaptureStderr();
    function();
    flushLog();
    return testing::internal::GetCapturedStderr();
  }
  static std::string access(std::chrono::nanoseconds took, std::string_view path = "/v2") {
    return said([&] {
      logAccess({.address = "127.0.0.1",
                 .method = "GET",
                 .path = path,
                 .key = {},
                 .model = "m",
                 .id = "1f-1",
                 .status = 200,
                 .took = took});
    });
  }
};

TEST_F(ServerLogTest, requestsAsJson) {
  set("json");
  const nlohmann::json line = nlohmann::json::parse(access(12'345'678ns));
  EXPECT_THAT(line["time"].get<std::string>(), MatchesRegex("20..-..-..T..:..:..\\....Z"));
  nlohmann::json rest = line;
  rest.erase("time");
  EXPECT_EQ(rest, nlohmann::json::parse(R"({"level":"info","message":"request","address":"127.0.0.1","method":"GET",
      "path":"/v2","model":"m","request_id":"1f-1","status":200,"milliseconds":12.346})"));
  // Bytes that a client makes up stay inside of their text.
  const std::string odd = access(1ms, "/a\"b\\c\n\xff\x1b");
  EXPECT_EQ(std::count(odd.begin(), odd.end(), '\n'), 1);
  EXPECT_EQ(nlohmann::json::parse(odd)["path"], "/a\"b\\c\\u000a\\xff\\u001b");
}

TEST_F(ServerLogTest, requestsAsText) {
  set("text");
  EXPECT_THAT(access(12'345'678ns), MatchesRegex("20..-..-..T..:..:..\\....Z info 127.0.0.1 GET /v2 200 12.346 ms "
                                                 "model m 1f-1\n"));
  EXPECT_THAT(access(0ns, ""), MatchesRegex(".*Z info 127.0.0.1 GET - 200 0.000 ms model m 1f-1\n"));
  for (const auto &[took, text] : {std::pair<std::chrono::nanoseconds, const char *>(499ns, " 0.000 ms "),
                                   {501ns, " 0.001 ms "},
                                   {10us, " 0.010 ms "},
                                   {100us, " 0.100 ms "},
                                   {999'600ns, " 1.000 ms "},
                                   {3600s, " 3600000.000 ms "}})
    EXPECT_THAT(access(took), testing::HasSubstr(text));
}

TEST_F(ServerLogTest, levelsAndSwitches) {
  set("text", "warning");
  EXPECT_EQ(access(1ms), "");
  EXPECT_EQ(said([] { logLine("info", "a"); }), "");
  EXPECT_THAT(said([] { logLine("error", "a\nb"); }), MatchesRegex("20.*Z error a\\\\u000ab\n"));
  set("text", "info", false);
  EXPECT_EQ(access(1ms), "");
  EXPECT_THAT(said([] { logLine("info", "a"); }), MatchesRegex("20.*Z info a\n"));
  set("json", "debug");
  nlohmann::json line = nlohmann::json::parse(said([] { logLine("debug", "a \"b\""); }));
  line.erase("time");
  EXPECT_EQ(line, nlohmann::json::parse(R"({"level":"debug","message":"a \"b\""})"));
}

} // namespace

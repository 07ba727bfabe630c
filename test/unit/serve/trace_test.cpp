#include "http_url.h"
#include "trace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace vx::serve {
namespace {

const std::string traceId = "4bf92f3577b34da6a3ce929d0e0e4736", spanId = "00f067aa0ba902b7";

TEST(TraceTest, parents) {
  const std::optional<TraceParent> given = parseTraceParent("00-" + traceId + "-" + spanId + "-01");
  ASSERT_TRUE(given);
  EXPECT_EQ(given->trace, traceId);
  EXPECT_EQ(given->span, spanId);
  EXPECT_TRUE(given->isSampled);
  EXPECT_FALSE(parseTraceParent("00-" + traceId + "-" + spanId + "-02")->isSampled);
  EXPECT_TRUE(parseTraceParent("00-" + traceId + "-" + spanId + "-ff")->isSampled);
  // A later version may have more.
  EXPECT_TRUE(parseTraceParent("cc-" + traceId + "-" + spanId + "-01"));
  EXPECT_TRUE(parseTraceParent("cc-" + traceId + "-" + spanId + "-01-what-the-future-will-be-like"));
}

TEST(TraceTest, wrongParents) {
  const std::string good = "00-" + traceId + "-" + spanId + "-01";
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parseTraceParent(good.substr(0, size))) << size;
  for (size_t at = 0; at < good.size(); ++at)
    for (char other : {'G', 'A', ' ', '_', '\0'}) {
      std::string wrong = good;
      wrong[at] = other;
      EXPECT_FALSE(parseTraceParent(wrong)) << wrong;
    }
  for (const std::string &wrong :
       {good + "-", good + "-00", good + " ", "ff" + good.substr(2), "cc" + good.substr(2) + ".what",
        "00-" + std::string(32, '0') + "-" + spanId + "-01", "00-" + traceId + "-" + std::string(16, '0') + "-01"})
    EXPECT_FALSE(parseTraceParent(wrong)) << wrong;
}

TEST(TraceTest, requests) {
  const RequestTrace child(TraceParent{traceId, spanId, true}, "vendor=1");
  EXPECT_EQ(child.trace, traceId);
  EXPECT_EQ(child.parent, spanId);
  EXPECT_EQ(child.state, "vendor=1");
  EXPECT_EQ(child.header(), "00-" + traceId + "-" + child.span + "-01");
  EXPECT_FALSE(RequestTrace(TraceParent{traceId, spanId, false}, "").isSampled);
  std::set<std::string> traces, spans;
  size_t sampled = 0;
  for (int i = 0; i < 2000; ++i) {
    const RequestTrace own(std::nullopt, "of=nobody");
    EXPECT_TRUE(parseTraceParent(own.header())) << own.header();
    EXPECT_TRUE(own.parent.empty() && own.state.empty());
    traces.insert(own.trace);
    spans.insert(own.span);
    sampled += chooseForTrace(8);
    EXPECT_TRUE(own.isSampled && chooseForTrace(1));
  }
  EXPECT_EQ(traces.size(), 2000u);
  EXPECT_EQ(spans.size(), 2000u);
  EXPECT_NEAR(static_cast<double>(sampled), 250, 80); // more than five standard deviations
}

TEST(TraceTest, document) {
  const Span whole = {.trace = traceId,
                      .id = spanId,
                      .name = "a \"name\" \xff",
                      .kind = Span::Kind::server,
                      .began = 18446744073709551615u,
                      .ended = 2,
                      .attributes = {{"number", int64_t(-9007199254740993)}, {"text", "x"}},
                      .isError = true};
  const Span part = {.trace = traceId, .id = "1", .parent = spanId, .state = "a=b", .name = "part"};
  const auto body = nlohmann::json::parse(otlpJson({whole, part}, {{"service.name", "vx"}}));
  const nlohmann::json &resource = body["resourceSpans"][0];
  EXPECT_EQ(resource["resource"]["attributes"],
            nlohmann::json::parse(R"([{"key":"service.name","value":{"stringValue":"vx"}}])"));
  EXPECT_EQ(resource["scopeSpans"][0]["spans"][0], nlohmann::json::parse(R"({
      "traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","name":"a \"name\" \ufffd","kind":2,
      "startTimeUnixNano":"18446744073709551615","endTimeUnixNano":"2","status":{"code":2},
      "attributes":[{"key":"number","value":{"intValue":"-9007199254740993"}},{"key":"text","value":{"stringValue":"x"}}]})"));
  EXPECT_EQ(resource["scopeSpans"][0]["spans"][1], nlohmann::json::parse(R"({
      "traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"1","parentSpanId":"00f067aa0ba902b7","traceState":"a=b",
      "name":"part","kind":1,"startTimeUnixNano":"0","endTimeUnixNano":"0","attributes":[]})"));
}

TEST(HttpUrlTest, parts) {
  const auto text = [](std::string_view given) {
    const std::optional<HttpUrl> url = parseHttpUrl(given);
    return url ? url->text() + " " + url->host + " " + url->port + (url->isSecure ? " tls" : "") : "";
  };
  EXPECT_EQ(text("http://a"), "http://a/ a 80");
  EXPECT_EQ(text("https://a.b/c?d=e"), "https://a.b/c?d=e a.b 443 tls");
  EXPECT_EQ(text("http://127.0.0.1:4318/v1/traces"), "http://127.0.0.1:4318/v1/traces 127.0.0.1 4318");
  EXPECT_EQ(text("https://[::1]:65535"), "https://[::1]:65535/ ::1 65535 tls");
  EXPECT_EQ(text("http://[::1]"), "http://[::1]/ ::1 80");
  EXPECT_EQ(text("http://a?b"), "http://a/?b a 80");
  for (std::string_view wrong : {"",
                                 "a",
                                 "ftp://a",
                                 "http://",
                                 "http:///a",
                                 "http://a:",
                                 "http://a:0",
                                 "http://a:65536",
                                 "http://a:1x",
                                 "http://a:-1",
                                 "http://u:p@a",
                                 "http://u@a",
                                 "http://[::1",
                                 "http://[::1]x",
                                 "http://[]",
                                 "http://a b",
                                 "http://a/\x80",
                                 "http://a/#b",
                                 "http://a\r\nHost: b",
                                 "HTTP://a"})
    EXPECT_EQ(text(wrong), "") << wrong;
}

} // namespace
} // namespace vx::serve

#include "json_request.h"

#include <gtest/gtest.h>

namespace {

using vx::serve::ErrorCode;
using vx::serve::parseJson;
using vx::serve::ServiceError;

template <typename Function>
std::string failureOf(Function function, ErrorCode code = ErrorCode::invalid_json) {
  try {
    function();
  } catch (const ServiceError &error) {
    EXPECT_EQ(error.code, code);
    return error.what();
  }
  return "";
}

TEST(JsonRequest, readsWhatIsJson) {
  const nlohmann::json document = parseJson(R"( {"a": [1, -2, 2.5, "\u00e9", null, true, {"b": []}], "c": {}} )");
  EXPECT_EQ(document.dump(), R"({"a":[1,-2,2.5,"é",null,true,{"b":[]}],"c":{}})");
}

TEST(JsonRequest, refusesWhatIsNone) {
  const auto failure = [](std::string_view text) { return failureOf([&] { (void)parseJson(text); }); };
  EXPECT_EQ(failure(""), "the body is no JSON at offset 1: syntax error while parsing value - unexpected end of input; "
                         "expected '[', '{', or a literal");
  EXPECT_EQ(
      failure("{\"a\": nul}"),
      "the body is no JSON at offset 10: syntax error while parsing value - invalid literal; last read: '\"a\": nul}'");
  EXPECT_EQ(failure("{\"a\":1,\"a\":2}"), "the body has the key 'a' twice in one object");
  for (const char *text : {"[1,]", "{} {}", "NaN", "[Infinity]", "'a'", "[01]", "{a:1}", "\"\xff\"", "\"\xed\xa0\x80\"",
                           "\"\\ud800\"", "[1e999]", "// x\n1", "\"a\nb\""})
    EXPECT_NE(failure(text), "") << text;
}

TEST(JsonRequest, hasLimits) {
  const std::string deep(64, '['), end(64, ']');
  EXPECT_EQ(failureOf([&] { (void)parseJson(deep + end); }), "");
  EXPECT_EQ(failureOf([&] { (void)parseJson("[" + deep + end + "]"); }),
            "the body may nest 64 lists and objects, got more");
  EXPECT_EQ(failureOf([&] { (void)parseJson(std::string(1 << 20, '[')); }),
            "the body may nest 64 lists and objects, got more");
  EXPECT_EQ(failureOf([&] { (void)parseJson("[1,2,3]", {.values = 4}); }), "");
  EXPECT_EQ(failureOf([&] { (void)parseJson("[1,2,3,4]", {.values = 4}); }), "the body may have 4 values, got more");
}

TEST(JsonRequest, membersHaveAKind) {
  using namespace vx::serve;
  const nlohmann::json object = parseJson(R"({"text": "t", "flag": 1, "size": 5, "below": -1, "none": null})");
  const auto failure = [](auto function) { return failureOf(function, ErrorCode::invalid_value); };
  EXPECT_EQ(stringMember(object, "text"), "t");
  EXPECT_EQ(failure([&] { stringMember(object, "model"); }), "'model' is missing");
  EXPECT_EQ(failure([&] { stringMember(object, "size", "inputs[0]"); }),
            "'inputs[0].size': expected a string, got a number");
  EXPECT_EQ(failure([&] { boolMember(object, "flag", true); }), "'flag': expected true or false, got a number");
  EXPECT_TRUE(boolMember(object, "none", true));
  EXPECT_EQ(sizeMember(object, "size", 1, 5, 2), 5u);
  EXPECT_EQ(sizeMember(object, "none", 1, 5, 2), 2u);
  EXPECT_EQ(failure([&] { sizeMember(object, "size", 1, 4, 2); }), "'size': expected 1 to 4, got 5");
  EXPECT_EQ(failure([&] { sizeMember(object, "below", 1, 4, 2); }), "'below': expected 1 to 4, got -1");
  EXPECT_EQ(failure([&] { sizeMember(object, "text", 1, 4, 2); }), "'text': expected 1 to 4, got a string");
  EXPECT_EQ(failure([&] { checkMembers(object, {"text", "flag", "size", "below"}); }),
            "unknown field 'none', known are 'text', 'flag', 'size', 'below'");
}

} // namespace

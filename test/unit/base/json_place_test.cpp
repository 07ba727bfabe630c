// Lines and columns in texts of JSON.
#include "vx/base/json_place.h"

#include <gtest/gtest.h>

namespace vx {
namespace {

constexpr std::string_view document = R"({
  "version": 1,
  "na\"me\u00e9\ud83d\ude00\/\n": {"a/b": [10, {"~": true}, "x]}"], "": -2.5e3},
  "twice": 1, "é": 2, "twice": [ [], [[1, 2], 3] ],
  "empty": {}
}
)";

std::string valueAt(std::string_view pointer) { return textPlaceAt(document, findJsonValue(document, pointer)).text(); }
std::string keyAt(std::string_view pointer) { return textPlaceAt(document, findJsonKey(document, pointer)).text(); }

TEST(JsonPlace, valuesAndKeys) {
  EXPECT_EQ(valueAt(""), "1:1");
  EXPECT_EQ(valueAt("/version"), "2:14");
  EXPECT_EQ(keyAt("/version"), "2:3");
  const std::string named = jsonPointerStep("na\"me\u00e9\U0001f600/\n");
  EXPECT_EQ(keyAt(named), "3:3");
  EXPECT_EQ(valueAt(named), "3:35");
  const std::string list = named + jsonPointerStep("a/b");
  EXPECT_EQ(valueAt(list), "3:43");
  EXPECT_EQ(valueAt(list + jsonPointerStep(0)), "3:44");
  EXPECT_EQ(valueAt(list + jsonPointerStep(1) + jsonPointerStep("~")), "3:54");
  EXPECT_EQ(keyAt(list + jsonPointerStep(1) + jsonPointerStep("~")), "3:49");
  EXPECT_EQ(valueAt(list + jsonPointerStep(2)), "3:61");
  EXPECT_EQ(keyAt(list + jsonPointerStep(2)), "3:61"); // an element has no key
  EXPECT_EQ(valueAt(named + "/"), "3:73");             // the key of no letters
  EXPECT_EQ(valueAt("/twice"), "4:32");                // the last one
  EXPECT_EQ(valueAt("/twice/0"), "4:34");
  EXPECT_EQ(valueAt("/twice/1/0/1"), "4:43");
  EXPECT_EQ(valueAt("/twice/1/1"), "4:47");
  EXPECT_EQ(valueAt("/é"), "4:20"); // columns count characters
  EXPECT_EQ(keyAt("/empty"), "5:3");
}

TEST(JsonPlace, whatIsNotThere) {
  EXPECT_EQ(valueAt("/empty/a"), "5:12");
  EXPECT_EQ(valueAt("/twice/2"), "4:32");
  EXPECT_EQ(valueAt("/twice/x"), "4:32");
  EXPECT_EQ(valueAt("/version/0"), "2:14");
  EXPECT_EQ(valueAt("/absent"), "1:1");
  EXPECT_EQ(findJsonValue("", "/a"), 0u);
  EXPECT_EQ(findJsonKey("  ", ""), 2u);
}

// A text that is cut short or is no JSON gives a place within it.
TEST(JsonPlace, anyText) {
  for (size_t size = 0; size <= document.size(); ++size)
    for (std::string_view pointer : {"/twice/1/0/1", "/empty/a", "/x", "/twice/9"})
      EXPECT_LE(findJsonKey(document.substr(0, size), pointer), size);
  for (std::string_view text :
       {"]]]]", "{]", "[}", "{\"a\"", "{\"a\":", "{\"a\\", "{\"\\u12", "[,,,", "{:", "\"", "[1 2"})
    for (std::string_view pointer : {"/a", "/0", "/1", "/a/0"})
      EXPECT_LE(findJsonValue(text, pointer), text.size()) << text;
}

TEST(JsonPlace, mistakesOfTheParser) {
  const auto of = [](std::string_view what, size_t byte) {
    const JsonMistake mistake = findJsonMistake("[1e9, 2e999]", what, byte);
    return std::to_string(mistake.offset) + " " + mistake.reason;
  };
  EXPECT_EQ(of("[json.exception.parse_error.101] parse error at line 1, column 3: no: more", 3), "2 no: more");
  EXPECT_EQ(of("[json.exception.parse_error.101] parse error", 99), "12 [json.exception.parse_error.101] parse error");
  EXPECT_EQ(of("[json.exception.out_of_range.406] number overflow parsing '2e999'", 0),
            "6 number overflow parsing '2e999'");
  EXPECT_EQ(of("[json.exception.out_of_range.406] number overflow parsing '3e999'", 0),
            "0 number overflow parsing '3e999'");
  EXPECT_EQ(of("it's", 0), "0 it's");
}

TEST(JsonPlace, placesOfBytes) {
  EXPECT_EQ(textPlaceAt("", 0).text(), "1:1");
  EXPECT_EQ(textPlaceAt("a\nb", 1).text(), "1:2");
  EXPECT_EQ(textPlaceAt("a\nb", 2).text(), "2:1");
  EXPECT_EQ(textPlaceAt("a\nb", 99).text(), "2:2");
  EXPECT_EQ(textPlaceAt("éé\n", 4).text(), "1:3");
}

} // namespace
} // namespace vx

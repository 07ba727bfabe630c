#include "vx/base/string_functions.h"
#include "vx/base/utf8.h"

#include <gtest/gtest.h>

#include <cmath>

namespace vx {

using Parts = std::vector<std::string_view>;

TEST(Utf8, wellFormed) {
  EXPECT_TRUE(isUtf8("a ä 漢 😀"));
  EXPECT_TRUE(isUtf8(std::string_view("\0", 1)));
  for (const char *text :
       {"\xff", "\x80", "\xc0\x80", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x28\xa1"})
    EXPECT_FALSE(isUtf8(text)) << text;
}

TEST(StringFunctions, caseOfEachCharacter) {
  EXPECT_EQ(toUpperCase("monday äßé жλ ǆ ÿ 漢1"), "MONDAY ÄßÉ ЖΛ Ǆ Ÿ 漢1");
  EXPECT_EQ(toLowerCase("MONDAY ÄẞÉ ЖΛ Ǆ İ Ω"), "monday äßé жλ ǆ i ω");
  EXPECT_EQ(toUpperCase("ꮿ𐑏"), "Ꮿ𐐧");
  EXPECT_EQ(toUpperCase(""), "");
}

TEST(StringFunctions, partsBetweenDelimiters) {
  EXPECT_EQ(splitText("a--b-c", "-", -1), (Parts{"a", "", "b", "c"}));
  EXPECT_EQ(splitText("a--b-c", "--", -1), (Parts{"a", "b-c"}));
  EXPECT_EQ(splitText("-a-", "-", -1), (Parts{"", "a", ""}));
  EXPECT_EQ(splitText("a-b-c", "-", 1), (Parts{"a", "b-c"}));
  EXPECT_EQ(splitText("a-b-c", "-", 0), (Parts{"a-b-c"}));
  EXPECT_EQ(splitText("", "-", -1), Parts{});
  EXPECT_EQ(splitText("", "-", 0), Parts{});
}

TEST(StringFunctions, partsBetweenWhiteSpace) {
  EXPECT_EQ(splitText(" \ta \n b\xe3\x80\x80 c ", "", -1), (Parts{"a", "b", "c"}));
  EXPECT_EQ(splitText("  a  b  c  ", "", 1), (Parts{"a", "b  c"}));
  EXPECT_EQ(splitText("  a b ", "", 0), (Parts{"a b"}));
  EXPECT_EQ(splitText("  ", "", -1), Parts());
  EXPECT_EQ(splitText("", "", -1), Parts());
}

TEST(StringFunctions, numbersThatAreSpelled) {
  EXPECT_EQ(parseFloat("314.15926"), 314.15926);
  EXPECT_EQ(parseFloat("1e-5"), 1e-5);
  EXPECT_EQ(parseFloat("+1E8"), 1e8);
  EXPECT_EQ(parseFloat("-.5"), -0.5);
  EXPECT_EQ(parseFloat("+INF"), HUGE_VAL);
  EXPECT_EQ(parseFloat("inf"), HUGE_VAL);
  EXPECT_EQ(parseFloat("-Inf"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(*parseFloat("nAn")));
  EXPECT_EQ(parseFloat("-1e999"), -HUGE_VAL);
  EXPECT_EQ(parseFloat("1e-999"), 0);
  EXPECT_EQ(parseFloat("0.5e400"), HUGE_VAL);
  EXPECT_EQ(parseFloat("500e-400"), 0);
  EXPECT_EQ(parseFloat("1e99999999999999999999"), HUGE_VAL);
  EXPECT_EQ(parseFloat(std::string(400, '9')), HUGE_VAL);
  EXPECT_EQ(parseFloat("." + std::string(400, '0') + "1"), 0);
  for (const char *text : {"", " 1", "1 ", "1,5", "0x10", "infinity", "nan(1)", "+-1", "++1", "e5", "Hello World!"})
    EXPECT_EQ(parseFloat(text), std::nullopt) << text;
}

TEST(StringFunctions, wholeNumbersThatAreSpelled) {
  EXPECT_EQ(parseInteger("9223372036854775807", false), INT64_MAX);
  EXPECT_EQ(parseInteger("-9223372036854775808", false), INT64_MIN);
  EXPECT_EQ(parseInteger("9223372036854775808", false), std::nullopt);
  EXPECT_EQ(parseInteger("18446744073709551615", true), -1);
  EXPECT_EQ(parseInteger("100.5", false), 100);
  EXPECT_EQ(parseInteger("-2.9", false), -2);
  EXPECT_EQ(parseInteger("1e3", false), 1000);
  for (const char *text : {"", "a", "nan", "inf", "1e30"})
    EXPECT_EQ(parseInteger(text, false), std::nullopt) << text;
}

TEST(StringFunctions, howNumbersAreSpelled) {
  EXPECT_EQ(formatFloat(314.15926), "314.15926");
  EXPECT_EQ(formatFloat(0.1f), "0.1");
  EXPECT_EQ(formatFloat(1e-7f), "0.0000001");
  EXPECT_EQ(formatFloat(-1.0), "-1");
  EXPECT_EQ(formatFloat(1e22), "10000000000000000000000");
  EXPECT_EQ(formatFloat(NAN), "NaN");
  EXPECT_EQ(formatFloat(HUGE_VAL), "INF");
  EXPECT_EQ(formatFloat(-HUGE_VALF), "-INF");
  EXPECT_EQ(parseFloat(formatFloat(5e-324)), 5e-324);
  EXPECT_EQ(parseFloat(formatFloat(1.7976931348623157e308)), 1.7976931348623157e308);
}

} // namespace vx

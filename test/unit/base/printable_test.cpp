#include "vx/base/printable.h"

#include <gtest/gtest.h>

namespace vx {

TEST(Printable, whatATerminalObeys) {
  EXPECT_EQ(printable("plain text, ä, 漢, 😀"), "plain text, ä, 漢, 😀");
  EXPECT_EQ(printable("a\x1b[31mb\x07\r\x7f"), "a\\u001b[31mb\\u0007\\u000d\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u009b2J"); // CSI in one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "txt"),
            "\\u202etxt"); // right to left
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
}

TEST(Printable, bytesThatAreNoText) {
  EXPECT_EQ(printable("a\xff\x9b"), "a\\xff\\x9b");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");          // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // a surrogate
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");          // cut off
}

TEST(Printable, lines) {
  EXPECT_EQ(printable("a\n\tb"), "a\n\tb");
  EXPECT_EQ(printableLine("a\n\tb"), "a\\u000a\\u0009b");
}

} // namespace vx

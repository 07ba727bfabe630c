#include "vx/base/base64.h"

#include <gtest/gtest.h>

namespace vx {
namespace {

std::string encode(std::string_view text) { return encodeBase64(std::as_bytes(std::span(text))); }

// The vectors of RFC 4648, section 10.
TEST(Base64, encodesTheVectorsOfTheStandard) {
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg==");
  EXPECT_EQ(encode("fo"), "Zm8=");
  EXPECT_EQ(encode("foo"), "Zm9v");
  EXPECT_EQ(encode("foob"), "Zm9vYg==");
  EXPECT_EQ(encode("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encode("foobar"), "Zm9vYmFy");
}

TEST(Base64, everyByteComesBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i)
    bytes += static_cast<char>(i);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::string part = bytes.substr(bytes.size() - size), text = encode(part);
    size_t end = 0;
    EXPECT_EQ(decodeBase64(text, end), part);
    EXPECT_EQ(end, std::min(text.find('='), text.size()));
  }
}

TEST(Base64, decodesUpToWhatIsNoDigit) {
  size_t end = 0;
  EXPECT_EQ(decodeBase64("Zm9v?mFy", end), "foo");
  EXPECT_EQ(end, 4u);
  EXPECT_EQ(decodeBase64("Z", end), "");
  EXPECT_EQ(end, 1u);
}

} // namespace
} // namespace vx

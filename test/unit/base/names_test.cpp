#include "vx/base/byte_count.h"
#include "vx/base/names.h"

#include <gtest/gtest.h>

namespace vx {

using Names = std::vector<std::string>;

TEST(Names, whatWasMeant) {
  const Names keys = {"host", "port", "threads", "timeout_s", "log"};
  EXPECT_EQ(nearNames("prot", keys), Names{"port"});
  EXPECT_EQ(nearNames("thread", keys), Names{"threads"});
  EXPECT_EQ(nearNames("PORT", keys), Names{"port"});
  EXPECT_EQ(nearNames("timeuot_s", keys), Names{"timeout_s"});
  EXPECT_EQ(nearNames("colour", keys), Names{});
  EXPECT_EQ(nearNames("x", keys), Names{});
  EXPECT_EQ(nearNames("x", {"y"}), Names{}); // one letter is all of it
  EXPECT_EQ(nearNames("", keys), Names{});
  EXPECT_EQ(nearNames(std::string(300, 'p'), {std::string(300, 'p')}), Names{});
  EXPECT_EQ(nearNames("ab1", {"ab4", "ab2", "ab3", "ab5", "ab2"}), (Names{"ab2", "ab3", "ab4"}));
  EXPECT_EQ(nearNames("ports", {"port", "posts", "pqqts"}), (Names{"port", "posts"})); // the others are further away
  EXPECT_EQ(didYouMean("prot", keys), ", did you mean 'port'");
  EXPECT_EQ(didYouMean("ab1", {"ab4", "ab2"}), ", did you mean 'ab2' or 'ab4'");
  EXPECT_EQ(didYouMean("colour", keys), "");
}

TEST(Names, lists) {
  EXPECT_EQ(joinWords({"a"}, "or"), "a");
  EXPECT_EQ(joinWords({"a", "b", "c"}, "or"), "a, b or c");
  EXPECT_EQ(quoteNames({"a", "b"}), "'a', 'b'");
  EXPECT_EQ(quoteNames({}), "none");
  EXPECT_EQ(firstNames({}), "");
  EXPECT_EQ(firstNames({"a", "b", "c"}, 2), "a, b, c"); // "1 more" takes no less room than a name
  EXPECT_EQ(firstNames({"a", "b", "c", "d"}, 2), "a, b and 2 more");
}

TEST(ByteCount, thereAndBack) {
  for (const auto &[text, bytes] : std::initializer_list<std::pair<const char *, uint64_t>>{
           {"0", 0}, {"4095", 4095}, {"512K", 512 << 10}, {"8MiB", 8 << 20}, {"2G", uint64_t(2) << 30}}) {
    EXPECT_EQ(parseByteCount(text), bytes) << text;
    EXPECT_EQ(parseByteCount(byteCountText(bytes)), bytes) << text;
  }
  EXPECT_EQ(byteCountText(8 << 20), "8MiB");
  EXPECT_EQ(byteCountText(1500), "1500");
  EXPECT_EQ(byteCountText(0), "0");
  EXPECT_EQ(roundedByteCount(1023), "1023 bytes");
  EXPECT_EQ(roundedByteCount(1234567), "1.2 MiB");
  EXPECT_EQ(roundedByteCount(UINT64_MAX), "16777216.0 TiB");
  for (const char *text : {"", "K", "iB", "8MB", "8 M", "-1", "1.5G", "18446744073709551616", "17179869184G", "MiB"})
    EXPECT_EQ(parseByteCount(text), std::nullopt) << text;
}

TEST(Names, targetsThatABuildLeavesOut) {
  EXPECT_EQ(leftOutTarget("cuda", {"cpu", "vulkan"}), "was built without the target 'cuda', it has: cpu, vulkan");
  EXPECT_EQ(leftOutTarget("vulkan", {"cpu"}), "was built without the target 'vulkan', it has: cpu");
  EXPECT_EQ(leftOutTarget("vulkan", {"cpu", "vulkan"}), "");
  EXPECT_EQ(leftOutTarget("metal", {"cpu"}), "");
  EXPECT_EQ(leftOutTarget("", {}), "");
  for (const std::string &target : allTargets())
    EXPECT_EQ(leftOutTarget(target, allTargets()), "");
}

} // namespace vx

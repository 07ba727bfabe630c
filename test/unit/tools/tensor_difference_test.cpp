#include "tensor_difference.h"

#include <gtest/gtest.h>

using namespace vx::tools;

TEST(TensorDifference, otherTypesAndSizesDoNotCompare) {
  const Tensor pair{VX_F32, {2}, std::vector<uint8_t>(8)}, triple{VX_F32, {3}, std::vector<uint8_t>(12)},
      integers{VX_I32, {2}, std::vector<uint8_t>(8)};
  EXPECT_EQ(compareTensors(pair, triple, {}).text(), "f32[2] and f32[3] do not compare");
  EXPECT_EQ(compareTensors(pair, integers, {}).text(), "f32[2] and i32[2] do not compare");
  EXPECT_TRUE(compareTensors(pair, pair, {}).isComparable);
}

TEST(TensorDifference, stringsAreEqualOrNot) {
  const Tensor first{VX_STRING, {2}, {}, {"a", "b"}}, second{VX_STRING, {2}, {}, {"a", "c"}};
  EXPECT_EQ(compareTensors(first, first, {}).differing, 0u);
  EXPECT_EQ(compareTensors(first, second, {}).text(),
            "string[2]: 1 of 2 elements differ, the most at [1]: \"b\" and \"c\", allowed is a difference of 0");
}

// Integers that are one double are still two numbers.
TEST(TensorDifference, wideIntegersAreExact) {
  Tensor first{VX_I64, {1}, std::vector<uint8_t>(8)}, second = first;
  first.bytes[6] = second.bytes[6] = 0x40; // 2^54
  second.bytes[0] = 1;
  EXPECT_EQ(compareTensors(first, second, {}).text(),
            "i64[1]: 1 of 1 elements differ, the most at [0]: 18014398509481984 and 18014398509481985, allowed is a "
            "difference of 0");
}

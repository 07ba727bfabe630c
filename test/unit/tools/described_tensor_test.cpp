#include "described_tensor.h"

#include <gtest/gtest.h>

using namespace vx::tools;

// They depend on the name and the seed, and on nothing else.
TEST(DescribedTensor, randomNumbers) {
  Tensor tensor{VX_F32, {2}, std::vector<uint8_t>(8)};
  fillRandom(tensor, "image", 0);
  const double first = elementAsDouble(tensor, 0);
  EXPECT_GE(first, -1);
  EXPECT_LT(first, 1);
  EXPECT_EQ(first * 0x1p23, static_cast<double>(static_cast<int64_t>(first * 0x1p23)));
  Tensor other = tensor;
  fillRandom(other, "image", 0);
  EXPECT_EQ(other.bytes, tensor.bytes);
  fillRandom(other, "image", 1);
  EXPECT_NE(other.bytes, tensor.bytes);
  fillRandom(other, "x", 0);
  EXPECT_NE(other.bytes, tensor.bytes);
  Tensor integers{VX_I8, {200}, std::vector<uint8_t>(200)};
  fillRandom(integers, "i", 0);
  int seen[4] = {};
  for (uint8_t value : integers.bytes) {
    ASSERT_LT(value, 4);
    ++seen[value];
  }
  for (int count : seen)
    EXPECT_GT(count, 20);
}

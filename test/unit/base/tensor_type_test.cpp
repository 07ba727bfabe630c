// Sizes and names of tensors' types, whose dims come from files.
#include "vx/base/tensor_type.h"

#include <gtest/gtest.h>

#include <vector>

namespace vx {
namespace {

std::optional<uint64_t> bytes(uint32_t bits, std::vector<int64_t> dims) { return tensorBytes(bits, dims); }

TEST(TensorType, bytesAreCountedOrRefused) {
  EXPECT_EQ(bytes(32, {2, 3}), 24u);
  EXPECT_EQ(bytes(8, {}), 1u);
  EXPECT_EQ(bytes(64, {0, 5}), 0u);
  EXPECT_EQ(bytes(8, {INT64_MAX}), uint64_t(INT64_MAX));
  EXPECT_EQ(bytes(16, {INT64_MAX / 2}), uint64_t(INT64_MAX - 1));
  EXPECT_EQ(bytes(16, {INT64_MAX / 2 + 1}), std::nullopt);
  EXPECT_EQ(bytes(8, {INT64_MAX, INT64_MAX}), std::nullopt);
  EXPECT_EQ(bytes(8, {1 << 30, 1 << 30, 1 << 30, 0}), std::nullopt);
  EXPECT_EQ(bytes(32, {2, -1}), std::nullopt);
  EXPECT_EQ(bytes(4, {2}), std::nullopt);
  EXPECT_EQ(bytes(0, {2}), std::nullopt);
}

TEST(TensorType, hasAName) {
  EXPECT_EQ(tensorTypeText("f32", std::vector<int64_t>{2, 3}), "f32[2,3]");
  EXPECT_EQ(tensorTypeText("i8", {}), "i8[]");
}

} // namespace
} // namespace vx

// Data in the element type that an input wants, and means of several batches as one.
#include "conversion.h"
#include "errors.h"
#include "scores.h"
#include "vx/train/dataset.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace vx::test;
using namespace vx::train;

namespace {

template <typename To, typename From>
std::vector<To> converted(const std::vector<From> &values) {
  std::vector<To> result(values.size());
  EXPECT_EQ(convert(vx::elementTypeOf<From>(), reinterpret_cast<const std::byte *>(values.data()),
                    vx::elementTypeOf<To>(), reinterpret_cast<std::byte *>(result.data()), values.size()),
            values.size());
  return result;
}

// The number of the first value that the type does not hold.
template <typename To, typename From>
uint64_t lost(const std::vector<From> &values) {
  std::vector<To> result(values.size());
  return convert(vx::elementTypeOf<From>(), reinterpret_cast<const std::byte *>(values.data()), vx::elementTypeOf<To>(),
                 reinterpret_cast<std::byte *>(result.data()), values.size());
}

} // namespace

TEST(Conversion, which) {
  for (int from = VX_BOOL; from <= VX_U64; ++from)
    for (int to = VX_BOOL; to <= VX_U64; ++to)
      EXPECT_EQ(converts(static_cast<vx_element_type>(from), static_cast<vx_element_type>(to)),
                to != VX_BOOL || from == VX_BOOL);
  EXPECT_TRUE(converts(VX_F64, VX_F32));
  EXPECT_TRUE(converts(VX_F32, VX_F64));
  for (vx_element_type type : {VX_U8, VX_I64, VX_F16, VX_BF16}) {
    EXPECT_FALSE(converts(type, VX_F32));
    EXPECT_FALSE(converts(VX_F32, type));
  }
  EXPECT_FALSE(mayLose(VX_I32, VX_I64));
  EXPECT_TRUE(mayLose(VX_I64, VX_I32));
  EXPECT_TRUE(mayLose(VX_I8, VX_U64));
  EXPECT_TRUE(mayLose(VX_U64, VX_I64));
  EXPECT_TRUE(mayLose(VX_F64, VX_F32));
  EXPECT_FALSE(mayLose(VX_F32, VX_F64));
}

TEST(Conversion, values) {
  EXPECT_EQ((converted<int64_t, int32_t>({-100, 7, INT32_MIN})), (std::vector<int64_t>{-100, 7, INT32_MIN}));
  EXPECT_EQ((converted<int32_t, int64_t>({INT32_MIN, INT32_MAX})), (std::vector<int32_t>{INT32_MIN, INT32_MAX}));
  EXPECT_EQ((converted<int64_t, uint8_t>({0, 255})), (std::vector<int64_t>{0, 255}));
  EXPECT_EQ((lost<int32_t, int64_t>({1, 2, int64_t(INT32_MAX) + 1})), 2u);
  EXPECT_EQ((lost<int64_t, uint64_t>({uint64_t(INT64_MAX), uint64_t(INT64_MAX) + 1})), 1u);
  EXPECT_EQ((lost<uint64_t, int8_t>({0, -1})), 1u);
  EXPECT_EQ((lost<uint8_t, int16_t>({256})), 0u);
  EXPECT_EQ((converted<float, double>({0.1, -1e-50, 3.4028234663852886e38})),
            (std::vector<float>{0.1f, -0.0f, std::numeric_limits<float>::max()}));
  EXPECT_EQ((converted<double, float>({0.1f})), (std::vector<double>{0.1f}));
  EXPECT_EQ((lost<float, double>({1, 1e39})), 1u);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ((converted<float, double>({infinity, -infinity}))[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan((converted<float, double>({NAN}))[0]));
}

// Means of batches, by what each counts; an empty batch's may be no number.
TEST(Scores, meansOfBatches) {
  Scores sum;
  add(sum, {.loss = 2, .metrics = {{"accuracy", 1.0}}, .rows = 4, .count = 4, .metric_counts = {4}});
  add(sum, {.loss = NAN, .metrics = {{"accuracy", NAN}}, .rows = 4, .count = 0, .metric_counts = {0}});
  add(sum, {.loss = 5, .metrics = {{"accuracy", 0.0}}, .rows = 4, .count = 0.5, .metric_counts = {1}});
  divide(sum, NAN);
  EXPECT_DOUBLE_EQ(sum.loss, (2 * 4 + 5 * 0.5) / 4.5);
  EXPECT_DOUBLE_EQ(sum.of("accuracy"), 0.8);
  EXPECT_EQ(sum.rows, 12);
  EXPECT_EQ(sum.count, 4.5);
  Scores none;
  add(none, {.loss = NAN, .metrics = {}, .rows = 3, .count = 0, .metric_counts = {}});
  Scores asZero = none;
  divide(none, NAN);
  divide(asZero, 0);
  EXPECT_TRUE(std::isnan(none.loss));
  EXPECT_EQ(asZero.loss, 0);
}

#include "vx/base/random_values.h"

#include "vx/base/philox.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <numeric>

namespace vx {

namespace {

template <typename Number>
std::vector<Number> numbersOf(const std::vector<uint8_t> &bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::vector<double> draw(const RandomStart &start, std::vector<int64_t> dims, uint64_t seed = 7, uint64_t stream = 9) {
  return numbersOf<double>(drawValues(start, seed, stream, dims, RandomFormat::F64));
}

double mean(const std::vector<double> &values, int power) {
  double sum = 0;
  for (double value : values)
    sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

} // namespace

// The vectors that come with Random123.
TEST(RandomValues, philoxAsPublished) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Against erfc of the C library: the mass below z is erfc(-z / sqrt 2) / 2.
TEST(RandomValues, quantilesOfTheNormalDistribution) {
  EXPECT_EQ(normalQuantile(0.5), 0);
  EXPECT_EQ(normalQuantile(0.975), -normalQuantile(1 - 0.975));
  EXPECT_NEAR(normalQuantile(0.975), 1.9599639845400542, 4e-15);
  EXPECT_NEAR(normalQuantile(1e-300), -37.0470962993612, 1e-12);
  for (double mass = 1e-15; mass < 1; mass = mass < 0.01 ? mass * 3 : mass + 0.003)
    EXPECT_NEAR(std::erfc(-normalQuantile(mass) / std::sqrt(2)) / 2 / mass, 1, 1e-13) << mass;
}

// Computed by another program from the formulas, for the seed 0x123456789abcdef and the name "layer.weight".
TEST(RandomValues, bitsOfKnownValues) {
  const uint64_t seed = 0x123456789abcdef, stream = 0xc1a9b0d491751e4b;
  const int64_t dims[] = {5};
  EXPECT_EQ(numbersOf<uint64_t>(drawValues({RandomKind::Uniform, 0, 1}, seed, stream, dims, RandomFormat::F64)),
            (std::vector<uint64_t>{0x3feeabbc77075d47, 0x3fc8d4a96d49ce2c, 0x3fe565f891142965, 0x3fc8d552fc3196fc,
                                   0x3fc957ed74d0f8bc}));
  EXPECT_EQ(numbersOf<uint32_t>(drawValues({RandomKind::Uniform, -0.5, 1}, seed, stream, dims, RandomFormat::F32)),
            (std::vector<uint32_t>{0x3f700cd6, 0xbe56080f, 0x3f00c7a7, 0xbe56001c, 0xbe4fe0df}));
  EXPECT_EQ(numbersOf<uint32_t>(drawValues({RandomKind::Normal, 1, 2}, seed, stream, dims, RandomFormat::F32)),
            (std::vector<uint32_t>{0x408eeba2, 0xbf3a00b7, 0x3fefb2a7, 0xbf39f714, 0xbf329621}));
  EXPECT_EQ(numbersOf<uint16_t>(drawValues({RandomKind::Normal, 1, 2}, seed, stream, dims, RandomFormat::F16)),
            (std::vector<uint16_t>{0x4477, 0xb9d0, 0x3f7e, 0xb9d0, 0xb995}));
}

TEST(RandomValues, distributions) {
  const std::vector<double> uniform = draw({RandomKind::Uniform, -1, 3}, {250, 400});
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), -1);
  EXPECT_LE(*std::max_element(uniform.begin(), uniform.end()), 3);
  // Six deviations of the estimates from 100,000 numbers.
  EXPECT_NEAR(mean(uniform, 1), 1, 0.022);
  EXPECT_NEAR(mean(uniform, 2) - std::pow(mean(uniform, 1), 2), 16.0 / 12, 0.025);
  const std::vector<double> normal = draw({RandomKind::Normal, 0, 1}, {100000});
  EXPECT_NEAR(mean(normal, 1), 0, 0.019);
  EXPECT_NEAR(mean(normal, 2), 1, 0.027);
  EXPECT_NEAR(mean(normal, 3), 0, 0.074);
  EXPECT_NEAR(mean(normal, 4), 3, 0.19);
  const auto within = static_cast<double>(
      std::count_if(normal.begin(), normal.end(), [](double value) { return std::fabs(value) < 1; }));
  EXPECT_NEAR(within / 100000, 0.6827, 0.009);
  double products = 0; // of neighbours
  for (size_t i = 0; i + 1 < normal.size(); ++i)
    products += normal[i] * normal[i + 1];
  EXPECT_NEAR(products / 100000, 0, 0.019);
}

TEST(RandomValues, otherSeedsAndNamesGiveOthers) {
  const RandomStart start{RandomKind::Normal, 0, 1};
  EXPECT_EQ(draw(start, {64}), draw(start, {8, 8}));
  for (uint64_t bit : {0, 31, 32, 63}) {
    const std::vector<double> first = draw(start, {64}), seed = draw(start, {64}, 7 ^ uint64_t(1) << bit),
                              stream = draw(start, {64}, 7, 9 ^ uint64_t(1) << bit);
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_NE(first[i], seed[i]);
      EXPECT_NE(first[i], stream[i]);
      EXPECT_NE(seed[i], stream[i]);
    }
  }
}

TEST(RandomValues, orthogonalRowsOrColumns) {
  for (const std::vector<int64_t> &dims : std::vector<std::vector<int64_t>>{
           {1, 1}, {5, 5}, {3, 17}, {17, 3}, {5, 2, 4}, {37, 2, 3}, {64, 65}, {200, 200}, {1, 9}, {9, 1}}) {
    const std::vector<double> values = draw({RandomKind::Orthogonal, 2, 0}, dims);
    const auto rows = static_cast<size_t>(dims[0]), columns = values.size() / rows;
    const bool isTall = rows > columns;
    const size_t count = std::min(rows, columns), length = std::max(rows, columns);
    auto at = [&](size_t vector, size_t k) {
      return isTall ? values[k * columns + vector] : values[vector * columns + k];
    };
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j <= i; ++j) {
        double product = 0;
        for (size_t k = 0; k < length; ++k)
          product += at(i, k) * at(j, k);
        EXPECT_NEAR(product, i == j ? 4 : 0, 1e-14) << rows << " x " << columns << ": " << i << ", " << j;
      }
    // The first vector keeps the direction of the normal matrix's.
    const std::vector<double> normal = draw({RandomKind::Normal, 0, 1}, dims);
    EXPECT_EQ(std::signbit(values[0]), std::signbit(normal[0]));
  }
}

// Each number is rounded once, to the nearest that the type has, and of two the even one.
TEST(RandomValues, roundsOnce) {
  const RandomStart start{RandomKind::Normal, 0, 3e-5}; // half of them below the least normal number of f16
  const int64_t dims[] = {4001};
  const std::vector<double> exact = draw(start, {4001});
  auto check = [&](RandomFormat format, int mantissa, int least, auto decode) {
    const std::vector<uint16_t> codes = numbersOf<uint16_t>(drawValues(start, 7, 9, dims, format));
    for (size_t i = 0; i < exact.size(); ++i) {
      const double unit = std::ldexp(1, std::max(std::ilogb(exact[i]), least) - mantissa);
      EXPECT_EQ(decode(codes[i]), std::nearbyint(exact[i] / unit) * unit) << i;
    }
  };
  check(RandomFormat::F16, 10, -14, [](uint16_t code) {
    const int exponent = code >> 10 & 31, fraction = code & 1023;
    const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    return code >> 15 ? -size : size;
  });
  check(RandomFormat::BF16, 7, -126, [](uint16_t code) {
    const uint32_t bits = uint32_t(code) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return static_cast<double>(value);
  });
  const std::vector<float> single = numbersOf<float>(drawValues(start, 7, 9, dims, RandomFormat::F32));
  for (size_t i = 0; i < exact.size(); ++i)
    EXPECT_EQ(single[i], static_cast<float>(exact[i]));
}

TEST(RandomValues, largeOnesOfNarrowTypes) {
  const int64_t dims[] = {100};
  for (uint16_t code :
       numbersOf<uint16_t>(drawValues({RandomKind::Uniform, 65504, 65519}, 1, 2, dims, RandomFormat::F16)))
    EXPECT_EQ(code, 0x7bff);
  for (uint16_t code :
       numbersOf<uint16_t>(drawValues({RandomKind::Uniform, -1e9, -65520}, 1, 2, dims, RandomFormat::F16)))
    EXPECT_EQ(code, 0xfc00);
  for (uint16_t code :
       numbersOf<uint16_t>(drawValues({RandomKind::Uniform, -0.0, -0.0}, 1, 2, dims, RandomFormat::BF16)))
    EXPECT_EQ(code & 0x7fff, 0);
}

TEST(RandomValues, doNotDependOnTheCallersRounding) {
  for (RandomKind kind : {RandomKind::Uniform, RandomKind::Normal, RandomKind::Orthogonal}) {
    const int64_t dims[] = {31, 33};
    const std::vector<uint8_t> nearest = drawValues({kind, 0.3, 0.7}, 1, 2, dims, RandomFormat::F32);
    ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
    const std::vector<uint8_t> upward = drawValues({kind, 0.3, 0.7}, 1, 2, dims, RandomFormat::F32);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(nearest, upward);
  }
}

TEST(RandomValues, emptyTensors) {
  for (RandomKind kind : {RandomKind::Uniform, RandomKind::Normal, RandomKind::Orthogonal})
    for (const std::vector<int64_t> &dims : std::vector<std::vector<int64_t>>{{0, 3}, {3, 0}, {0, 0}})
      EXPECT_TRUE(drawValues({kind, 1, 1}, 1, 2, dims, RandomFormat::F32).empty());
}

} // namespace vx

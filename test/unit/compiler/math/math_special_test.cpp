// Zeros, infinities and NaN: bit for bit what C99 annex F says, which glibc follows.
#include "math_kernels.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace vx::test;

namespace {

template <typename T>
const std::vector<T> specials = {T(0),
                                 -T(0),
                                 std::numeric_limits<T>::denorm_min(),
                                 -std::numeric_limits<T>::denorm_min(),
                                 std::numeric_limits<T>::min(),
                                 T(0.5),
                                 T(-0.5),
                                 T(1),
                                 T(-1),
                                 T(1.5),
                                 T(-1.5),
                                 T(2),
                                 T(-2),
                                 T(3),
                                 T(-3),
                                 T(16777215),
                                 T(-16777215),
                                 T(16777216),
                                 std::numeric_limits<T>::max(),
                                 -std::numeric_limits<T>::max(),
                                 std::numeric_limits<T>::infinity(),
                                 -std::numeric_limits<T>::infinity(),
                                 std::numeric_limits<T>::quiet_NaN()};

template <typename T>
void expectLike(T got, T want, const std::string &what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << " = " << got << ", expected NaN";
    return;
  }
  EXPECT_EQ(std::signbit(got), std::signbit(want)) << what << " = " << got << ", expected " << want;
  if (std::isinf(want) || want == 0)
    EXPECT_EQ(got, want) << what;
  else
    EXPECT_LE(std::abs(got - want),
              2 * std::abs(want) * std::numeric_limits<T>::epsilon() + std::numeric_limits<T>::denorm_min())
        << what << " = " << got << ", expected " << want;
}

template <typename T>
void checkUnary(const char *name, const char *element, T (*reference)(T)) {
  MathKernel kernel(name, element, hostSpec());
  ASSERT_EQ(kernel.error, "");
  std::vector<T> results = kernel.run(specials<T>);
  for (size_t i = 0; i < results.size(); ++i)
    expectLike(results[i], reference(specials<T>[i]), std::string(name) + "(" + std::to_string(specials<T>[i]) + ")");
}

TEST(MathSpecial, unaryFunctions) {
#define CHECK(name)                                                                                                    \
  checkUnary<float>(#name, "f32", std::name);                                                                          \
  checkUnary<double>(#name, "f64", std::name)
  CHECK(exp);
  CHECK(exp2);
  CHECK(expm1);
  CHECK(log);
  CHECK(log2);
  CHECK(log10);
  CHECK(log1p);
  CHECK(sin);
  CHECK(cos);
  CHECK(tan);
  CHECK(asin);
  CHECK(acos);
  CHECK(atan);
  CHECK(sinh);
  CHECK(cosh);
  CHECK(tanh);
  CHECK(erf);
#undef CHECK
}

template <typename T>
void checkPow(const char *element) {
  MathKernel kernel("powf", element, hostSpec());
  ASSERT_EQ(kernel.error, "");
  std::vector<T> x, y;
  for (T a : specials<T>)
    for (T b : specials<T>) {
      x.push_back(a);
      y.push_back(b);
    }
  std::vector<T> results = kernel.run(x, y);
  for (size_t i = 0; i < x.size(); ++i)
    expectLike(results[i], std::pow(x[i], y[i]), std::to_string(x[i]) + "^" + std::to_string(y[i]));
}

TEST(MathSpecial, powers) {
  checkPow<float>("f32");
  checkPow<double>("f64");
}

// Powers of two and ten come out exact where the result is a number of few digits.
TEST(MathSpecial, exactResults) {
  MathKernel log2("log2", "f32", hostSpec()), exp2("exp2", "f32", hostSpec()), log10("log10", "f64", hostSpec());
  std::vector<float> powers, exponents;
  for (int i = -149; i < 128; ++i) {
    powers.push_back(std::ldexp(1.0f, i));
    exponents.push_back(float(i));
  }
  EXPECT_EQ(log2.run(powers), exponents);
  EXPECT_EQ(exp2.run(exponents), powers);
  EXPECT_EQ(log10.run(std::vector<double>{1, 10, 100, 1000, 1e15}), (std::vector<double>{0, 1, 2, 3, 15}));
}

#ifdef __FLT16_MANT_DIG__
// f16 goes through f32 and is right to one rounding.
TEST(MathSpecial, halves) {
  MathKernel kernel("tanh", "f16", hostSpec());
  ASSERT_EQ(kernel.error, "");
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = uint16_t(i);
  std::vector<uint16_t> results = kernel.run(all);
  for (size_t i = 0; i < all.size(); ++i) {
    double want = std::tanh(double(std::bit_cast<_Float16>(all[i])));
    double got = double(std::bit_cast<_Float16>(results[i]));
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(got));
    else
      ASSERT_LE(std::abs(got - want), std::max(std::abs(want) * 0x1.01p-11, 0x1.01p-25)) << want;
  }
}
#endif

} // namespace

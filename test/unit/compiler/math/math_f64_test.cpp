// f64 functions against the C library in long double (64 bits of mantissa).
#include "math_kernels.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <random>

using namespace vx::test;

namespace {

double ulpError(double got, long double want) {
  double rounded = double(want);
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(got) || std::isinf(rounded))
    return got == rounded ? 0 : std::abs(double((std::abs(want) - 0x1.fffffffffffffp1023L) / 0x1p971L)) + 1;
  int exponent = want == 0 ? -1022 : std::max(std::ilogb(want), -1022);
  return double(std::abs((static_cast<long double>(got) - want) / std::ldexp(1.0L, exponent - 52)));
}

struct Case {
  const char *function;
  long double (*reference)(long double);
  double bound; // ulp, as docs/math.md states
};
void PrintTo(const Case &value, std::ostream *stream) { *stream << value.function; }

const Case cases[] = {
    {"exp", std::exp, 1.25},  {"exp2", std::exp2, 1.25},  {"expm1", std::expm1, 2.0}, {"log", std::log, 1.0},
    {"log2", std::log2, 1.0}, {"log10", std::log10, 1.0}, {"log1p", std::log1p, 1.5}, {"sin", std::sin, 1.0},
    {"cos", std::cos, 1.0},   {"tan", std::tan, 2.5},     {"sinh", std::sinh, 2.0},   {"cosh", std::cosh, 2.0},
    {"tanh", std::tanh, 1.5}, {"erf", std::erf, 1.5},     {"asin", std::asin, 1.0},   {"acos", std::acos, 1.0},
    {"atan", std::atan, 1.0},
};

class MathF64 : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Functions, MathF64, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.function); });

TEST_P(MathF64, staysWithinItsBound) {
  MathKernel kernel(GetParam().function, "f64", hostSpec());
  ASSERT_EQ(kernel.error, "");
  std::mt19937_64 random(5);
  std::vector<double> inputs;
  for (int i = 0; i < 1 << 19; ++i) {
    uint64_t bits = random();
    double u = double(bits >> 11) * 0x1p-53;
    inputs.push_back(i % 5 == 0   ? std::bit_cast<double>(bits) // any bits: every exponent, huge arguments
                     : i % 5 == 1 ? 1 + (u - 0.5) / 64
                     : i % 5 == 2 ? u * 2 - 1
                     : i % 5 == 3 ? u * 24 - 12
                                  : u * 1500 - 750);
  }
  for (double value :
       {0.0, -0.0, 1.0, -1.0, 0x1p-1074, -0x1p-1074, 0x1p-1022, double(INFINITY), double(-INFINITY), double(NAN)})
    inputs.push_back(value);
  std::vector<double> results = kernel.run(inputs);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    double error = ulpError(results[i], GetParam().reference(inputs[i]));
    if (!(error <= worst)) {
      worst = error;
      at = i;
    }
  }
  std::printf("%s: %.3f ulp\n", GetParam().function, worst);
  EXPECT_LE(worst, GetParam().bound) << GetParam().function << "(" << std::hexfloat << inputs[at]
                                     << ") = " << results[at] << ", expected "
                                     << double(GetParam().reference(inputs[at]));
}

TEST(MathF64Pow, staysWithinItsBound) {
  MathKernel kernel("powf", "f64", hostSpec());
  ASSERT_EQ(kernel.error, "");
  std::mt19937_64 random(11);
  std::vector<double> x, y;
  for (int i = 0; i < 1 << 19; ++i) {
    uint64_t a = random(), b = random();
    double u = double(a >> 11) * 0x1p-53, v = double(b >> 11) * 0x1p-53;
    if (i % 3 == 0) {
      x.push_back(std::bit_cast<double>(a));
      y.push_back(std::bit_cast<double>(b));
    } else if (i % 3 == 1) {
      x.push_back(std::exp2(u * 200 - 100));
      y.push_back((v * 2000 - 1000) / (std::log2(x.back()) + 0.01));
    } else {
      x.push_back((u - 0.5) * 20);
      y.push_back(std::floor(v * 20) - 10);
    }
  }
  std::vector<double> results = kernel.run(x, y);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulpError(results[i], std::pow(static_cast<long double>(x[i]), static_cast<long double>(y[i])));
    if (!(error <= worst)) {
      worst = error;
      at = i;
    }
  }
  std::printf("pow: %.3f ulp\n", worst);
  EXPECT_LE(worst, 1.5) << std::hexfloat << x[at] << "^" << y[at] << " = " << results[at];
}

} // namespace

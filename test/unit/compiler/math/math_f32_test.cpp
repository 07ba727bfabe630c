// f32 functions against the C library in double, over the whole range of arguments.
#include "math_kernels.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

using namespace vx::test;

namespace {

/// Distance in units of the last place of the true value's f32 neighbourhood; 0 for equal values and for two NaNs.
double ulpError(float got, double want) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  float rounded = float(want);
  if (got == rounded)
    return std::isinf(rounded)
               ? 0
               : std::abs((double(got) - want) / std::exp2(std::max(std::ilogb(want == 0 ? 1e-300 : want), -126) - 23));
  if (std::isinf(got) != std::isinf(rounded)) {
    // An overflow may begin one step early or late.
    double limit = 0x1.ffffffp127;
    return std::abs(std::abs(want) - limit) / 0x1p104 + 1;
  }
  return std::abs((double(got) - want) / std::exp2(std::max(std::ilogb(want == 0 ? 1e-300 : want), -126) - 23));
}

struct Case {
  const char *function;
  double (*reference)(double);
  double bound; // ulp, as docs/math.md states
};
void PrintTo(const Case &value, std::ostream *stream) { *stream << value.function; }

double rsqrtReference(double x) { return 1 / std::sqrt(x); }

const Case cases[] = {
    {"exp", std::exp, 1.25},  {"exp2", std::exp2, 1.25},  {"expm1", std::expm1, 2.0},     {"log", std::log, 1.0},
    {"log2", std::log2, 1.0}, {"log10", std::log10, 1.0}, {"log1p", std::log1p, 1.5},     {"sin", std::sin, 1.0},
    {"cos", std::cos, 1.0},   {"tan", std::tan, 2.5},     {"sinh", std::sinh, 2.0},       {"cosh", std::cosh, 2.0},
    {"tanh", std::tanh, 1.5}, {"erf", std::erf, 1.5},     {"rsqrt", rsqrtReference, 1.5}, {"asin", std::asin, 1.0},
    {"acos", std::acos, 1.0}, {"atan", std::atan, 1.0},
};

/// Every n-th of all 2^32 bit patterns. VX_MATH_STRIDE=1 tests all (minutes a function).
uint64_t stride() {
  const char *text = std::getenv("VX_MATH_STRIDE");
  return text ? std::strtoull(text, nullptr, 10) : 4099;
}

class MathF32 : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Functions, MathF32, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.function); });

TEST_P(MathF32, staysWithinItsBound) {
  MathKernel kernel(GetParam().function, "f32", hostSpec());
  ASSERT_EQ(kernel.error, "");
  double worst = 0;
  float worstAt = 0, worstGot = 0;
  std::vector<float> inputs;
  auto flush = [&] {
    std::vector<float> results = kernel.run(inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      double error = ulpError(results[i], GetParam().reference(inputs[i]));
      if (!(error <= worst)) {
        worst = error;
        worstAt = inputs[i];
        worstGot = results[i];
      }
    }
    inputs.clear();
  };
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += stride()) {
    inputs.push_back(std::bit_cast<float>(uint32_t(bits)));
    if (inputs.size() == 1 << 20)
      flush();
  }
  // Where results are ordinary numbers, and near 1.
  std::mt19937 random(7);
  for (int i = 0; i < 1 << 20; ++i) {
    float u = float(random()) / 4294967296.0f;
    inputs.push_back(i % 4 == 0   ? 1 + (u - 0.5f) / 64
                     : i % 4 == 1 ? u * 2 - 1
                     : i % 4 == 2 ? u * 24 - 12
                                  : u * 200 - 100);
  }
  flush();
  RecordProperty("worst_ulp", std::to_string(worst));
  std::printf("%s: %.3f ulp at %a\n", GetParam().function, worst, double(worstAt));
  EXPECT_LE(worst, GetParam().bound) << GetParam().function << "(" << std::hexfloat << worstAt << ") = " << worstGot
                                     << ", expected " << GetParam().reference(worstAt);
}

// The same bits on every variant, in vectors and in scalars.
TEST_P(MathF32, givesTheSameBitsEverywhere) {
  std::vector<float> inputs;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 104729)
    inputs.push_back(std::bit_cast<float>(uint32_t(bits)));
  std::vector<float> first;
  for (const vx::TargetSpec &spec : runnableSpecs())
    for (bool scalar : {false, true}) {
      MathKernel kernel(GetParam().function, "f32", spec, scalar);
      ASSERT_EQ(kernel.error, "") << spec.variant;
      std::vector<float> results = kernel.run(inputs);
      if (first.empty())
        first = results;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (!std::isnan(first[i]) || !std::isnan(results[i])) {
          ASSERT_EQ(std::bit_cast<uint32_t>(results[i]), std::bit_cast<uint32_t>(first[i]))
              << GetParam().function << "(" << std::hexfloat << inputs[i] << ") of " << spec.variant
              << (scalar ? " scalar" : " vector");
        }
    }
}

TEST(MathF32Pow, staysWithinItsBound) {
  MathKernel kernel("powf", "f32", hostSpec());
  ASSERT_EQ(kernel.error, "");
  std::mt19937_64 random(11);
  std::vector<float> x, y;
  for (int i = 0; i < 3 << 20; ++i) {
    uint64_t r = random();
    float u = float(uint32_t(r >> 32)) / 4294967296.0f, v = float(uint32_t(r)) / 4294967296.0f;
    if (i % 4 == 0) { // any bits
      x.push_back(std::bit_cast<float>(uint32_t(r >> 32)));
      y.push_back(std::bit_cast<float>(uint32_t(r)));
    } else if (i % 4 == 1) { // results of every size
      x.push_back(std::exp2(u * 200 - 100));
      y.push_back((v * 300 - 150) / (std::log2(x.back()) + 0.01f));
    } else if (i % 4 == 2) { // near 1
      x.push_back(1 + (u - 0.5f) / 100);
      y.push_back((v - 0.5f) * 20000);
    } else { // small whole powers of either sign
      x.push_back((u - 0.5f) * 20);
      y.push_back(std::floor(v * 20) - 10);
    }
  }
  std::vector<float> results = kernel.run(x, y);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulpError(results[i], std::pow(double(x[i]), double(y[i])));
    if (!(error <= worst)) {
      worst = error;
      at = i;
    }
  }
  std::printf("powf: %.3f ulp\n", worst);
  EXPECT_LE(worst, 1.5) << std::hexfloat << x[at] << "^" << y[at] << " = " << results[at] << ", expected "
                        << std::pow(double(x[at]), double(y[at]));
}

} // namespace

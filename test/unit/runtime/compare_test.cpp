// vx/compare.hpp: elements of every kind of type, tolerances, the elements that are named, and the order of reports.
#include "vx/compare.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using vx::Value;
using vx::compare::Difference;
using vx::compare::Tensor;
using vx::compare::Tolerance;

constexpr float Nan = std::numeric_limits<float>::quiet_NaN(), Inf = std::numeric_limits<float>::infinity();

// A tensor that has its bytes.
struct Given {
  template <typename T>
  Given(vx_element_type type, std::vector<int64_t> dims, const std::vector<T> &elements)
      : bytes(elements.size() * sizeof(T)) {
    if (!bytes.empty())
      std::memcpy(bytes.data(), elements.data(), bytes.size());
    tensor = {type, std::move(dims), bytes};
  }
  Given(const Given &) = delete;
  std::vector<std::byte> bytes;
  Tensor tensor;
};

Difference floats(const std::vector<float> &first, const std::vector<float> &second,
                  const std::optional<Tolerance> &tolerance = {}) {
  const auto count = static_cast<int64_t>(first.size());
  const Given a(VX_F32, {count}, first), b(VX_F32, {static_cast<int64_t>(second.size())}, second);
  return vx::compare::tensors(a.tensor, b.tensor, tolerance);
}

template <typename T>
Difference of(vx_element_type type, const std::vector<T> &first, const std::vector<T> &second,
              const std::optional<Tolerance> &tolerance = {}) {
  const auto count = static_cast<int64_t>(first.size());
  const Given a(type, {count}, first), b(type, {count}, second);
  return vx::compare::tensors(a.tensor, b.tensor, tolerance);
}

Tolerance absolute(double value) { return {.absolute = value}; }
Tolerance relative(double value) { return {.relative = value}; }
Tolerance ofLargest(double value) { return {.ofLargest = value}; }
Tolerance units(double value) { return {.units = value}; }

std::string refusal(const Tensor &first, const Tensor &second, const Tolerance &tolerance = {}) {
  try {
    (void)vx::compare::tensors(first, second, tolerance);
  } catch (const vx::Error &error) {
    EXPECT_EQ(error.code(), VX_INVALID_ARGUMENT);
    return error.what();
  }
  return "no error";
}

} // namespace

TEST(Compare, NamesTheWorstAndTheFirstElement) {
  const Given first(VX_F32, {2, 3}, std::vector<float>{0, 1, 0, 2.5, 1, 1}),
      second(VX_F32, {2, 3}, std::vector<float>{0, 0, 0, 0, 2, 3});
  const Difference difference = vx::compare::tensors(first.tensor, second.tensor);
  EXPECT_FALSE(difference.agrees());
  EXPECT_EQ(difference.elements, 6u);
  EXPECT_EQ(difference.differing, 4u);
  EXPECT_DOUBLE_EQ(difference.largest, 2.5);
  EXPECT_DOUBLE_EQ(difference.largestRelative, 1);
  EXPECT_DOUBLE_EQ(difference.allowed, 3e-4); // of 3, which is in the second
  ASSERT_TRUE(difference.worst && difference.earliest);
  EXPECT_EQ(difference.worst->index, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(difference.worst->first, "2.5");
  EXPECT_EQ(difference.worst->second, "0");
  EXPECT_EQ(difference.earliest->index, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(difference.earliest->first, "1");
  EXPECT_EQ(difference.text(), "f32[2,3]: 4 of 6 elements differ, the most at [1,0]: 2.5 and 0, the first at [0,1]: 1 "
                               "and 0, allowed is a difference of 0.0003");
}

// Of several elements that are equally far apart the first one is the worst, and is named once.
TEST(Compare, NamesTheFirstOfEqualDifferences) {
  EXPECT_EQ(floats({1, 2, 3}, {1, 3, 4}).text(),
            "f32[3]: 2 of 3 elements differ, the most at [1]: 2 and 3, allowed is a difference of 0.0004");
}

// An element that agrees is not the worst, however far apart its values are.
TEST(Compare, WorstIsOneThatDiffers) {
  const Difference difference = floats({1000, 1}, {1005, 1.5f}, relative(0.01));
  EXPECT_EQ(difference.differing, 1u);
  EXPECT_EQ(difference.worst->index, std::vector<int64_t>{1});
  EXPECT_DOUBLE_EQ(difference.largest, 5);
  const Difference agreeing = floats({1000, 1, 1}, {1005, 1.001f, 1}, relative(0.01));
  EXPECT_TRUE(agreeing.agrees());
  EXPECT_EQ(agreeing.worst->index, std::vector<int64_t>{0}); // the furthest of those that agree
  EXPECT_FALSE(agreeing.earliest);
  EXPECT_FALSE(floats({1, 2}, {1, 2}).worst);
}

TEST(Compare, NanAndInfinities) {
  EXPECT_TRUE(floats({Nan, Inf, -Inf, 1}, {Nan, Inf, -Inf, 1}).agrees());
  const Tolerance wide = ofLargest(100);
  EXPECT_FALSE(floats({Nan, 1}, {1, 1}, wide).agrees());
  EXPECT_FALSE(floats({1, 1}, {Nan, 1}, wide).agrees());
  EXPECT_FALSE(floats({Inf, 1}, {1, 1}, wide).agrees());
  EXPECT_FALSE(floats({Inf, 1}, {-Inf, 1}, wide).agrees());
  EXPECT_FALSE(floats({1, 1}, {-Inf, 1}, {{.relative = 1}}).agrees());
  EXPECT_FALSE(floats({Nan, 1}, {Inf, 1}, wide).agrees());
  EXPECT_FALSE(floats({Nan}, {1}, units(1e30)).agrees());
  // They are further than any number, and leave the sums over numbers alone.
  const Difference difference = floats({1, 5, Nan, Inf}, {2, 1, 0, 0});
  EXPECT_EQ(difference.text(), "f32[4]: 4 of 4 elements differ, the most at [2]: nan and 0, the first at [0]: 1 and 2, "
                               "allowed is a difference of 0.0005");
  EXPECT_DOUBLE_EQ(difference.largest, 4);
  EXPECT_TRUE(std::isinf(difference.share));
  EXPECT_EQ(floats({-Inf}, {Nan}).worst->first, "-inf");
}

TEST(Compare, ZerosOfBothSigns) {
  EXPECT_TRUE(floats({0.0f, 1}, {-0.0f, 1}, Tolerance{}).agrees());
  EXPECT_TRUE(floats({-0.0f}, {0.0f}, units(1)).agrees());
  const Difference exact = floats({0.0f, 1}, {-0.0f, 1}, Tolerance{.isExact = true});
  EXPECT_EQ(exact.differing, 1u);
  EXPECT_EQ(exact.earliest->first, "0");
  EXPECT_EQ(exact.earliest->second, "-0");
  // NaN agrees with NaN of other bits.
  EXPECT_TRUE(floats({Nan}, {-Nan}, Tolerance{.isExact = true}).agrees());
  EXPECT_FALSE(floats({Nan}, {1}, Tolerance{.isExact = true}).agrees());
}

// Each bound by itself, just within and just beyond.
TEST(Compare, Tolerances) {
  EXPECT_TRUE(floats({1, 2}, {1.5f, 2}, absolute(0.5)).agrees());
  EXPECT_FALSE(floats({1, 2}, {1.5f, 2}, absolute(0.49)).agrees());
  // Relative to the second, the expected value.
  EXPECT_TRUE(floats({6}, {4}, relative(0.5)).agrees());
  EXPECT_FALSE(floats({4}, {6}, relative(0.33)).agrees());
  EXPECT_TRUE(floats({-4}, {-6}, relative(0.34)).agrees());
  EXPECT_FALSE(floats({2}, {-4}, relative(1)).agrees());
  EXPECT_TRUE(floats({0.5f, 100}, {1, 100}, ofLargest(0.005)).agrees());
  EXPECT_FALSE(floats({0.5f, 100}, {1, 100}, ofLargest(0.0049)).agrees());
  EXPECT_TRUE(floats({0.5f, -100}, {1, 1}, ofLargest(1.01)).agrees());  // of either tensor, by magnitude
  EXPECT_FALSE(floats({0.5f, Inf}, {1, Inf}, ofLargest(0.1)).agrees()); // of the finite elements
  // They add up.
  const Tolerance sum{.absolute = 1, .relative = 0.5, .ofLargest = 0.25};
  EXPECT_TRUE(floats({8}, {4}, sum).agrees()); // 1 + 2 + 2
  EXPECT_FALSE(floats({9.9f}, {4}, sum).agrees());
  EXPECT_TRUE(floats({1}, {1}, Tolerance{}).agrees());
  EXPECT_FALSE(floats({1}, {std::nextafter(1.0f, 2.0f)}, Tolerance{}).agrees());
  const Difference half = floats({1, 10}, {1.5f, 10}, absolute(1));
  EXPECT_DOUBLE_EQ(half.share, 0.5);
  EXPECT_EQ(half.text(), "f32[2]: largest difference 0.5, allowed 1");
}

TEST(Compare, UnitsInTheLastPlace) {
  const float next = std::nextafter(1.0f, 2.0f), below = std::nextafter(1.0f, 0.0f);
  EXPECT_TRUE(floats({next}, {1}, units(1)).agrees());
  EXPECT_FALSE(floats({next}, {below}, units(1)).agrees()); // across a power of two
  EXPECT_TRUE(floats({next}, {below}, units(2)).agrees());
  EXPECT_DOUBLE_EQ(floats({next}, {below}, units(4)).share, 0.5);
  EXPECT_FALSE(floats({1}, {-1}, units(1e6)).agrees());
  // Devices flush numbers below the least normal one.
  EXPECT_TRUE(floats({1e-40f}, {0}, units(1)).agrees());
  EXPECT_FALSE(floats({2e-38f}, {0}, units(1)).agrees());
  EXPECT_FALSE(floats({1e-40f}, {-1e-40f}, units(1)).agrees());
  const double tiny = std::nextafter(1.0, 2.0);
  EXPECT_TRUE(of<double>(VX_F64, {tiny}, {1}, units(1)).agrees());
  EXPECT_FALSE(of<double>(VX_F64, {std::nextafter(tiny, 2.0)}, {1}, units(1)).agrees());
  EXPECT_FALSE(of<double>(VX_F64, {1}, {-1}, units(1e6)).agrees());
  EXPECT_TRUE(of<double>(VX_F64, {5e-324}, {-5e-324}, units(2)).agrees());
  // f16 has 10 bits of mantissa and denormals, bf16 7.
  EXPECT_TRUE(of<uint16_t>(VX_F16, {0x3C01}, {0x3C00}, units(1)).agrees());
  EXPECT_FALSE(of<uint16_t>(VX_F16, {0x3C02}, {0x3C00}, units(1)).agrees());
  EXPECT_FALSE(of<uint16_t>(VX_F16, {0x0002}, {0x0000}, units(1)).agrees());
  EXPECT_TRUE(of<uint16_t>(VX_BF16, {0x3F81}, {0x3F80}, units(1)).agrees());
  EXPECT_FALSE(of<uint16_t>(VX_BF16, {0x3F82}, {0x3F80}, units(1)).agrees());
  EXPECT_TRUE(of<uint8_t>(VX_F8E4M3FN, {0x39}, {0x38}, units(1)).agrees());
  EXPECT_FALSE(of<uint8_t>(VX_F8E4M3FN, {0x3A}, {0x38}, units(1)).agrees());
}

TEST(Compare, LimitsOfEachElement) {
  const std::vector<double> limits{0.5, 0, NAN};
  EXPECT_TRUE(floats({1, 2}, {1.5f, 2}, Tolerance{.limits = std::span(limits).first(2)}).agrees());
  EXPECT_FALSE(floats({1, 2}, {1.5f, 2.1f}, Tolerance{.limits = std::span(limits).first(2)}).agrees());
  // One that is NaN allows nothing, not even an equal element.
  const Difference difference = floats({1, 2, 3}, {1, 2, 3}, Tolerance{.limits = limits});
  EXPECT_EQ(difference.differing, 1u);
  EXPECT_EQ(difference.earliest->index, std::vector<int64_t>{2});
}

// As numpy's sqrt(mean(square(a - b))) / sqrt(mean(square(b))) of the finite elements.
TEST(Compare, RootMeanSquare) {
  Tolerance tolerance{.absolute = 10, .rms = 0.21};
  const Difference within = floats({3, 4, Nan}, {3, 5, Nan}, tolerance);
  EXPECT_NEAR(within.rms, 0.17149858514250882, 1e-15);
  EXPECT_NEAR(within.rmsShare, 0.17149858514250882 / 0.21, 1e-15);
  EXPECT_TRUE(within.agrees());
  tolerance.rms = 0.17;
  const Difference beyond = floats({3, 4}, {3, 5}, tolerance);
  EXPECT_FALSE(beyond.agrees());
  EXPECT_EQ(beyond.differing, 0u);
  EXPECT_EQ(beyond.text(), "f32[2]: the root mean square of the difference is 0.171 of that of the second, allowed is "
                           "0.17");
  EXPECT_FALSE(floats({1, 0}, {0, 0}, tolerance).agrees()); // a share of nothing
}

TEST(Compare, IntegersAndBools) {
  EXPECT_TRUE(of<int32_t>(VX_I32, {1, -2}, {1, -2}).agrees());
  EXPECT_EQ(of<int32_t>(VX_I32, {1, -2}, {1, -3}).text(),
            "i32[2]: 1 of 2 elements differ, the most at [1]: -2 and -3, allowed is a difference of 0");
  // Tolerances of floats do not hold.
  EXPECT_FALSE(of<int32_t>(VX_I32, {1}, {2}, Tolerance{.absolute = 10, .ofLargest = 1, .units = 9}).agrees());
  EXPECT_TRUE(of<int32_t>(VX_I32, {1}, {2}, Tolerance{.ofIntegers = 1}).agrees());
  EXPECT_FALSE(of<int32_t>(VX_I32, {1}, {3}, Tolerance{.ofIntegers = 1}).agrees());
  EXPECT_FALSE(floats({1}, {2}, Tolerance{.ofIntegers = 1}).agrees());
  // Integers that are one double are still two numbers, and the distance of the ends does not overflow.
  const int64_t wide = int64_t(1) << 54, least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(of<int64_t>(VX_I64, {wide}, {wide + 1}).text(),
            "i64[1]: 1 of 1 elements differ, the most at [0]: 18014398509481984 and 18014398509481985, allowed is a "
            "difference of 0");
  EXPECT_DOUBLE_EQ(of<int64_t>(VX_I64, {wide}, {wide + 1}).largest, 1);
  EXPECT_DOUBLE_EQ(of<int64_t>(VX_I64, {least}, {std::numeric_limits<int64_t>::max()}).largest, 18446744073709551615.0);
  EXPECT_EQ(of<uint64_t>(VX_U64, {UINT64_MAX}, {0}).worst->first, "18446744073709551615");
  EXPECT_EQ(of<int8_t>(VX_I8, {-1}, {1}).worst->first, "-1");
  EXPECT_EQ(of<uint8_t>(VX_U8, {255}, {1}).worst->first, "255");
  EXPECT_EQ(of<uint8_t>(VX_BOOL, {1, 0}, {1, 1}).text(),
            "bool[2]: 1 of 2 elements differ, the most at [1]: false and true, allowed is a difference of 0");
  // A bool of another byte than 0 and 1 is no other bool's equal, and is shown as its number.
  const Difference byte = of<uint8_t>(VX_BOOL, {2}, {1}, Tolerance{.ofIntegers = 9});
  EXPECT_EQ(byte.differing, 1u);
  EXPECT_EQ(byte.worst->first, "2");
}

TEST(Compare, PackedElements) {
  // Low bits first: -8, 7 and 1.
  const Given first(VX_I4, {3}, std::vector<uint8_t>{0x78, 0x01}), second(VX_I4, {3}, std::vector<uint8_t>{0x78, 0xF2});
  const Difference difference = vx::compare::tensors(first.tensor, second.tensor);
  EXPECT_EQ(difference.differing, 1u); // and not the bits after the last element
  EXPECT_EQ(difference.worst->index, std::vector<int64_t>{2});
  EXPECT_EQ(difference.worst->first, "1");
  EXPECT_EQ(difference.worst->second, "2");
  EXPECT_EQ(vx::compare::elementText(first.tensor, 0), "-8");
  EXPECT_EQ(vx::compare::elementText(first.tensor, 1), "7");
  const Given pairs(VX_U2, {3}, std::vector<uint8_t>{0x39});
  EXPECT_EQ(vx::compare::elementAsDouble(pairs.tensor, 0), 1);
  EXPECT_EQ(vx::compare::elementAsDouble(pairs.tensor, 1), 2);
  EXPECT_EQ(vx::compare::elementAsDouble(pairs.tensor, 2), 3);
}

// Values of codes as ml_dtypes has them.
TEST(Compare, SmallFloats) {
  auto value = [](vx_element_type type, uint16_t code) { return vx::compare::elementAsDouble(type, &code, 0); };
  EXPECT_EQ(value(VX_F16, 0x3C00), 1);
  EXPECT_EQ(value(VX_F16, 0xC000), -2);
  EXPECT_EQ(value(VX_F16, 0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(value(VX_F16, 0x7BFF), 65504);
  EXPECT_EQ(value(VX_F16, 0xFC00), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(value(VX_F16, 0x7C01)));
  EXPECT_EQ(value(VX_BF16, 0x3F80), 1);
  EXPECT_EQ(value(VX_BF16, 0xBFC0), -1.5);
  EXPECT_EQ(value(VX_F8E4M3FN, 0x7E), 448);
  EXPECT_TRUE(std::isnan(value(VX_F8E4M3FN, 0x7F)));
  EXPECT_TRUE(std::isnan(value(VX_F8E4M3FNUZ, 0x80)));
  EXPECT_EQ(value(VX_F8E4M3FNUZ, 0x7F), 240);
  EXPECT_EQ(value(VX_F8E5M2, 0x7B), 57344);
  EXPECT_EQ(value(VX_F8E8M0, 0x00), std::ldexp(1.0, -127));
  EXPECT_EQ(value(VX_F4E2M1, 0x07), 6);
  EXPECT_EQ(value(VX_F4E2M1, 0x09), -0.5);
  // The default tolerances grow as the mantissa shrinks.
  EXPECT_TRUE(of<uint16_t>(VX_F16, {0x3C04}, {0x3C00}).agrees());
  EXPECT_FALSE(of<uint16_t>(VX_F16, {0x3C05}, {0x3C00}).agrees());
  EXPECT_TRUE(of<uint16_t>(VX_BF16, {0x3F83}, {0x3F80}).agrees());
  EXPECT_FALSE(of<uint16_t>(VX_BF16, {0x3F84}, {0x3F80}).agrees());
  EXPECT_TRUE(of<double>(VX_F64, {1 + 9e-11}, {1}).agrees());
  EXPECT_FALSE(of<double>(VX_F64, {1 + 2e-10}, {1}).agrees());
  EXPECT_TRUE(of<uint8_t>(VX_F8E4M3FN, {0x3A}, {0x38}).agrees());
  EXPECT_FALSE(of<uint8_t>(VX_F8E4M3FN, {0x3C}, {0x38}).agrees());
}

TEST(Compare, EmptyAndScalarTensors) {
  const Difference empty = floats({}, {});
  EXPECT_TRUE(empty.agrees());
  EXPECT_EQ(empty.elements, 0u);
  EXPECT_EQ(empty.text(), "f32[0]: largest difference 0, allowed 0");
  const Given none(VX_F32, {2, 0, 3}, std::vector<float>{}), other(VX_F32, {0, 2, 3}, std::vector<float>{});
  EXPECT_TRUE(vx::compare::tensors(none.tensor, none.tensor).agrees());
  EXPECT_EQ(vx::compare::tensors(none.tensor, other.tensor).text(), "f32[2,0,3] and f32[0,2,3] do not compare");
  const Given one(VX_F32, {}, std::vector<float>{1}), two(VX_F32, {}, std::vector<float>{2});
  EXPECT_EQ(vx::compare::tensors(one.tensor, two.tensor).text(),
            "f32[]: 1 of 1 elements differ, the most at []: 1 and 2, allowed is a difference of 0.0002");
}

TEST(Compare, OtherTypesAndSizesDoNotCompare) {
  const Given pair(VX_F32, {2}, std::vector<float>(2)), triple(VX_F32, {3}, std::vector<float>(3)),
      integers(VX_I32, {2}, std::vector<int32_t>(2)), row(VX_F32, {1, 2}, std::vector<float>(2));
  EXPECT_EQ(vx::compare::tensors(pair.tensor, triple.tensor).text(), "f32[2] and f32[3] do not compare");
  EXPECT_EQ(vx::compare::tensors(pair.tensor, integers.tensor).text(), "f32[2] and i32[2] do not compare");
  EXPECT_EQ(vx::compare::tensors(pair.tensor, row.tensor).text(), "f32[2] and f32[1,2] do not compare");
  EXPECT_FALSE(vx::compare::tensors(pair.tensor, triple.tensor).agrees());
}

TEST(Compare, Strings) {
  const Tensor first{VX_STRING, {2}, {}, {"a", "b\n\""}}, second{VX_STRING, {2}, {}, {"a", "c"}};
  EXPECT_TRUE(vx::compare::tensors(first, first).agrees());
  EXPECT_EQ(
      vx::compare::tensors(first, second).text(),
      "string[2]: 1 of 2 elements differ, the most at [1]: \"b\\u000a\\\"\" and \"c\", allowed is a difference of "
      "0");
}

// The shortest text that reads back, as Python's repr has it of the same f64.
TEST(Compare, NumbersAsText) {
  EXPECT_EQ(vx::compare::numberText(0.1), "0.1");
  EXPECT_EQ(vx::compare::numberText(0.1f), "0.1");
  EXPECT_EQ(vx::compare::numberText(1e-5), "1e-05");
  EXPECT_EQ(vx::compare::numberText(0.0001), "0.0001");
  EXPECT_EQ(vx::compare::numberText(1e16), "1e+16");
  EXPECT_EQ(vx::compare::numberText(123456.0), "123456");
  EXPECT_EQ(vx::compare::numberText(1e15), "1000000000000000");
  EXPECT_EQ(vx::compare::numberText(-0.0), "-0");
  EXPECT_EQ(vx::compare::numberText(-2.5), "-2.5");
}

TEST(Compare, RefusesWhatIsWrongInItself) {
  const Given pair(VX_F32, {2}, std::vector<float>(2));
  EXPECT_EQ(refusal(pair.tensor, pair.tensor, absolute(-1)),
            "compare: absolute: expected a number of 0 or more, got -1");
  EXPECT_EQ(refusal(pair.tensor, pair.tensor, relative(NAN)),
            "compare: relative: expected a number of 0 or more, got nan");
  EXPECT_EQ(refusal(pair.tensor, pair.tensor, ofLargest(-0.5)),
            "compare: ofLargest: expected a number of 0 or more, got -0.5");
  EXPECT_EQ(refusal(pair.tensor, pair.tensor, units(-2)), "compare: units: expected a number of 0 or more, got -2");
  EXPECT_EQ(refusal(pair.tensor, pair.tensor, Tolerance{.rms = -1}),
            "compare: rms: expected a number of 0 or more, got -1");
  EXPECT_EQ(refusal(pair.tensor, pair.tensor, Tolerance{.ofIntegers = -1}),
            "compare: ofIntegers: expected a number of 0 or more, got -1");
  const std::vector<double> three(3);
  EXPECT_EQ(refusal(pair.tensor, pair.tensor, Tolerance{.limits = three}),
            "compare: limits: expected one for each of 2 elements, got 3");
  EXPECT_EQ(refusal(pair.tensor, pair.tensor, Tolerance{.limits = std::span(three).first(1)}),
            "compare: limits: expected one for each of 2 elements, got 1");
  Tensor longer = pair.tensor;
  const Given three32(VX_F32, {3}, std::vector<float>(3));
  longer.bytes = std::span(three32.bytes).first(9);
  EXPECT_EQ(refusal(pair.tensor, longer), "compare: f32[2]: expected 8 bytes, got 9");
  Tensor shorter = pair.tensor;
  shorter.bytes = shorter.bytes.first(7);
  EXPECT_EQ(refusal(pair.tensor, shorter), "compare: f32[2]: expected 8 bytes, got 7");
  EXPECT_EQ(refusal(shorter, pair.tensor), "compare: f32[2]: expected 8 bytes, got 7");
  EXPECT_EQ(refusal({VX_F32, {-1}, {}}, pair.tensor), "compare: f32[-1]: expected sizes of 0 or more");
  const int64_t large = int64_t(1) << 40;
  EXPECT_EQ(refusal({VX_F32, {large, large}, {}}, pair.tensor),
            "compare: f32[1099511627776,1099511627776]: expected sizes that memory holds");
  EXPECT_EQ(refusal({VX_STRING, {2}, {}, {"a"}}, pair.tensor), "compare: string[2]: expected 2 strings, got 1");
  EXPECT_EQ(refusal({VX_STRING, {1}, {}, {"a", "b"}}, pair.tensor), "compare: string[1]: expected 1 strings, got 2");
  EXPECT_EQ(refusal({VX_ELEMENT_NONE, {1}, {}}, pair.tensor), "compare: none[1]: expected an element type");
}

namespace {

vx::compare::Run runOf(const std::vector<std::pair<std::string, std::vector<float>>> &outputs) {
  vx::compare::Run run;
  for (const auto &[name, elements] : outputs)
    run.addOutput(name, Value::tensor<float>({static_cast<int64_t>(elements.size())}, elements));
  return run;
}

std::vector<std::string> textsOf(const std::vector<vx::compare::Result> &results) {
  std::vector<std::string> texts;
  for (const vx::compare::Result &result : results)
    texts.push_back(result.name + ": " + result.difference.text());
  return texts;
}

} // namespace

// By name, in the order of the first run; results of the second run alone are last.
TEST(Compare, RunsByNameAndInOrder) {
  const vx::compare::Run first = runOf({{"y", {1}}, {"a", {2}}, {"only", {1}}}),
                         second = runOf({{"more", {1, 2}}, {"a", {3}}, {"y", {1}}});
  EXPECT_EQ(textsOf(vx::compare::runs(first, second)),
            (std::vector<std::string>{"output 'y': f32[1]: largest difference 0, allowed 0.0001",
                                      "output 'a': f32[1]: 1 of 1 elements differ, the most at [0]: 2 and 3, allowed "
                                      "is a difference of 0.0003",
                                      "output 'only': f32[1] and nothing do not compare",
                                      "output 'more': f32[2] and nothing do not compare"}));
}

// A sequence that is longer on one side does not shift the outputs after it.
TEST(Compare, SequencesOptionalsAndVariables) {
  const Value one = Value::tensor<float>({1}, {1.0f}), two = Value::tensor<float>({1}, {2.0f});
  vx::compare::Run first, second;
  const std::vector<Value> longer{one, two}, shorter{one};
  first.addOutput("list", Value::sequence(VX_F32, longer));
  second.addOutput("list", Value::sequence(VX_F32, shorter));
  first.addOutput("maybe", Value::optional(VX_F32, one));
  second.addOutput("maybe", Value::optional(VX_F32, Value()));
  first.addOutput("lists", Value::optionalSequence(VX_F32, Value::sequence(VX_F32, shorter)));
  second.addOutput("lists", Value::optionalSequence(VX_F32, Value()));
  first.addOutput("y", two);
  second.addOutput("y", two);
  first.addVariable("sum", one);
  second.addVariable("sum", one);
  EXPECT_EQ(textsOf(vx::compare::runs(first, second)),
            (std::vector<std::string>{"element 0 of output 'list': f32[1]: largest difference 0, allowed 0.0001",
                                      "element 1 of output 'list': f32[1] and nothing do not compare",
                                      "element 0 of output 'maybe': f32[1] and nothing do not compare",
                                      "element 0 of output 'lists': f32[1] and nothing do not compare",
                                      "output 'y': f32[1]: largest difference 0, allowed 0.0002",
                                      "variable 'sum': f32[1]: largest difference 0, allowed 0.0001"}));
}

TEST(Compare, ValuesThatAreNoTensors) {
  const std::vector<Value> elements{Value::tensor<float>({1}, {1.0f})};
  const Value list = Value::sequence(VX_F32, elements);
  try {
    (void)vx::compare::view(list);
    FAIL() << "a sequence was taken as a tensor";
  } catch (const vx::Error &error) {
    EXPECT_EQ(error.code(), VX_INVALID_ARGUMENT);
    EXPECT_STREQ(error.what(), "compare: expected a tensor, got a sequence or an optional");
  }
}

namespace {

// The module of write_test_module.cpp: y = gather(scale_add(x)), integers.
vx::compare::Request requestOf(const std::string &first, const std::string &second) {
  const vx::Module module(VX_TEST_MODULE);
  return {module, {Value::tensor<int32_t>({3}, {1, 2, 3})}, {first, second}};
}

} // namespace

TEST(CompareDevices, OneAgreesWithItself) {
  const vx::compare::Report report = vx::compare::devices(requestOf("cpu", "cpu:0"));
  EXPECT_TRUE(report.agrees());
  EXPECT_EQ(report.text(), "cpu:0 and cpu:0 agree");
  ASSERT_EQ(report.results.size(), 1u);
  EXPECT_EQ(report.results[0].name, "output 'y'");
  EXPECT_EQ(report.results[0].difference.elements, 3u);
  EXPECT_FALSE(report.firstKernel);
  EXPECT_EQ(report.kernels, 0u); // none was observed
}

// The null device computes nothing. The module's kernel states no tensors that it writes, so none is compared; that a
// kernel is named is in test/Tools/run-compare.test.
TEST(CompareDevices, DevicesThatDiffer) {
  const vx::compare::Report report = vx::compare::devices(requestOf("cpu", "null"));
  EXPECT_FALSE(report.agrees());
  EXPECT_EQ(report.devices, (std::array<std::string, 2>{"cpu:0", "null:0"}));
  EXPECT_EQ(report.kernels, 1u);
  EXPECT_EQ(report.text(),
            "cpu:0 and null:0 differ: output 'y': i32[3]: 3 of 3 elements differ, the most at [2]: 16 and "
            "0, the first at [0]: 10 and 0, allowed is a difference of 0; of 1 kernels 0 compare, and "
            "none of them differs");
}

TEST(CompareDevices, RefusesWhatIsNotThere) {
  const auto refusal = [](const vx::compare::Request &request) {
    try {
      (void)vx::compare::devices(request);
    } catch (const vx::Error &error) {
      return std::to_string(error.code()) + ' ' + error.what();
    }
    return std::string("no error");
  };
  vx::compare::Request request = requestOf("cpu", "cpu");
  request.function = "mian";
  EXPECT_EQ(refusal(request), "2 compare: there is no function 'mian'; the functions are 'main'");
  EXPECT_TRUE(refusal(requestOf("cpu", "cpu:7")).starts_with("5 ")) << refusal(requestOf("cpu", "cpu:7"));
  // The module has code for the CPU alone, which is not taken in the place of another device.
  EXPECT_TRUE(refusal(requestOf("cpu", "vulkan")).starts_with("5 ")) << refusal(requestOf("cpu", "vulkan"));
  request = requestOf("cpu", "cpu");
  request.inputs.clear();
  EXPECT_TRUE(refusal(request).starts_with("1 ")) << refusal(request);
  request = requestOf("cpu", "cpu");
  request.tolerance = absolute(-1);
  EXPECT_EQ(refusal(request), "1 compare: absolute: expected a number of 0 or more, got -1");
}

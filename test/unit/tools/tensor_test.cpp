#include "tensor.h"
#include "tensor_text.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace vx::tools;

static Tensor tensorOf(vx_element_type type, std::vector<int64_t> dims) {
  return {type, dims, std::vector<uint8_t>(byteCount(type, *elementCount(type, dims)))};
}

// Every code of every type up to 16 bits reads back as itself, NaN apart.
TEST(Tensor, smallFloatsRoundTrip) {
  for (vx_element_type type :
       {VX_F16, VX_BF16, VX_F8E4M3FN, VX_F8E4M3FNUZ, VX_F8E5M2, VX_F8E5M2FNUZ, VX_F8E8M0, VX_F4E2M1}) {
    const uint32_t bits = vx_element_type_bits(type);
    for (uint32_t code = 0; code < 1u << bits; ++code) {
      Tensor tensor = tensorOf(type, {1});
      tensor.bytes[0] = static_cast<uint8_t>(code);
      if (bits > 8)
        tensor.bytes[1] = static_cast<uint8_t>(code >> 8);
      const double value = elementAsDouble(tensor, 0);
      Tensor again = tensorOf(type, {1});
      setElement(again, 0, value);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(elementAsDouble(again, 0)));
      else
        EXPECT_EQ(again.bytes, tensor.bytes) << vx_element_type_name(type) << " " << code << " " << value;
    }
  }
}

static uint32_t codeOf(const Tensor &tensor) {
  return tensor.bytes[0] | (tensor.bytes.size() > 1 ? uint32_t(tensor.bytes[1]) << 8 : 0);
}

// Between every two neighbours: the nearer one, and half of the way the even code.
TEST(Tensor, smallFloatsRoundToTheNearest) {
  for (vx_element_type type :
       {VX_F16, VX_BF16, VX_F8E4M3FN, VX_F8E4M3FNUZ, VX_F8E5M2, VX_F8E5M2FNUZ, VX_F8E8M0, VX_F4E2M1}) {
    const uint32_t bits = vx_element_type_bits(type);
    Tensor tensor = tensorOf(type, {1});
    for (uint32_t code = 0; code + 1 < 1u << (type == VX_F8E8M0 ? bits : bits - 1); ++code) {
      double neighbours[2];
      for (uint32_t i : {0u, 1u}) {
        tensor.bytes[0] = static_cast<uint8_t>(code + i);
        if (bits > 8)
          tensor.bytes[1] = static_cast<uint8_t>((code + i) >> 8);
        neighbours[i] = elementAsDouble(tensor, 0);
      }
      if (!std::isfinite(neighbours[0]) || !std::isfinite(neighbours[1]))
        continue;
      const double half = (neighbours[0] + neighbours[1]) / 2;
      setElement(tensor, 0, half);
      EXPECT_EQ(codeOf(tensor), code + code % 2) << vx_element_type_name(type) << " " << half;
      setElement(tensor, 0, std::nextafter(half, 0));
      EXPECT_EQ(codeOf(tensor), code) << vx_element_type_name(type) << " below " << half;
      setElement(tensor, 0, std::nextafter(half, HUGE_VAL));
      EXPECT_EQ(codeOf(tensor), code + 1) << vx_element_type_name(type) << " above " << half;
    }
  }
}

TEST(Tensor, knownValues) {
  struct {
    vx_element_type type;
    uint16_t code;
    double value;
  } cases[] = {{VX_F16, 0x3c00, 1},         {VX_F16, 0x7bff, 65504},  {VX_F16, 0x0001, 0x1p-24},
               {VX_F16, 0xfc00, -HUGE_VAL}, {VX_BF16, 0x3f80, 1},     {VX_BF16, 0xc040, -3},
               {VX_F8E4M3FN, 0x7e, 448},    {VX_F8E5M2, 0x7b, 57344}, {VX_F8E4M3FNUZ, 0x7f, 240},
               {VX_F8E8M0, 0x7f, 1},        {VX_F4E2M1, 0x7, 6}};
  for (const auto &known : cases) {
    Tensor tensor = tensorOf(known.type, {1});
    setElement(tensor, 0, known.value);
    EXPECT_EQ(codeOf(tensor), known.code) << vx_element_type_name(known.type);
    EXPECT_EQ(elementAsDouble(tensor, 0), known.value);
  }
}

// Half of the way goes to the even code.
TEST(Tensor, roundsToNearestEven) {
  Tensor tensor = tensorOf(VX_F16, {1});
  setElement(tensor, 0, 1 + 0x1p-11);
  EXPECT_EQ(elementAsDouble(tensor, 0), 1);
  setElement(tensor, 0, 1 + 3 * 0x1p-11);
  EXPECT_EQ(elementAsDouble(tensor, 0), 1 + 0x1p-9);
  setElement(tensor, 0, 1e9);
  EXPECT_EQ(elementAsDouble(tensor, 0), 65504);
}

TEST(Tensor, packedIntegers) {
  Tensor tensor = tensorOf(VX_I4, {3});
  ASSERT_EQ(tensor.bytes.size(), 2u);
  setElement(tensor, 0, -8);
  setElement(tensor, 1, 7);
  setElement(tensor, 2, -1);
  EXPECT_EQ(tensor.bytes, (std::vector<uint8_t>{0x78, 0x0f}));
  EXPECT_EQ(elementText(tensor, 0), "-8");
  EXPECT_EQ(elementText(tensor, 2), "-1");
}

TEST(Tensor, sizes) {
  EXPECT_EQ(elementCount(VX_F32, {}), 1u);
  EXPECT_EQ(elementCount(VX_F32, {2, 0, 3}), 0u);
  EXPECT_FALSE(elementCount(VX_F32, {2, -1}));
  EXPECT_FALSE(elementCount(VX_F32, {int64_t(1) << 40, int64_t(1) << 40}));
  EXPECT_EQ(typeText(VX_F32, {2, 3}), "f32[2,3]");
}

TEST(Tensor, text) {
  Tensor tensor = tensorOf(VX_F32, {2, 1, 2});
  const double values[] = {0.1, -2, NAN, HUGE_VAL};
  for (uint64_t i = 0; i < 4; ++i)
    setElement(tensor, i, values[i]);
  EXPECT_EQ(tensorText(tensor, 100), "[[[0.1, -2]],\n"
                                     " [[nan, inf]]]\n");
  EXPECT_EQ(tensorText(tensor, 3), "[[[0.1, -2]],\n"
                                   " [[nan, ... 1 more\n");
  EXPECT_EQ(tensorJson(tensor).dump(), "[0.1,-2,\"nan\",\"inf\"]");
  EXPECT_EQ(tensorText(tensorOf(VX_I64, {}), 10), "0\n");
  EXPECT_EQ(tensorText(tensorOf(VX_I64, {0, 3}), 10), "[]\n");
  EXPECT_EQ(tensorText(tensorOf(VX_BOOL, {2}), 10), "[false, false]\n");
}

// Conversions of the narrow float types: every code, and every place where rounding turns.
#include "vx/Reference/ElementType.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace vx::reference;

namespace {

struct Narrow {
  ElementType type;
  const llvm::fltSemantics &semantics;
};

const Narrow narrowTypes[] = {
    {ElementType::F16, llvm::APFloat::IEEEhalf()},
    {ElementType::BF16, llvm::APFloat::BFloat()},
    {ElementType::F8E4M3FN, llvm::APFloat::Float8E4M3FN()},
    {ElementType::F8E4M3FNUZ, llvm::APFloat::Float8E4M3FNUZ()},
    {ElementType::F8E5M2, llvm::APFloat::Float8E5M2()},
    {ElementType::F8E5M2FNUZ, llvm::APFloat::Float8E5M2FNUZ()},
    {ElementType::F8E8M0FNU, llvm::APFloat::Float8E8M0FNU()},
    {ElementType::F4E2M1FN, llvm::APFloat::Float4E2M1FN()},
};

double decodeWithLLVM(const Narrow &narrow, uint64_t bits) {
  llvm::APFloat value(narrow.semantics, llvm::APInt(getStorageBits(narrow.type), bits));
  if (value.isNaN())
    return NAN; // the conversion of an f8E8M0FNU NaN gives an infinity
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

TEST(ElementTypeTest, DecodesEveryCodeAsLLVMDoes) {
  for (const Narrow &narrow : narrowTypes)
    for (uint64_t bits = 0; bits < (uint64_t(1) << getStorageBits(narrow.type)); ++bits) {
      double want = decodeWithLLVM(narrow, bits), got = decodeFloat(narrow.type, bits);
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got)) << getName(narrow.type).str() << " " << bits;
      else
        EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want))
            << getName(narrow.type).str() << " " << bits << ": expected " << want << ", got " << got;
    }
}

TEST(ElementTypeTest, EveryCodeEncodesToItself) {
  for (const Narrow &narrow : narrowTypes)
    for (uint64_t bits = 0; bits < (uint64_t(1) << getStorageBits(narrow.type)); ++bits) {
      double value = decodeFloat(narrow.type, bits);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decodeFloat(narrow.type, encodeFloat(narrow.type, value))));
      else
        EXPECT_EQ(encodeFloat(narrow.type, value), bits) << getName(narrow.type).str() << " " << value;
    }
}

// Between neighbours the nearer one is taken, and the even code in the middle.
TEST(ElementTypeTest, RoundsToNearestEven) {
  for (const Narrow &narrow : narrowTypes) {
    if (narrow.type == ElementType::F8E8M0FNU)
      continue; // has no even and odd codes; below
    uint64_t signBit = uint64_t(1) << (getStorageBits(narrow.type) - 1);
    for (uint64_t bits = 0; bits + 1 < signBit; ++bits) {
      double low = decodeFloat(narrow.type, bits), high = decodeFloat(narrow.type, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high))
        continue;
      double middle = low + (high - low) / 2;
      EXPECT_EQ(encodeFloat(narrow.type, middle), bits % 2 ? bits + 1 : bits)
          << getName(narrow.type).str() << " " << bits;
      EXPECT_EQ(encodeFloat(narrow.type, std::nextafter(middle, low)), bits);
      EXPECT_EQ(encodeFloat(narrow.type, std::nextafter(middle, high)), bits + 1);
    }
  }
}

TEST(ElementTypeTest, WhatIsTooLarge) {
  EXPECT_EQ(encodeFloat(ElementType::F16, 65519.99), 0x7bffu);
  EXPECT_EQ(encodeFloat(ElementType::F16, 65520.0), 0x7c00u);
  EXPECT_EQ(encodeFloat(ElementType::F16, -INFINITY), 0xfc00u);
  EXPECT_EQ(encodeFloat(ElementType::F8E4M3FN, 448.0), 0x7eu);
  EXPECT_EQ(encodeFloat(ElementType::F8E4M3FN, 464.0), 0x7eu); // a tie, to the even code
  EXPECT_EQ(encodeFloat(ElementType::F8E4M3FN, 465.0), 0x7fu);
  EXPECT_EQ(encodeFloat(ElementType::F8E4M3FN, -INFINITY), 0xffu);
  EXPECT_EQ(encodeFloat(ElementType::F8E4M3FNUZ, -1e9), 0x80u);
  EXPECT_EQ(encodeFloat(ElementType::F4E2M1FN, 1e9), 0x7u);
  EXPECT_EQ(encodeFloat(ElementType::F4E2M1FN, -INFINITY), 0xfu);
  EXPECT_EQ(encodeFloat(ElementType::F8E4M3FNUZ, -0.0), 0u); // there is no -0
}

TEST(ElementTypeTest, PowersOfTwo) {
  EXPECT_EQ(encodeFloat(ElementType::F8E8M0FNU, 1.0), 127u);
  EXPECT_EQ(encodeFloat(ElementType::F8E8M0FNU, 1.49), 127u);
  EXPECT_EQ(encodeFloat(ElementType::F8E8M0FNU, 1.5), 128u);
  EXPECT_EQ(encodeFloat(ElementType::F8E8M0FNU, 0.0), 0u);
  EXPECT_EQ(encodeFloat(ElementType::F8E8M0FNU, -1.0), 0xffu);
  EXPECT_EQ(encodeFloat(ElementType::F8E8M0FNU, INFINITY), 0xffu);
}

TEST(ElementTypeTest, Extremes) {
  EXPECT_EQ(getHighestFloat(ElementType::F16), INFINITY);
  EXPECT_EQ(getHighestFloat(ElementType::F8E4M3FN), 448);
  EXPECT_EQ(getLowestFloat(ElementType::F4E2M1FN), -6);
  EXPECT_EQ(getLowestInt(ElementType::I4), -8);
  EXPECT_EQ(getHighestInt(ElementType::U2), 3);
  EXPECT_EQ(getHighestInt(ElementType::U64), -1);
  EXPECT_EQ(getLowestInt(ElementType::I64), INT64_MIN);
  EXPECT_EQ(wrapInt(ElementType::I4, 9), -7);
  EXPECT_EQ(wrapInt(ElementType::U8, -1), 255);
  EXPECT_EQ(wrapInt(ElementType::Bool, 8), 1);
}

TEST(ElementTypeTest, NamesAndTypes) {
  mlir::MLIRContext context;
  for (int i = 0; i <= static_cast<int>(ElementType::F4E2M1FN); ++i) {
    auto type = static_cast<ElementType>(i);
    EXPECT_EQ(parseElementType(getName(type)), type);
    EXPECT_EQ(getElementType(getType(&context, type)), type) << getName(type).str();
  }
  EXPECT_EQ(parseElementType("f128"), std::nullopt);
  EXPECT_EQ(getElementType(mlir::IntegerType::get(&context, 3)), std::nullopt);
}

} // namespace

#include "vx/Reference/HostTensor.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace vx::reference;

namespace {

TEST(HostTensorTest, PacksNarrowElementsLowBitsFirst) {
  HostTensor tensor(ElementType::I4, {3});
  tensor.setInt(0, 1);
  tensor.setInt(1, -2);
  tensor.setInt(2, 7);
  EXPECT_EQ(tensor.getBytes(), llvm::ArrayRef<uint8_t>({0xe1, 0x07}));
  EXPECT_EQ(tensor.getInt(1), -2);
  HostTensor two(ElementType::U2, {5});
  for (int i = 0; i < 5; ++i)
    two.setInt(i, i);
  EXPECT_EQ(two.getBytes(), llvm::ArrayRef<uint8_t>({0b11100100, 0}));
}

TEST(HostTensorTest, CopiesShareUntilOneIsWritten) {
  HostTensor a(ElementType::I32, {2});
  HostTensor b = a;
  EXPECT_EQ(a.getBytes().data(), b.getBytes().data());
  b.setInt(1, 5);
  EXPECT_EQ(a.getInt(1), 0);
  EXPECT_EQ(b.getInt(1), 5);
}

TEST(HostTensorTest, EmptyTensors) {
  HostTensor tensor(ElementType::F32, {2, 0, 3});
  EXPECT_EQ(tensor.getNumElements(), 0);
  EXPECT_TRUE(tensor.getBytes().empty());
  EXPECT_EQ(tensor.describe(), "f32[2,0,3]");
}

// A 64-bit integer reaches a narrow float with one rounding, not two.
TEST(HostTensorTest, WideIntegersRoundToOdd) {
  HostTensor tensor(ElementType::I64, {1});
  // Just above the middle between two bf16 numbers, by less than f64 can say.
  tensor.setInt(0, (INT64_C(1) << 60) + (INT64_C(1) << 52) + 1);
  HostTensor narrow(ElementType::BF16, {1});
  narrow.setFloat(0, tensor.getFloat(0));
  EXPECT_EQ(narrow.getFloat(0), std::ldexp(1.0, 60) + std::ldexp(1.0, 53));
}

// Every element type comes back from a constant, inline and as a resource.
TEST(HostTensorTest, ConstantsKeepEveryBit) {
  mlir::MLIRContext context;
  for (int i = 0; i <= static_cast<int>(ElementType::F4E2M1FN); ++i) {
    auto elementType = static_cast<ElementType>(i);
    HostTensor tensor(elementType, {7});
    for (int64_t j = 0; j < 7; ++j)
      elementType == ElementType::Bool ? tensor.setInt(j, j % 3 == 0) : tensor.setBits(j, static_cast<uint64_t>(j * 5));
    auto type = mlir::RankedTensorType::get({7}, getType(&context, elementType));
    llvm::Expected<HostTensor> inlined = getHostTensor(getElementsAttr(type, tensor));
    ASSERT_TRUE(bool(inlined)) << getName(elementType).str();
    EXPECT_TRUE(*inlined == tensor) << getName(elementType).str();
    llvm::Expected<HostTensor> resource = getHostTensor(getResourceAttr(type, tensor, "w"));
    ASSERT_TRUE(bool(resource)) << getName(elementType).str();
    EXPECT_TRUE(*resource == tensor) << getName(elementType).str();
  }
}

TEST(HostTensorTest, RepeatedElementsAreStoredOnce) {
  mlir::MLIRContext context;
  HostTensor tensor(ElementType::F32, {4});
  for (int i = 0; i < 4; ++i)
    tensor.setFloat(i, 2.5);
  auto type = mlir::RankedTensorType::get({4}, mlir::Float32Type::get(&context));
  auto attribute = llvm::cast<mlir::DenseElementsAttr>(getElementsAttr(type, tensor));
  EXPECT_TRUE(attribute.isSplat());
  llvm::Expected<HostTensor> back = getHostTensor(attribute);
  ASSERT_TRUE(bool(back));
  EXPECT_TRUE(*back == tensor);
}

TEST(HostTensorTest, ResourcesOfAnotherSizeAreRefused) {
  mlir::MLIRContext context;
  auto want = mlir::RankedTensorType::get({3}, mlir::Float32Type::get(&context));
  auto attribute = mlir::DenseResourceElementsAttr::get(
      want, "short", mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(llvm::ArrayRef<char>("12345678", 8), 4));
  llvm::Expected<HostTensor> tensor = getHostTensor(attribute);
  ASSERT_FALSE(bool(tensor));
  EXPECT_EQ(llvm::toString(tensor.takeError()),
            "expects 12 bytes in the resource 'short' of type 'tensor<3xf32>', got 8");
}

} // namespace

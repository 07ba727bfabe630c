// What the parts of `vx-convert-to-spirv` share.
#ifndef VX_TARGET_VULKAN_SPIRVPATTERNS_H
#define VX_TARGET_VULKAN_SPIRVPATTERNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"

namespace vx::vulkan {

/// Marks a float op that may be contracted, until the conversion's end.
inline constexpr llvm::StringLiteral kContractAttr = "vx.contract";

/// A pointer into physical memory to a block of `element`s, as a memref of a buffer becomes.
mlir::spirv::PointerType getBufferType(mlir::Type element);

/// Bytes of one element in a buffer.
unsigned getElementBytes(mlir::Type element);

/// An i64 or i32 constant.
mlir::Value integerConstant(mlir::OpBuilder &builder, mlir::Location loc, unsigned bits, int64_t value);

/// Loads element `index` (i64) of the block that `pointer` points to.
mlir::Value loadElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, mlir::Value index);

/// Values of the entry block that patterns refer to.
struct KernelEntry {
  mlir::Value block;       // pointer to the parameter block's words
  mlir::Value linearGroup; // i64
  mlir::Value thread;      // i64
  // i64, where the kernel asks for them
  mlir::Value lane, subgroup, subgroupCount, subgroupSize;
  int64_t bufferCount = 0;
  bool isGuarded = false;
};

/// memref and vector loads and stores, memref.alloca, and the vxk ops and those of gpu for subgroups.
void populateMemoryPatterns(const mlir::SPIRVTypeConverter &converter, const KernelEntry &entry,
                            mlir::RewritePatternSet &patterns);

/// What Vulkan computes otherwise than arith and math say: division and square root to the last bit, the remainder of
/// negative numbers, comparisons for NaN.
void populateArithPatterns(const mlir::SPIRVTypeConverter &converter, mlir::RewritePatternSet &patterns);

/// Before the conversion: compares a widened integer with a constant in the integer's own width.
void populateNarrowComparisonPatterns(mlir::RewritePatternSet &patterns);

/// Before the conversion: products with a factor of two possible values as choices between two products.
mlir::LogicalResult selectBitProducts(mlir::Operation *kernel);

/// Before the conversion: divisions of indices and of 64-bit numbers in 32 bits where both operands fit.
void narrowDivisions(mlir::func::FuncOp kernel);

/// Before the conversion: the rounding errors of products, remainders of floats, numbers that are rounded and widened
/// again, and products and quotients of a constant zero, as ops that are exact in any driver.
void expandExactArithmetic(mlir::func::FuncOp kernel);

} // namespace vx::vulkan

#endif

// What the ops of quantised numbers share: rounding to integers, and products of bytes.
#ifndef VX_FRONTEND_ONNX_INTEGERPARTS_H
#define VX_FRONTEND_ONNX_INTEGERPARTS_H

#include "OpFunctions.h"

namespace vx::onnx {

/// A vx.quantize to integers of `type`. All shapes are equal; a null zero point is 0.
mlir::Value emitQuantized(NodeImporter &n, mlir::Value number, mlir::Value scale, mlir::Value zeroPoint,
                          mlir::Type type);
/// A vx.dequantize to numbers of the scale's type. All shapes are equal; a null zero point is 0.
mlir::Value emitDequantized(NodeImporter &n, mlir::Value integers, mlir::Value scale, mlir::Value zeroPoint);

/// A value for each block of `blockSize` places of dimension `axis`, the last of which may have fewer, repeated to
/// `dims`. The parameter has as many dimensions.
mlir::Value spreadBlocks(NodeImporter &n, mlir::Value parameter, llvm::ArrayRef<DimAttr> dims, int64_t axis,
                         int64_t blockSize);

/// Numbers as u8, with the scale and the zero point that follow from the least and the greatest one.
struct DynamicIntegers {
  mlir::Value elements, scale, zeroPoint;
};
/// As DynamicQuantizeLinear has it, of f32.
DynamicIntegers quantizeDynamically(NodeImporter &n, mlir::Value input);

/// Integers of 8 bits and their zero point, aligned with them; null where it is none or known to be 0.
struct Bytes {
  mlir::Value elements, zero;
};

/// One number for all of a matrix, or one for each row of the left one or each column of the right one, as a tensor
/// that broadcasts to `like`.
mlir::Value alignWithMatrix(NodeImporter &n, mlir::Value parameter, mlir::Value like, bool isLeft,
                            llvm::StringRef what);

/// The matrix product of two tensors of 2 or more dimensions, each less its zero point. With a and b of 8 bits and zero
/// points u and v, which are the same along the sum:
///
///     sum of (a - u) * (b - v)  =  sum of a * b  -  v * sum of a  -  u * sum of (b - v)
///
/// All of this is i32, which wraps around. The product reads bytes. The other sums are those of rows and of columns; a
/// constant's are computed once. Without zero points vectors are taken, too.
mlir::Value emitBytesMatMul(NodeImporter &n, const Bytes &lhs, const Bytes &rhs);

} // namespace vx::onnx

#endif

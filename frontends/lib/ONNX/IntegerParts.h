// Parts that quantised ops share: rounding to integers, and products of bytes.
#ifndef VX_FRONTEND_ONNX_INTEGERPARTS_H
#define VX_FRONTEND_ONNX_INTEGERPARTS_H

#include "OpFunctions.h"

namespace vx::onnx {

/// A vx.quantize to integers of `type`. All shapes are equal; a null zero point is 0.
mlir::Value emitQuantized(NodeImporter &n, mlir::Value number, mlir::Value scale, mlir::Value zeroPoint,
                          mlir::Type type);
/// A vx.dequantize to the scale's type. All shapes are equal; a null zero point is 0.
mlir::Value emitDequantized(NodeImporter &n, mlir::Value integers, mlir::Value scale, mlir::Value zeroPoint);

/// Repeats a parameter with a value for each block of `blockSize` indices of dimension `axis` to `dims`. The last block
/// may be smaller. The parameter has as many dimensions.
mlir::Value spreadBlocks(NodeImporter &n, mlir::Value parameter, llvm::ArrayRef<DimAttr> dims, int64_t axis,
                         int64_t blockSize);

/// Values as u8, with the scale and the zero point that follow from the least and the greatest value.
struct DynamicIntegers {
  mlir::Value elements, scale, zeroPoint;
};
/// Quantises f32 as DynamicQuantizeLinear does.
DynamicIntegers quantizeDynamically(NodeImporter &n, mlir::Value input);

/// Integers of 8 bits and their zero point, aligned with them; null if it is missing or known to be 0.
struct Bytes {
  mlir::Value elements, zero;
};

/// Aligns a parameter with a matrix, so that it broadcasts to `like`. It is one value, or one for each row of the left
/// matrix, or one for each column of the right one.
mlir::Value alignWithMatrix(NodeImporter &n, mlir::Value parameter, mlir::Value like, bool isLeft,
                            llvm::StringRef what);

/// The matrix product of two tensors of 2 or more dimensions, each less its zero point. With a and b of 8 bits and zero
/// points u and v, which are the same along the sum:
///
///     sum of (a - u) * (b - v)  =  sum of a * b  -  v * sum of a  -  u * sum of (b - v)
///
/// All of this is i32, which wraps around. The product reads bytes. The other sums are over rows and columns; those of
/// a constant are computed once. Without zero points, vectors are accepted too.
mlir::Value emitBytesMatMul(NodeImporter &n, const Bytes &lhs, const Bytes &rhs);

} // namespace vx::onnx

#endif

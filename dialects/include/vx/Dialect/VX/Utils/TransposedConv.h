// The transposed convolution, built of existing ops.
#ifndef VX_DIALECT_VX_UTILS_TRANSPOSEDCONV_H
#define VX_DIALECT_VX_UTILS_TRANSPOSEDCONV_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// The transpose of the convolution with a filter [M, C / groups, k...]:
///
///     result[n, c, i...] = sum over m, o, k with o*strides + k*dilations - pads = i of input[n, m, o...] * filter[m,
///     c, k...]
///
/// `input` is [N, M, o...], the result [N, C, sizes...]. As ONNX's ConvTranspose, and the gradient of `vx.conv` with
/// respect to its input. `pads` are those before each dimension.
mlir::Value emitTransposedConv(GraphBuilder &g, mlir::Value input, mlir::Value filter, llvm::ArrayRef<DimAttr> sizes,
                               llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilations,
                               llvm::ArrayRef<DimAttr> pads, int64_t groups);

/// The second half of it: sums the products of all taps, [N, C, k..., o...] with known k, where they meet.
///
///     result[n, c, i...] = sum over k, o with o*strides + k*dilations - pads = i of products[n, c, k..., o...]
///
/// Needs `canSumTaps(k, strides)`: k is known, and both are small, since each tap of a dimension is an op.
mlir::Value emitTapSums(GraphBuilder &g, mlir::Value products, llvm::ArrayRef<DimAttr> sizes,
                        llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilations,
                        llvm::ArrayRef<DimAttr> pads);
bool canSumTaps(llvm::ArrayRef<DimAttr> kernel, llvm::ArrayRef<int64_t> strides);

} // namespace vx

#endif

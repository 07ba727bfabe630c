// The convolution that goes the other way, of ops that there are.
#ifndef VX_DIALECT_VX_UTILS_TRANSPOSEDCONV_H
#define VX_DIALECT_VX_UTILS_TRANSPOSEDCONV_H

#include "vx/Dialect/VX/IR/GraphBuilder.h"

namespace vx {

/// What the convolution of a filter [M, C / groups, k...] sums over, added up where it came from:
///
///     result[n, c, i...] = sum over m, o, k with o*strides + k*dilations - pads = i of input[n, m, o...] * filter[m,
///     c, k...]
///
/// `input` is [N, M, o...], the result [N, C, sizes...]. As ONNX's ConvTranspose, and the gradient of `vx.conv` with
/// respect to its input. `pads` are those before each dimension.
mlir::Value emitTransposedConv(GraphBuilder &g, mlir::Value input, mlir::Value filter, llvm::ArrayRef<DimAttr> sizes,
                               llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilations,
                               llvm::ArrayRef<DimAttr> pads, int64_t groups);

} // namespace vx

#endif

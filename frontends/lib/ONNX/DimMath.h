// Arithmetic on dimension expressions with a limit on their size, against hostile models: each function throws an
// ImportError if its result has more terms than any real model needs.
#ifndef VX_FRONTEND_ONNX_DIMMATH_H
#define VX_FRONTEND_ONNX_DIMMATH_H

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/StringSet.h"

namespace vx::onnx {

using Dims = llvm::SmallVector<DimAttr, 6>;

constexpr int64_t maxRank = 32;
/// The most elements of one tensor. So all sizes in bytes and strides are far below the limits of 64 bits.
constexpr int64_t maxElements = int64_t(1) << 48;

DimAttr addDims(DimAttr lhs, DimAttr rhs);
DimAttr subDims(DimAttr lhs, DimAttr rhs);
DimAttr mulDims(DimAttr lhs, DimAttr rhs);
DimAttr floorDivDims(DimAttr lhs, DimAttr rhs);
DimAttr ceilDivDims(DimAttr lhs, DimAttr rhs);
DimAttr modDims(DimAttr lhs, DimAttr rhs);
DimAttr maxDims(DimAttr lhs, DimAttr rhs);
DimAttr minDims(DimAttr lhs, DimAttr rhs);
DimAttr productOf(mlir::MLIRContext *context, llvm::ArrayRef<DimAttr> dims);

/// Counts the terms of an expression, up to `limit` + 1.
int64_t countNodes(DimAttr dim, int64_t limit);
/// Returns true if the expression names one of the symbols.
bool namesAnyOf(DimAttr dim, const llvm::StringSet<> &symbols);
/// Returns true if the expression is at least 0 for all symbol values.
bool isNotNegative(DimAttr dim);
/// Returns true if lhs < rhs for all symbol values.
bool isLess(DimAttr lhs, DimAttr rhs);
/// Returns whether the two are equal for all symbol values; nullopt if that is not known.
std::optional<bool> areEqual(DimAttr lhs, DimAttr rhs);

/// Throws if a size is negative or unknown, or if a tensor of these sizes exceeds the limits above.
void checkTensorSizes(llvm::ArrayRef<DimAttr> dims);
/// Returns a tensor type of checked sizes.
mlir::RankedTensorType makeTensorType(llvm::ArrayRef<DimAttr> dims, mlir::Type elementType);

} // namespace vx::onnx

#endif

// Arithmetic on dimension expressions that a hostile model cannot blow up: each function throws an ImportError when its
// result would hold more terms than any real model's.
#ifndef VX_FRONTEND_ONNX_DIMMATH_H
#define VX_FRONTEND_ONNX_DIMMATH_H

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/StringSet.h"

namespace vx::onnx {

using Dims = llvm::SmallVector<DimAttr, 6>;

constexpr int64_t maxRank = 32;
/// Elements of one tensor; keeps every size in bytes and every stride far from the limits of 64 bits.
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

/// The terms of an expression, of which no more than `limit` + 1 are counted.
int64_t countNodes(DimAttr dim, int64_t limit);
/// True when the expression names one of the symbols.
bool namesAnyOf(DimAttr dim, const llvm::StringSet<> &symbols);
/// True when the expression is at least 0 for all symbol values.
bool isNotNegative(DimAttr dim);
/// True when lhs < rhs for all symbol values.
bool isLess(DimAttr lhs, DimAttr rhs);
/// Whether the two are equal, where that is known for all symbol values.
std::optional<bool> areEqual(DimAttr lhs, DimAttr rhs);

/// Throws when a size is negative or unknown, or when a tensor of these sizes breaks the limits above.
void checkTensorSizes(llvm::ArrayRef<DimAttr> dims);
/// A tensor type of sizes that pass.
mlir::RankedTensorType makeTensorType(llvm::ArrayRef<DimAttr> dims, mlir::Type elementType);

} // namespace vx::onnx

#endif

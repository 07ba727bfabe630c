// What the files Import*.cpp share. Each holds a family: one function for each op, and the table that says which
// versions each function reads.
#ifndef VX_FRONTEND_ONNX_OPFUNCTIONS_H
#define VX_FRONTEND_ONNX_OPFUNCTIONS_H

#include "NodeImporter.h"
#include "OpTable.h"

namespace vx::onnx {

/// True when an element type can hold the value; an expression over symbols counts as one that fits any integer.
bool fitsType(DimAttr value, mlir::Type elementType);
/// `p`, the power of a norm's elements: 2 where the node does not say.
int64_t getNormPower(NodeImporter &n);
/// The norm of these sums of p-th powers.
mlir::Value emitRootOfPowers(NodeImporter &n, mlir::Value sum, int64_t p);
/// The element type of a sequence that holds tensors of both types: dimensions that differ become unknown.
mlir::TensorType joinElementTypes(mlir::TensorType lhs, mlir::TensorType rhs);

} // namespace vx::onnx

#endif

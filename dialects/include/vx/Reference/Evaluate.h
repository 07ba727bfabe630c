// The meaning of each op: evaluates one op on host tensors.
//
// Slow and readable on purpose. Floats are computed in f64 (sums of f64 in the widest type there is) and rounded once
// to the element type of the result, integers in 64 bits; so results are at least as exact as the op's numerics
// promise.
#ifndef VX_REFERENCE_EVALUATE_H
#define VX_REFERENCE_EVALUATE_H

#include "mlir/IR/Operation.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Reference/HostTensor.h"
#include "llvm/ADT/StringMap.h"

namespace vx::reference {

/// The values of dimension symbols.
using SymbolValues = llvm::StringMap<int64_t>;

/// Returns the value of an expression. Fails with the name of the first symbol without a value, on overflow and on
/// division by zero.
llvm::Expected<int64_t> evaluateDim(DimAttr dim, const SymbolValues &symbols);

/// Returns the sizes of a tensor type. Fails if a dimension is unknown or negative, and if the number of bytes
/// overflows.
llvm::Expected<llvm::SmallVector<int64_t>> evaluateShape(mlir::RankedTensorType type, const SymbolValues &symbols);

/// Returns true for the ops that `evaluate` supports: their results depend on operands, attributes and symbols only.
/// The interpreter (Interpreter.h) has control flow, state and dispatches.
bool canEvaluate(mlir::OperationName op);

/// Fails, with the name of the source node, for an op that `evaluate` does not support and for one with strings.
llvm::Error checkEvaluable(mlir::Operation *op);

/// Returns the results of one op. Fails, with the name of the source node, if the op fails at run time: an index out of
/// range, or sizes that do not fit together. Thread-safe.
llvm::Expected<llvm::SmallVector<HostValue>> evaluate(mlir::Operation *op, llvm::ArrayRef<HostValue> operands,
                                                      const SymbolValues &symbols);

} // namespace vx::reference

#endif

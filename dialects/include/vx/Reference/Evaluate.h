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

/// The value of an expression; fails with the first symbol that has no value, on overflow and on division by zero.
llvm::Expected<int64_t> evaluateDim(DimAttr dim, const SymbolValues &symbols);

/// The sizes of a tensor type. Fails when a dimension is unknown or negative, and when they are too many bytes to
/// count.
llvm::Expected<llvm::SmallVector<int64_t>> evaluateShape(mlir::RankedTensorType type, const SymbolValues &symbols);

/// True for the ops that `evaluate` knows: those whose results follow from operands, attributes and symbols alone.
/// Control flow, state and dispatches are for the interpreter (Interpreter.h).
bool canEvaluate(mlir::OperationName op);

/// Fails, with the name of the source node, at an op that `evaluate` does not know and one with strings.
llvm::Error checkEvaluable(mlir::Operation *op);

/// The results of one op. Fails, with the name of the source node, where running the op would fail: an index out of
/// range, or sizes that do not fit together. Thread-safe.
llvm::Expected<llvm::SmallVector<HostValue>> evaluate(mlir::Operation *op, llvm::ArrayRef<HostValue> operands,
                                                      const SymbolValues &symbols);

} // namespace vx::reference

#endif

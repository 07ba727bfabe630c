// The vxrt dialect: the host program of a model for one target.
#ifndef VX_DIALECT_VXRT_IR_VXRTDIALECT_H
#define VX_DIALECT_VXRT_IR_VXRTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "vx/Dialect/VXRT/IR/VXRTDialect.h.inc"
#include "vx/Dialect/VXRT/IR/VXRTEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "vx/Dialect/VXRT/IR/VXRTTypes.h.inc"

#define GET_OP_CLASSES
#include "vx/Dialect/VXRT/IR/VXRTOps.h.inc"

namespace vxrt {

/// Attributes of a program: the type of its function, and the names of the function's inputs and results.
inline constexpr llvm::StringLiteral kFunctionTypeAttr = "function_type";
inline constexpr llvm::StringLiteral kInputNamesAttr = "input_names";
inline constexpr llvm::StringLiteral kResultNamesAttr = "result_names";
/// Attribute of a program: the constraints of its function on its inputs' sizes, checked before the program runs. An
/// array of dictionaries with `kind`, `lhs` and `rhs` (#vx.dim), `want` and `node` as of a vx.constraint.
inline constexpr llvm::StringLiteral kConstraintsAttr = "constraints";
/// Attribute of a program that computes a derived value, a string: derived values with equal keys are equal.
inline constexpr llvm::StringLiteral kDerivedAttr = "derived";
/// #vx.dim attributes of a program whose arena is planned: bytes of the arena, and the most bytes that are live at
/// once.
inline constexpr llvm::StringLiteral kArenaSizeAttr = "arena_size";
inline constexpr llvm::StringLiteral kArenaLowerBoundAttr = "arena_lower_bound";

/// Attribute of a program: input, result, input, result, ...; see `getAliases`.
inline constexpr llvm::StringLiteral kAliasesAttr = "aliases";

/// An input and a result of a program, by number, that may be the same memory: nothing reads the input after the first
/// command that writes the result.
struct AliasPair {
  int64_t input = 0;
  int64_t result = 0;

  bool operator==(const AliasPair &) const = default;
};

/// Returns the pairs of the attribute `aliases` of a program; none without it.
llvm::SmallVector<AliasPair> getAliases(ProgramOp program);

void setAliases(ProgramOp program, llvm::ArrayRef<AliasPair> pairs);

/// Returns the buffer or object of an input or a result. A result needs a program with `vxrt.return`.
mlir::Value getInput(ProgramOp program, int64_t number);
mlir::Value getResult(ProgramOp program, int64_t number);

/// Returns the bits of one element in device memory and in the module file: a bool is one byte, 4- and 2-bit elements
/// are packed. 0 for strings, which are not stored there.
unsigned getStorageBits(mlir::Type elementType);

/// Returns the buffers that a command of a segment reads, or writes; none for another op.
mlir::OperandRange getReadBuffers(mlir::Operation *command);
mlir::OperandRange getWrittenBuffers(mlir::Operation *command);

/// Returns true for a command that writes to the memory of a variable.
bool writesVariable(mlir::Operation *command);

} // namespace vxrt

#endif

// Passes of the `schedule` phase.
#ifndef VX_CONVERSION_SCHEDULEPASSES_H
#define VX_CONVERSION_SCHEDULEPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Conversion/SchedulePasses.h.inc"

/// The bytes of `count` elements as the module file stores them: bool is one byte, 4- and 2-bit elements are packed.
/// Returns the bits of one element, 0 for an element type that has no memory form (strings).
unsigned getStorageBits(mlir::Type elementType);

/// Attributes of a vxrt.program: the function's type, and the names of its inputs and results.
inline constexpr llvm::StringLiteral kFunctionTypeAttr = "function_type";
inline constexpr llvm::StringLiteral kInputNamesAttr = "input_names";
inline constexpr llvm::StringLiteral kResultNamesAttr = "result_names";

#define GEN_PASS_REGISTRATION
#include "vx/Conversion/SchedulePasses.h.inc"

} // namespace vx

#endif

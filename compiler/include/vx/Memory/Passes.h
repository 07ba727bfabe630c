// Passes that decide where buffers lie.
#ifndef VX_MEMORY_PASSES_H
#define VX_MEMORY_PASSES_H

#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Memory/Passes.h.inc"

/// #vx.dim attributes of a program: bytes of its arena, and the most bytes that are live at once.
inline constexpr llvm::StringLiteral kArenaSizeAttr = "arena_size";
inline constexpr llvm::StringLiteral kArenaLowerBoundAttr = "arena_lower_bound";

/// The expression of an i64 value of a program over the program's symbols; null when it depends on what runs.
DimAttr getEntryExpression(mlir::Value value);

#define GEN_PASS_REGISTRATION
#include "vx/Memory/Passes.h.inc"

} // namespace vx

#endif

// What the verifiers of the phases have in common that all targets share.
#ifndef VX_LIB_TRANSFORMS_GRAPHCHECKS_H
#define VX_LIB_TRANSFORMS_GRAPHCHECKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/StringMap.h"

namespace vx {

/// The symbols of a module by name.
using Declarations = llvm::StringMap<SymbolOp>;
Declarations getDeclarations(mlir::ModuleOp module);

/// C1 of these phases: fails with a diagnostic where `op` is none of a graph's.
llvm::LogicalResult checkKind(mlir::Operation *op, llvm::StringRef phase);

/// C2 of these phases: fails with a diagnostic where `op` names a symbol that is not declared.
llvm::LogicalResult checkSymbols(mlir::Operation *op, const Declarations &declarations);

/// Calls `check` for each value that `op` makes, region arguments included.
llvm::LogicalResult checkValues(mlir::Operation *op, llvm::function_ref<llvm::LogicalResult(mlir::Type)> check);

/// The promise of the `graph` phase, which those behind it keep: fails with a diagnostic where it is broken.
llvm::LogicalResult checkGraph(mlir::ModuleOp module, llvm::StringRef phase);

} // namespace vx

#endif

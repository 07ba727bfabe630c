// Copies of ops whose symbols are their own: what binds a symbol while it runs may stand in a program once.
#ifndef VX_DIALECT_VX_UTILS_CLONEWITHFRESHSYMBOLS_H
#define VX_DIALECT_VX_UTILS_CLONEWITHFRESHSYMBOLS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace vx {

/// What symbols stand for in a copy.
using SymbolMap = llvm::DenseMap<mlir::StringAttr, DimAttr>;

/// Declares each of `names` again, as it is declared now, under a name that is free, and adds to `symbols` what it is
/// called there. Leaves alone what is declared nowhere, or stands in `symbols`.
void declareAnew(mlir::ModuleOp module, llvm::ArrayRef<mlir::StringAttr> names, SymbolMap &symbols);

/// Declares a data-dependent symbol under a name that begins with `name` and is free.
DimAttr declareDataDependent(mlir::ModuleOp module, llvm::StringRef name);

/// Clones the ops of `source`, a region of one block inside of a function or a function's own, but for its terminator,
/// to where `builder` stands in the same module.
///
/// Each symbol that an op of the region binds (vx.bind_symbol, vx.loop and what else makes values of sizes known while
/// it runs) is declared anew, as it is declared now, under a name that is free. A symbol in `symbols` becomes what
/// stands there; any other one stays. `symbols` gets the new ones.
///
/// \param mapping   Has the values that stand for the block's arguments; gets those of everything that was cloned.
/// \param location  Of the call or copy; each clone is located at its op, seen from there.
void cloneWithFreshSymbols(mlir::Region &source, mlir::OpBuilder &builder, mlir::Location location,
                           mlir::IRMapping &mapping, SymbolMap &symbols);

/// Replaces in `op` and all ops inside of it the symbols in `symbols`, in types, attributes and what binds them.
void replaceSymbols(mlir::Operation *op, const SymbolMap &symbols);

} // namespace vx

#endif

// Clones of ops with new symbols. A program has at most one op that binds a symbol at run time.
#ifndef VX_DIALECT_VX_UTILS_CLONEWITHFRESHSYMBOLS_H
#define VX_DIALECT_VX_UTILS_CLONEWITHFRESHSYMBOLS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace vx {

/// The replacements of symbols in a copy.
using SymbolMap = llvm::DenseMap<mlir::StringAttr, DimAttr>;

/// Declares a copy of each of `names` under an unused name, and adds the new symbol to `symbols`. Skips names that have
/// no declaration or are in `symbols` already.
void declareAnew(mlir::ModuleOp module, llvm::ArrayRef<mlir::StringAttr> names, SymbolMap &symbols);

/// Declares a data-dependent symbol under an unused name that begins with `name`.
DimAttr declareDataDependent(mlir::ModuleOp module, llvm::StringRef name);

/// Clones the ops of `source` except its terminator to the insertion point of `builder` in the same module. `source` is
/// a region of one block, inside of a function or the function's own.
///
/// Each symbol that an op of the region binds (vx.bind_symbol, vx.loop and other ops with sizes that are known at run
/// time only) gets a copy of its declaration under an unused name, which is added to `symbols`. A symbol in `symbols`
/// is replaced by its entry. All others stay.
///
/// \param mapping   Has the values of the block's arguments; gets the value of each cloned result.
/// \param location  The location of the call or copy; each clone has its op's location as seen from there.
void cloneWithFreshSymbols(mlir::Region &source, mlir::OpBuilder &builder, mlir::Location location,
                           mlir::IRMapping &mapping, SymbolMap &symbols);

/// Replaces the symbols in `symbols` in `op` and all ops inside of it: in types, in attributes and where they are
/// bound.
void replaceSymbols(mlir::Operation *op, const SymbolMap &symbols);

} // namespace vx

#endif

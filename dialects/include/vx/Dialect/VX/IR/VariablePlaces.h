// The positions of variables in storages, and the variables that share bytes.
#ifndef VX_DIALECT_VX_IR_VARIABLEPLACES_H
#define VX_DIALECT_VX_IR_VARIABLEPLACES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// The alignment of offsets in a pool: VX_BUFFER_ALIGNMENT of the module file. The module writer compares both.
inline constexpr int64_t kVariableAlignment = 64;

/// A range of bytes of a storage: a variable that lies in no other.
struct VariablePlace {
  mlir::StringAttr storage;
  int64_t offset = 0;
  int64_t size = -1; // negative: all of the storage; its size is known at instance creation

  bool overlaps(const VariablePlace &other) const;
  bool operator==(const VariablePlace &) const = default;
};

VariablePlace getPlace(VariableOp variable);

/// The positions of a module's variables, by name. An unknown name is a storage of its own.
class VariablePlaces {
public:
  explicit VariablePlaces(mlir::ModuleOp module);

  VariablePlace lookup(mlir::StringAttr variable) const;
  bool overlap(mlir::StringAttr a, mlir::StringAttr b) const { return lookup(a).overlaps(lookup(b)); }

private:
  llvm::DenseMap<mlir::StringAttr, VariablePlace> places;
};

/// Returns the variable of a `vx.variable_load` or `vx.variable_store`; null for other ops.
mlir::StringAttr getAccessedVariable(mlir::Operation *op);

/// An access of a variable, and a store of another one that shares bytes with it. Their order decides the contents,
/// since the access follows the store, or both are in one loop, or the access is a store too.
struct OverlappingAccess {
  mlir::Operation *store = nullptr;
  mlir::Operation *access = nullptr;
};

/// Returns at most one such access for each storage, of all ops in `root`.
llvm::SmallVector<OverlappingAccess> findOverlappingAccesses(mlir::Operation *root, const VariablePlaces &places);

} // namespace vx

#endif

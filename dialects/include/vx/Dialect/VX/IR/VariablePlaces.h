// Where variables lie, and which of them share bytes.
#ifndef VX_DIALECT_VX_IR_VARIABLEPLACES_H
#define VX_DIALECT_VX_IR_VARIABLEPLACES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// What offsets in a pool are multiples of: VX_BUFFER_ALIGNMENT of the module file, which the module writer compares.
inline constexpr int64_t kVariableAlignment = 64;

/// A range of bytes of a variable that lies in no other.
struct VariablePlace {
  mlir::StringAttr storage;
  int64_t offset = 0;
  int64_t size = -1; // negative: all of the storage, whose size an instance knows

  bool overlaps(const VariablePlace &other) const;
  bool operator==(const VariablePlace &) const = default;
};

VariablePlace getPlace(VariableOp variable);

/// The places of a module's variables, by name. A name that is none is a storage of its own.
class VariablePlaces {
public:
  explicit VariablePlaces(mlir::ModuleOp module);

  VariablePlace lookup(mlir::StringAttr variable) const;
  bool overlap(mlir::StringAttr a, mlir::StringAttr b) const { return lookup(a).overlaps(lookup(b)); }

private:
  llvm::DenseMap<mlir::StringAttr, VariablePlace> places;
};

/// The variable that a `vx.variable_load` or `vx.variable_store` is of; null for other ops.
mlir::StringAttr getAccessedVariable(mlir::Operation *op);

/// An access of a variable that may come after a store of another one that shares bytes with it, so that the order of
/// both decides what is there: it stands behind the store, or both stand in one loop, or it is a store too.
struct OverlappingAccess {
  mlir::Operation *store = nullptr;
  mlir::Operation *access = nullptr;
};

/// One such access for each storage where there is any, of all ops in `root`.
llvm::SmallVector<OverlappingAccess> findOverlappingAccesses(mlir::Operation *root, const VariablePlaces &places);

} // namespace vx

#endif

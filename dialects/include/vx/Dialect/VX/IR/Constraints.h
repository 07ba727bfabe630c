// Predicates over sizes that ops rely on: collection, proof for all values of the symbols, and text for messages.
#ifndef VX_DIALECT_VX_IR_CONSTRAINTS_H
#define VX_DIALECT_VX_IR_CONSTRAINTS_H

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::func {
class FuncOp;
}

namespace vx {

/// A `vx.constraint` that no op states yet.
struct Constraint {
  ConstraintKind kind;
  DimAttr lhs, rhs;
};

/// The values that a symbol may have by its declaration: multiples of `multiple` in [min, max].
struct SymbolRange {
  int64_t min = 0, max = INT64_MAX, multiple = 1;
};

/// The ranges of a module's symbols, read once. A symbol without a declaration has the widest range.
class SymbolRanges {
public:
  SymbolRanges() = default;
  explicit SymbolRanges(mlir::ModuleOp module);
  SymbolRange lookup(mlir::StringAttr symbol) const { return ranges.lookup(symbol.getValue()); }
  bool isDataDependent(mlir::StringAttr symbol) const { return dataDependent.contains(symbol.getValue()); }

private:
  llvm::StringMap<SymbolRange> ranges;
  llvm::StringMap<bool> dataDependent;
};

/// Returns true if the predicate holds for two numbers.
bool holds(ConstraintKind kind, int64_t lhs, int64_t rhs);

/// Returns true if the constraint holds for all values that `ranges` allows, false if it holds for none, and nullopt if
/// neither is proved.
std::optional<bool> decide(const Constraint &constraint, const SymbolRanges &ranges);

/// Returns true if `dim` is proved to be at least 0 for all values that `ranges` allows.
bool isNeverNegative(DimAttr dim, const SymbolRanges &ranges);

/// Returns the requirement of a node as text to follow "wants ": "sizes 'n' and 'm' equal".
std::string describeWant(const Constraint &constraint);

/// Returns the op that binds each data-dependent symbol of a function: its `vx.bind_symbol` or `vx.loop`, or else the
/// first `vx.loop`, `vx.if` or `vx.sequence_at` that makes a value with the symbol in its type.
llvm::StringMap<mlir::Operation *> findSymbolBinders(mlir::func::FuncOp function, const SymbolRanges &ranges);
/// Returns true if the op may bind a size in its types or in those of its region's arguments.
bool mayBindSizes(mlir::Operation *op, const SymbolRanges &ranges);
/// Returns true if removing the op loses its results only: neither the op nor an op inside has an effect or binds a
/// size.
bool onlyComputes(mlir::Operation *op, const SymbolRanges &ranges);

/// Receives the sizes that an op relies on, in `ConstrainedOpInterface::collectConstraints`. Ignores unknown sizes
/// (null) and pairs of equal ones.
class ConstraintCollector {
public:
  ConstraintCollector(const llvm::StringMap<mlir::Operation *> &binders,
                      llvm::function_ref<void(const Constraint &)> record)
      : binders(binders), record(record) {}

  void want(ConstraintKind kind, DimAttr lhs, DimAttr rhs) {
    if (lhs && rhs)
      record({kind, lhs, rhs});
  }
  void want(ConstraintKind kind, DimAttr lhs, int64_t rhs) {
    if (lhs)
      want(kind, lhs, DimAttr::constant(lhs.getContext(), rhs));
  }
  void wantEqual(DimAttr lhs, DimAttr rhs) {
    if (lhs != rhs)
      want(ConstraintKind::equal, lhs, rhs);
  }
  /// Requires that `lhs` can be repeated to `rhs`. An operand of a broadcast can be repeated where the broadcast itself
  /// can.
  void wantRepeat(DimAttr lhs, DimAttr rhs);
  /// Requires that a window fits into the padded input; otherwise it has no position. A window of one element requires
  /// nothing, since its dimension may be empty.
  void wantWindow(DimAttr size, DimAttr window, int64_t dilation, int64_t low, int64_t high);
  /// Requires equal shapes of two ranked tensors of one rank; requires nothing of other types.
  void wantEqualShapes(mlir::Type lhs, mlir::Type rhs);
  /// Requires equal sizes where a value of type `incoming` becomes one of type `pattern`, which `binder` makes. Sizes
  /// that `binder` binds are left out.
  void wantKnownShape(mlir::Type pattern, mlir::Operation *binder, mlir::Type incoming);

private:
  const llvm::StringMap<mlir::Operation *> &binders;
  llvm::function_ref<void(const Constraint &)> record;
};

/// Calls `record` for each condition on sizes that `op`, of the vx dialect, relies on: two sizes that may differ, or a
/// size that may be too small. A terminator of `vx.if` and `vx.loop` has the conditions of the op around it on the
/// yielded values. `binders` is of the op's function.
void collectConstraints(mlir::Operation *op, const llvm::StringMap<mlir::Operation *> &binders,
                        llvm::function_ref<void(const Constraint &)> record);

} // namespace vx

#endif

// Predicates over sizes: what an op relies on, whether that holds for all values of the symbols, and its words.
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

/// The values that a symbol may take, by its declaration: multiples of `multiple` in [min, max].
struct SymbolRange {
  int64_t min = 0, max = INT64_MAX, multiple = 1;
};

/// The declarations of a module's symbols, read once; those of a symbol that is not declared are the widest.
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

/// Whether the predicate holds for two numbers.
bool holds(ConstraintKind kind, int64_t lhs, int64_t rhs);

/// True when the constraint holds for all values that `ranges` allows, false when it does for none; nothing when that
/// is not known.
std::optional<bool> decide(const Constraint &constraint, const SymbolRanges &ranges);

/// True when `dim` is known to be at least 0 for all values that `ranges` allows.
bool isNeverNegative(DimAttr dim, const SymbolRanges &ranges);

/// What a node wants, in words: "sizes 'n' and 'm' equal". To follow "wants ".
std::string describeWant(const Constraint &constraint);

/// Which op binds each data-dependent symbol of a function: its `vx.bind_symbol` or `vx.loop`, or else the first
/// `vx.loop`, `vx.if` or `vx.sequence_at` that makes a value of a type that names it.
llvm::StringMap<mlir::Operation *> findSymbolBinders(mlir::func::FuncOp function, const SymbolRanges &ranges);
/// True where a size in a type of the op's, or of its region's arguments, may be bound by it.
bool mayBindSizes(mlir::Operation *op, const SymbolRanges &ranges);
/// True for an op that nothing is lost with but its results: it has no effect and binds no size, nor has anything in
/// it.
bool onlyComputes(mlir::Operation *op, const SymbolRanges &ranges);

/// What an op says of the sizes that it relies on, in `ConstrainedOpInterface::collectConstraints`. A size that nothing
/// knows (null) is no business of this; equal ones need no words.
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
  /// `lhs` is repeated to `rhs`. A part of a broadcast can be, where that broadcast can.
  void wantRepeat(DimAttr lhs, DimAttr rhs);
  /// A window that does not fit into the padded input has no place at all; one of a single element leaves its dimension
  /// alone, empty or not.
  void wantWindow(DimAttr size, DimAttr window, int64_t dilation, int64_t low, int64_t high);
  /// Of two ranked tensors of one rank; nothing of other types.
  void wantEqualShapes(mlir::Type lhs, mlir::Type rhs);
  /// A value of type `incoming` becomes one of type `pattern`, which `binder` makes: the sizes that it does not bind.
  void wantKnownShape(mlir::Type pattern, mlir::Operation *binder, mlir::Type incoming);

private:
  const llvm::StringMap<mlir::Operation *> &binders;
  llvm::function_ref<void(const Constraint &)> record;
};

/// Calls `record` with everything that `op`, of the vx dialect, relies on where two sizes only may be equal, or a size
/// may be too small. A terminator of `vx.if` and `vx.loop` stands for what the op around it wants of the values
/// yielded. `binders` is of the op's function.
void collectConstraints(mlir::Operation *op, const llvm::StringMap<mlir::Operation *> &binders,
                        llvm::function_ref<void(const Constraint &)> record);

} // namespace vx

#endif

// Size expressions and the i64 values of a program that they equal.
#ifndef VX_MEMORY_EXPRESSIONS_H
#define VX_MEMORY_EXPRESSIONS_H

#include "mlir/IR/Builders.h"
#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace vx {

/// Symbols of the planner's own, each for the greatest of some expressions. So a large maximum stays one term in all
/// sums.
class NamedMaxima {
public:
  explicit NamedMaxima(vxrt::ProgramOp program);

  /// The symbol of the greatest of `parts`; equal parts have one symbol. A single part that is large may have a name
  /// too.
  DimAttr get(llvm::ArrayRef<DimAttr> parts);
  /// The expressions of which `symbol` is the greatest; empty for a symbol of the program.
  llvm::ArrayRef<DimAttr> getParts(DimAttr symbol) const;
  /// Proved for all sizes that the declarations of the program's symbols allow; false also if no proof was found.
  bool isAtMost(DimAttr lhs, DimAttr rhs) const;

private:
  mlir::MLIRContext *context;
  SymbolRanges ranges;
  bool areRangesNarrow = false; // some symbol of the program may not have every size
  std::string prefix;           // no symbol of the program begins with it
  llvm::DenseMap<mlir::ArrayAttr, DimAttr> symbols;
  llvm::DenseMap<DimAttr, mlir::ArrayAttr> parts;
};

/// The expressions of i64 values of a program over its symbols, each found once. A symbol may be one that an input's
/// element gives (`vxrt.read_input`).
class EntryExpressions {
public:
  /// With `maxima`, a maximum of two that is not proved to be one of them is a symbol of that table.
  explicit EntryExpressions(NamedMaxima *maxima = nullptr) : maxima(maxima) {}
  /// Null when the value depends on the run.
  DimAttr get(mlir::Value value);

private:
  DimAttr compute(mlir::Value value);

  NamedMaxima *maxima;
  llvm::DenseMap<mlir::Value, DimAttr> known;
};

/// Makes the i64 value of an expression at the builder's insertion point: the inverse of EntryExpressions. `known`
/// gives the value of a symbol, and of an expression that has one already; null where there is none. `made` is called
/// for each new value. Null when a symbol has no value.
mlir::Value emitExpression(mlir::OpBuilder &builder, mlir::Location location, DimAttr dim,
                           llvm::function_ref<mlir::Value(DimAttr)> known,
                           llvm::function_ref<void(DimAttr, mlir::Value)> made);

} // namespace vx

#endif

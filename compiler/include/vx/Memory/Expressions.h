// Size expressions and the i64 values of a program that stand for them.
#ifndef VX_MEMORY_EXPRESSIONS_H
#define VX_MEMORY_EXPRESSIONS_H

#include "mlir/IR/Builders.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

namespace vx {

/// The expression of an i64 value of a program over the program's symbols; null when it depends on what runs.
DimAttr getEntryExpression(mlir::Value value);

/// Makes the i64 value of an expression at the builder's insertion point: the inverse of getEntryExpression. `known`
/// gives the value of a symbol, and of an expression that has one already; null where there is none. `made` is told of
/// each value that is new. Null when a symbol has no value.
mlir::Value emitExpression(mlir::OpBuilder &builder, mlir::Location location, DimAttr dim,
                           llvm::function_ref<mlir::Value(DimAttr)> known,
                           llvm::function_ref<void(DimAttr, mlir::Value)> made);

} // namespace vx

#endif

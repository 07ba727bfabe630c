// Whether calls of a function can be batched: which outputs have rows that depend on their own row of the inputs alone.
#ifndef VX_ANALYSIS_ROWINDEPENDENCE_H
#define VX_ANALYSIS_ROWINDEPENDENCE_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace vx {

/// Attribute of a function and of its program: a dictionary with
///   `symbol`   the number of rows: the size of dimension 0 of the batched inputs.
///   `inputs`   the numbers of these inputs; all other inputs must be equal in all calls of a batch.
///   `outputs`  for each output a string. `rows`: row i depends on row i of the batched inputs and on the other inputs.
///              `same`: the other inputs alone decide the output. Another text: why nothing is known
inline constexpr llvm::StringLiteral kBatchAttr = "vx.batch";
inline constexpr llvm::StringLiteral kRowsText = "rows", kSameText = "same";

/// The kBatchAttr of a function of the `optimised` phase, null if no input has a symbol for the size of dimension 0. It
/// is proved op by op: rows are followed through the dimensions that ops iterate (`ParallelDims.h`), also if they move
/// to another dimension, or if several elements of a dimension belong to one row. An op without a rule, such as host
/// functions and sequences, mixes rows.
///
/// Symbols that a `vx.constraint` of the function states as equal are one. Of several symbols it is the one with the
/// most outputs that have rows, and of these that of the first input.
mlir::DictionaryAttr findIndependentRows(mlir::func::FuncOp function);

} // namespace vx

#endif

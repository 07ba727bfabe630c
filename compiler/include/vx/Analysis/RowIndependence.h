// Whether calls of a function can be joined: which outputs have rows that depend on their own row of the inputs alone.
#ifndef VX_ANALYSIS_ROWINDEPENDENCE_H
#define VX_ANALYSIS_ROWINDEPENDENCE_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace vx {

/// Attribute of a function and of its program: a dictionary with
///   `symbol`   the number of rows, which is the size of dimension 0 of the inputs that are joined
///   `inputs`   the numbers of these inputs. Who joins calls gives all other inputs equal values
///   `outputs`  for each output a string: `rows` where row i is that of row i of the inputs that are joined, and of the
///   others;
///              `same` where it is what the inputs decide that are not joined, whatever the rows; else why nothing is
///              known
inline constexpr llvm::StringLiteral kBatchAttr = "vx.batch";
inline constexpr llvm::StringLiteral kRowsText = "rows", kSameText = "same";

/// What kBatchAttr says of a function of the `optimised` phase, null where no input has a symbol for the size of
/// dimension 0. It is proved op by op: rows are followed through the dimensions that ops go along (`ParallelDims.h`),
/// also where they lie along another dimension meanwhile, or several elements of a dimension belong to one row. What no
/// rule says, such as host functions and sequences, joins rows.
///
/// Symbols that a `vx.constraint` of the function takes for equal are one. Of several symbols it is the one with the
/// most outputs that have rows, and of these that of the first input.
mlir::DictionaryAttr findIndependentRows(mlir::func::FuncOp function);

} // namespace vx

#endif

// The values that the inputs of a function may have.
#ifndef VX_ANALYSIS_INPUTRANGES_H
#define VX_ANALYSIS_INPUTRANGES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace vx {

/// Attribute of an argument of a function: a dictionary with `lower`, an i64, and `upper`, a #vx.dim, of the values
/// [lower, upper) that cause no fault. Without `upper` they depend on values that only a call knows. `also`, an i64, is
/// one value more, which stands for no index.
inline constexpr llvm::StringLiteral kRangeAttr = "vx.range";
/// Attribute of a program (vxrt): for each input the kRangeAttr of its argument, or a unit attribute.
inline constexpr llvm::StringLiteral kInputRangesAttr = "input_ranges";

/// The kRangeAttr of an argument of integers with elements that index something, null for any other. An element is
/// followed through views, conversions, slices of tables and sums with a constant; other arithmetic, and uses as a
/// position or a size, give a range without an upper end.
mlir::DictionaryAttr getInputRange(mlir::BlockArgument argument);

/// Sets kRangeAttr on each argument that has a range.
void setInputRanges(mlir::func::FuncOp function);

} // namespace vx

#endif

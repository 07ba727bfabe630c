// Attributes of the vx dialect, and the algebra of symbolic dimensions.
#ifndef VX_DIALECT_VX_IR_VXATTRIBUTES_H
#define VX_DIALECT_VX_IR_VXATTRIBUTES_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TensorEncoding.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace vx {

/// The kind of a dimension expression. A `Sum` has two or more operands; a `Product` has a coefficient (`value`) and
/// one or more operands, none of which is a sum, a product or a constant.
enum class DimKind : uint32_t { Constant, Symbol, Sum, Product, FloorDiv, CeilDiv, Mod, Max, Min, Broadcast };

class DimAttr;
/// Returns the number of boxes of `tile` that cover `sizes`: the product of ceildiv(size, tile). Sizes without a tile,
/// or with a tile of 0, are left out. Null if a size with a tile is null.
DimAttr countBoxes(mlir::MLIRContext *context, llvm::ArrayRef<DimAttr> sizes, llvm::ArrayRef<int64_t> tile);

} // namespace vx

#include "vx/Dialect/VX/IR/VXEnums.h.inc"
#include "vx/Dialect/VX/IR/VXStrategyInterface.h.inc"

#define GET_ATTRDEF_CLASSES
#include "vx/Dialect/VX/IR/VXAttributes.h.inc"

namespace vx {

/// Returns the type of a value that is a ranked tensor.
mlir::RankedTensorType typeOf(mlir::Value tensor);
/// Returns the expression of dimension `index` of `type`: a constant for a static one, that of the encoding for a
/// dynamic one, and null for a dynamic one without an encoding.
DimAttr getDim(mlir::RankedTensorType type, int64_t index);
/// Returns all dimensions; entries may be null as in `getDim`.
llvm::SmallVector<DimAttr> getDims(mlir::RankedTensorType type);
/// Returns the number of elements; null if a dimension is unknown.
DimAttr getNumElements(mlir::RankedTensorType type);

/// A tensor type of these dimensions: constants become static sizes, others `?` with an encoding. Null entries give `?`
/// and, unless the others need one, no encoding.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<DimAttr> dims, mlir::Type elementType);
/// `type` with its encoding dropped.
mlir::RankedTensorType dropEncoding(mlir::RankedTensorType type);

/// Returns false if the two sizes are known to differ. Unknown (null) sizes and different symbols may be equal.
bool mayBeEqual(DimAttr lhs, DimAttr rhs);

} // namespace vx

#endif

// Folders: what an op is when its operands or its own type already say so. Folding of values is a pass, which uses the
// reference evaluator.
#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

namespace vx {

// What joins equal constants of a block goes by this attribute alone: two initializers stay two.
OpFoldResult ConstantOp::fold(FoldAdaptor) {
  return getNames() ? OpFoldResult(ArrayAttr::get(getContext(), {getValue(), getNamesAttr()}))
                    : OpFoldResult(getValue());
}

OpFoldResult DimValueOp::fold(FoldAdaptor) {
  std::optional<int64_t> value = getValue().asConstant();
  return value ? DenseElementsAttr::get(getResult().getType(), ArrayRef<int64_t>(*value)) : OpFoldResult();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  // Two reshapes in a row are one; a reshape back is none.
  if (auto producer = getInput().getDefiningOp<ReshapeOp>()) {
    if (producer.getInput().getType() == getResult().getType())
      return producer.getInput();
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()))
    if (getResult().getType().hasStaticShape())
      return elements.reshape(getResult().getType());
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  // Of one place the direction is of no matter: a filter of 1 x 1 that is turned around stays as it is.
  SmallVector<int64_t> strides(getStrides());
  for (auto [stride, dim] : llvm::zip_equal(strides, getDims(getResult().getType())))
    if (dim.asConstant() == 1)
      stride = 1;
  if (ArrayRef(strides) != getStrides()) {
    setStrides(strides);
    return getResult();
  }
  bool isWhole = getInput().getType() == getResult().getType() &&
                 llvm::all_of(getStrides(), [](int64_t s) { return s == 1; }) &&
                 llvm::all_of(getStarts(), [](Attribute start) { return cast<DimAttr>(start).asConstant() == 0; });
  return isWhole ? OpFoldResult(getInput()) : OpFoldResult();
}

} // namespace vx

#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsIndexing.cpp.inc"

namespace vx {

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= input.getRank()) // C1
    return emitOptionalError(location, "'vx.gather' op expects 'axis' to be a dimension of 'input': 0 to ",
                             input.getRank() - 1, ", got ", axis);
  int64_t members = adaptor.getMembers().value_or(1);
  if (members < 1 || members > input.getRank() - axis) // C2
    return emitOptionalError(location, "'vx.gather' op expects 'members' to count dimensions of 'input': 1 to ",
                             input.getRank() - axis, ", got ", members);
  SmallVector<DimAttr> inputDims = getDims(input), indexDims = getDims(indices), dims;
  if (adaptor.getMembers()) {
    if (indexDims.empty() || indexDims.back() != DimAttr::constant(input.getContext(), members)) // C2
      return emitOptionalError(location, "'vx.gather' op expects tuples of ", members, " indices, got ", indices);
    indexDims.pop_back();
  }
  dims.append(inputDims.begin(), inputDims.begin() + axis);
  llvm::append_range(dims, indexDims);
  dims.append(inputDims.begin() + axis + members, inputDims.end());
  types.push_back(getTensorType(dims, input.getElementType()));
  return success();
}

LogicalResult CheckIndicesOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getIndices().getType());
  int64_t count = adaptor.getSizes().size(), rank = type.getRank();
  bool isForTuples = rank > 0 && (type.isDynamicDim(rank - 1) || type.getDimSize(rank - 1) == count);
  if (count != 1 && !(count > 1 && isForTuples)) // C1
    return emitOptionalError(location, "'", getOperationName(),
                             "' op expects one entry in 'sizes', or one for each "
                             "member of the last dimension of 'indices', ",
                             type, ", got ", count);
  types.push_back(type);
  return success();
}

bool mayFault(Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  return op->hasTrait<OpTrait::MayFault>() && !(gather && gather.getInRange());
}

SmallVector<DimAttr> GatherOp::getIndexedSizes(unsigned operand) {
  if (operand != getIndicesMutable().getOperandNumber())
    return {};
  auto members = static_cast<int64_t>(getMembers().value_or(1));
  return llvm::to_vector(ArrayRef(getDims(getInput().getType())).slice(getAxis(), members));
}

SmallVector<DimAttr> CheckIndicesOp::getIndexedSizes(unsigned) {
  return llvm::to_vector(getSizes().getAsRange<DimAttr>());
}

void CheckIndicesOp::collectConstraints(ConstraintCollector &collector) {
  if (getSizes().size() > 1)
    collector.wantEqual(getDims(getIndices().getType()).back(),
                        DimAttr::constant(getContext(), getSizes().size())); // C1
}

LogicalResult TopPlacesOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto keys = cast<RankedTensorType>(adaptor.getKeys().getType());
  int64_t count = adaptor.getCount();
  if (keys.getRank() != 2) // C1
    return emitOptionalError(location, "'", getOperationName(), "' op expects 'keys' of [rows, n], got ", keys);
  if (count < 0 || count > mostCount) // C2
    return emitOptionalError(location, "'", getOperationName(), "' op expects 'count' to be 0 to ", mostCount, ", got ",
                             count);
  if (!keys.isDynamicDim(1) && keys.getDimSize(1) < count) // C3
    return emitOptionalError(location, "'", getOperationName(), "' op expects rows of at least ", count,
                             " elements, got ", keys);
  types.push_back(getTensorType({getDim(keys, 0), DimAttr::constant(context, count)}, IntegerType::get(context, 64)));
  return success();
}

void TopPlacesOp::collectConstraints(ConstraintCollector &collector) {
  collector.want(ConstraintKind::at_least, getDim(getKeys().getType(), 1), static_cast<int64_t>(getCount())); // C3
}

LogicalResult SelectBoxesOp::verify() {
  RankedTensorType boxes = getBoxes().getType(), scores = getScores().getType(), result = getResult().getType();
  bool fits = boxes.getRank() == 3 && scores.getRank() == 3 && result.getRank() == 3;
  auto agree = [&](RankedTensorType a, int64_t d, RankedTensorType b, int64_t e) {
    return a.isDynamicDim(d) || b.isDynamicDim(e) || a.getDimSize(d) == b.getDimSize(e);
  };
  if (!fits || (!boxes.isDynamicDim(2) && boxes.getDimSize(2) != 4) || !agree(boxes, 0, scores, 0) ||
      !agree(boxes, 1, scores, 2) || !agree(scores, 0, result, 0) || !agree(scores, 1, result, 1)) // C1
    return emitOpError() << "expects 'boxes' of [images, n, 4], 'scores' of [images, classes, n] and a result of "
                            "[images, classes, count], got "
                         << boxes << ", " << scores << " and " << result;
  return success();
}

void SelectBoxesOp::collectConstraints(ConstraintCollector &collector) {
  RankedTensorType boxes = getBoxes().getType(), scores = getScores().getType(), result = getResult().getType();
  collector.wantEqual(getDim(boxes, 0), getDim(scores, 0)); // C1
  collector.wantEqual(getDim(boxes, 1), getDim(scores, 2));
  collector.wantEqual(getDim(boxes, 2), DimAttr::constant(getContext(), 4));
  collector.wantEqual(getDim(scores, 0), getDim(result, 0));
  collector.wantEqual(getDim(scores, 1), getDim(result, 1));
}

LogicalResult MergeRunsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto keys = cast<RankedTensorType>(adaptor.getKeys().getType()),
       places = cast<RankedTensorType>(adaptor.getPlaces().getType());
  bool fits = keys.getRank() == 3 && places.getRank() == 2;
  for (int64_t d : {0, 1})
    fits = fits && mayBeEqual(getDim(keys, d), getDim(places, d));
  if (!fits) // C1
    return emitOptionalError(location, "'", getOperationName(),
                             "' op expects 'keys' of [rows, n, members] and 'places' of [rows, n], got ", keys, " and ",
                             places);
  types.push_back(places);
  return success();
}

void MergeRunsOp::collectConstraints(ConstraintCollector &collector) {
  for (int64_t d : {0, 1})
    collector.wantEqual(getDim(getKeys().getType(), d), getDim(getPlaces().getType(), d)); // C1
}

/// Dimensions of `input` that indices stand for: C1 of the ops that update it.
static LogicalResult checkUpdatedAxes(std::optional<Location> location, StringRef op, RankedTensorType input,
                                      ArrayRef<int64_t> axes) {
  bool isRight = !axes.empty();
  for (auto [place, axis] : llvm::enumerate(axes))
    isRight &= axis >= 0 && axis < input.getRank() && (place == 0 || axes[place - 1] < axis);
  if (isRight)
    return success();
  std::string list;
  llvm::raw_string_ostream os(list);
  llvm::interleaveComma(axes, os);
  return emitOptionalError(location, "'", op, "' op expects 'axes' to be dimensions of 'input', increasing: 0 to ",
                           input.getRank() - 1, ", got [", list, "]");
}

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  auto indices = cast<RankedTensorType>(adaptor.getIndices().getType());
  auto updates = cast<RankedTensorType>(adaptor.getUpdates().getType());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  if (failed(checkUpdatedAxes(location, getOperationName(), input, axes))) // C1
    return failure();
  SmallVector<DimAttr> inputDims = getDims(input), want = getDims(indices), got = getDims(updates);
  int64_t members = axes.size();
  if (want.empty() || !mayBeEqual(want.back(), DimAttr::constant(context, members))) // C2
    return emitOptionalError(location, "'", getOperationName(), "' op expects tuples of ", members, " indices, got ",
                             indices);
  want.pop_back();
  for (int64_t d = 0; d < input.getRank(); ++d)
    if (!llvm::is_contained(axes, d))
      want.push_back(inputDims[d]);
  if (want.size() != got.size() || !llvm::all_of_zip(want, got, mayBeEqual)) // C3
    return emitOptionalError(location, "'", getOperationName(), "' op expects 'updates' of type ",
                             getTensorType(want, input.getElementType()), ", got ", updates);
  Type element = input.getElementType();
  if (adaptor.getKind() == ScatterKind::add && (!element.isIntOrFloat() || element.isInteger(1))) // C4
    return emitOptionalError(location, "'", getOperationName(), "' op expects numbers to add, got ", input);
  types.push_back(input);
  return success();
}

void ScatterOp::collectConstraints(ConstraintCollector &collector) {
  SmallVector<DimAttr> want = getDims(getIndices().getType());
  collector.wantEqual(want.pop_back_val(), DimAttr::constant(getContext(), getAxes().size())); // C2
  for (auto [d, dim] : llvm::enumerate(getDims(getInput().getType())))
    if (!llvm::is_contained(getAxes(), static_cast<int64_t>(d)))
      want.push_back(dim);
  for (auto [dim, size] : llvm::zip_equal(getDims(getUpdates().getType()), want))
    collector.wantEqual(dim, size); // C3
}

int64_t ScatterOp::getNumOrderedDims() { return getIndices().getType().getRank() - 1; }

LogicalResult UpdateSliceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  auto starts = cast<RankedTensorType>(adaptor.getStarts().getType());
  auto updates = cast<RankedTensorType>(adaptor.getUpdates().getType());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  if (failed(checkUpdatedAxes(location, getOperationName(), input, axes))) // C1
    return failure();
  int64_t count = axes.size();
  if (starts.getRank() != 1 || !mayBeEqual(getDim(starts, 0), DimAttr::constant(context, count))) // C2
    return emitOptionalError(location, "'", getOperationName(), "' op expects 'starts' of rank 1 and size ", count,
                             ", got ", starts);
  bool fits = updates.getRank() == input.getRank();
  for (int64_t d = 0; fits && d < input.getRank(); ++d)
    fits = input.isDynamicDim(d) || updates.isDynamicDim(d) || updates.getDimSize(d) <= input.getDimSize(d);
  if (!fits) // C3
    return emitOptionalError(location, "'", getOperationName(), "' op expects a box that fits into 'input', ", input,
                             ", got ", updates);
  types.push_back(input);
  return success();
}

void UpdateSliceOp::collectConstraints(ConstraintCollector &collector) {
  collector.wantEqual(getDim(getStarts().getType(), 0), DimAttr::constant(getContext(), getAxes().size())); // C2
  for (auto [size, part] : llvm::zip_equal(getDims(getInput().getType()), getDims(getUpdates().getType())))
    if (size != part)
      collector.want(ConstraintKind::at_least, size, part); // C3
}

int64_t UpdateSliceOp::getNumOrderedDims() { return 0; }

LogicalResult NonzeroOp::verify() {
  RankedTensorType type = getResult().getType();
  int64_t rows = getInput().getType().getRank();
  if (type.getRank() != 2 || (!type.isDynamicDim(0) && type.getDimSize(0) != rows)) // C1
    return emitOpError() << "expects a result of rank 2 with one row for each of the " << rows
                         << " dimensions of 'input', got " << type;
  return success();
}

void NonzeroOp::collectConstraints(ConstraintCollector &collector) {
  DimAttr rows = DimAttr::constant(getContext(), getInput().getType().getRank());
  collector.wantEqual(getDim(getResult().getType(), 0), rows); // C1
}

void registerIndexingOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsIndexing.cpp.inc"
      >(dialect);
}

} // namespace vx

#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/Constraints.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsShape.cpp.inc"

namespace vx {

LogicalResult ConstantOp::verify() {
  if (getNames() && getNames()->empty()) // C2
    return emitOpError() << "expects 'names' to have at least 1 name, got none";
  return success();
}

LogicalResult IotaOp::verify() {
  int64_t rank = getResult().getType().getRank();
  if (getAxis() < 0 || getAxis() >= static_cast<uint64_t>(rank)) // C1
    return emitOpError() << "expects 'axis' to be a dimension of the result: 0 to " << rank - 1 << ", got "
                         << static_cast<int64_t>(getAxis());
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  if (!mayBeEqual(getNumElements(input), getNumElements(result))) // C1
    return emitOpError() << "expects as many elements as 'input' has: " << getNumElements(input).str() << " of "
                         << input << ", got " << getNumElements(result).str() << " of " << result;
  if (input.getElementType() != result.getElementType()) // C2
    return emitOpError() << "expects the element type of 'input': " << input.getElementType() << ", got "
                         << result.getElementType();
  return success();
}

void ReshapeOp::collectConstraints(ConstraintCollector &collector) {
  DimAttr have = getNumElements(getInput().getType()), wanted = getNumElements(getResult().getType());
  if (!have || !wanted || have == wanted)
    return;
  // What stands for -1 is the quotient of the elements and the other sizes: these must divide.
  SmallVector<DimAttr> dims = getDims(getResult().getType());
  for (auto [place, dim] : llvm::enumerate(dims)) {
    DimAttr others = DimAttr::constant(getContext(), 1);
    for (auto [other, size] : llvm::enumerate(dims))
      if (other != place)
        others = others * size;
    if (!dim.asConstant() && dim == DimAttr::floorDiv(have, others))
      return collector.want(ConstraintKind::multiple, have, others);
  }
  collector.wantEqual(have, wanted); // C1
}

/// C1 of the ops that have a permutation.
static LogicalResult checkPermutation(std::optional<Location> location, StringRef op, RankedTensorType input,
                                      ArrayRef<int64_t> permutation) {
  SmallVector<bool> seen(input.getRank());
  bool isPermutation = static_cast<int64_t>(permutation.size()) == input.getRank();
  for (int64_t dim : permutation) {
    isPermutation = isPermutation && dim >= 0 && dim < input.getRank() && !seen[dim];
    if (isPermutation)
      seen[dim] = true;
  }
  if (!isPermutation)
    return emitOptionalError(location, "'", op, "' op expects 'permutation' to hold each of the ", input.getRank(),
                             " dimensions of 'input' once, got [", permutation, "]");
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  if (failed(checkPermutation(location, "vx.transpose", input, adaptor.getPermutation()))) // C1
    return failure();
  SmallVector<DimAttr> dims;
  for (int64_t dim : adaptor.getPermutation())
    dims.push_back(getDim(input, dim));
  types.push_back(getTensorType(dims, input.getElementType()));
  return success();
}

static SmallVector<DimAttr> getPackedDims(RankedTensorType input, int64_t dim, int64_t tile,
                                          ArrayRef<int64_t> permutation, int64_t inner) {
  auto constant = [&](int64_t value) { return DimAttr::constant(input.getContext(), value); };
  SmallVector<DimAttr> dims;
  for (int64_t from : permutation) {
    DimAttr size = getDim(input, from);
    int64_t together = from == dim ? tile : from == permutation.back() ? inner : 1;
    dims.push_back(size && together != 1 ? DimAttr::ceilDiv(size, constant(together)) : size);
  }
  dims.push_back(constant(tile));
  if (inner > 1)
    dims.push_back(constant(inner));
  return dims;
}

static LogicalResult checkInner(std::optional<Location> location, StringRef name, int64_t inner, int64_t dim,
                                ArrayRef<int64_t> permutation) {
  if (inner >= 1 && (inner == 1 || permutation.back() != dim))
    return success();
  return emitOptionalError(location, "'", name,
                           "' op expects 'inner' of at least 1, and of 1 where 'dim' is the last of ",
                           "'permutation', got ", inner, " with 'dim' ", dim, " and 'permutation' [", permutation, "]");
}

LogicalResult PackOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t dim = adaptor.getDim(), tile = adaptor.getTile();
  if (failed(checkPermutation(location, "vx.pack", input, adaptor.getPermutation()))) // C1
    return failure();
  if (dim < 0 || dim >= input.getRank() || tile < 1) // C2
    return emitOptionalError(location, "'vx.pack' op expects a 'dim' of the ", input.getRank(),
                             " of 'input' and a 'tile' of at least 1, got ", dim, " and ", tile);
  int64_t inner = adaptor.getInner();
  if (failed(checkInner(location, "vx.pack", inner, dim, adaptor.getPermutation()))) // C3
    return failure();
  types.push_back(
      getTensorType(getPackedDims(input, dim, tile, adaptor.getPermutation(), inner), input.getElementType()));
  return success();
}

LogicalResult UnpackOp::verify() {
  RankedTensorType packed = getInput().getType(), type = getResult().getType();
  int64_t dim = getDim(), inner = getInner(), rank = type.getRank() + (inner > 1 ? 2 : 1);
  if (dim < 0 || dim >= type.getRank() || packed.getRank() != rank || packed.isDynamicDim(type.getRank()) ||
      packed.getDimSize(type.getRank()) < 1)
    return emitOpError() << "expects an 'input' of " << rank << " dimensions, dimension " << type.getRank()
                         << " static and at least 1, and a 'dim' below " << type.getRank() << ", got " << packed
                         << " and " << dim; // C1
  if (failed(checkPermutation(getLoc(), "vx.unpack", type, getPermutation())) ||
      failed(checkInner(getLoc(), "vx.unpack", inner, dim, getPermutation())))
    return failure();
  SmallVector<DimAttr> dims = getPackedDims(type, dim, getTile(), getPermutation(), inner);
  for (auto [d, wanted] : llvm::enumerate(dims))
    if (DimAttr size = vx::getDim(packed, d); wanted && size && !mayBeEqual(wanted, size)) // C1
      return emitOpError() << "expects dimension " << d << " of 'input' to be " << wanted.str() << ", got "
                           << size.str();
  return success();
}

void UnpackOp::collectConstraints(ConstraintCollector &collector) {
  RankedTensorType packed = getInput().getType(), type = getResult().getType();
  SmallVector<DimAttr> dims = getPackedDims(type, getDim(), getTile(), getPermutation(), getInner());
  for (auto [place, wanted] : llvm::enumerate(ArrayRef(dims).take_front(type.getRank())))
    if (wanted)
      collector.wantEqual(vx::getDim(packed, place), wanted); // C1
}

int64_t UnpackOp::getTile() { return getInput().getType().getDimSize(getResult().getType().getRank()); }

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  ArrayRef<int64_t> dimensions = getDimensions();
  if (static_cast<int64_t>(dimensions.size()) != input.getRank()) // C1
    return emitOpError() << "expects one entry of 'dimensions' for each dimension of 'input': " << input.getRank()
                         << ", got " << dimensions.size();
  for (auto [index, dim] : llvm::enumerate(dimensions)) {
    if (dim < 0 || dim >= result.getRank() || (index > 0 && dim <= dimensions[index - 1])) // C1
      return emitOpError() << "expects 'dimensions' to increase and to stay below the result's rank "
                           << result.getRank() << ", got [" << dimensions << "]";
    if (input.getDimSize(index) != 1 && !mayBeEqual(getDim(input, index), getDim(result, dim))) // C2
      return emitOpError() << "expects dimension " << index << " of 'input' to have size 1 or that of dimension " << dim
                           << " of the result: got " << input << " and " << result;
  }
  return success();
}

void BroadcastOp::collectConstraints(ConstraintCollector &collector) {
  for (auto [index, dim] : llvm::enumerate(getDimensions()))
    collector.wantRepeat(getDim(getInput().getType(), index), getDim(getResult().getType(), dim)); // C2
}

LogicalResult SliceOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  int64_t rank = input.getRank();
  if (static_cast<int64_t>(getStarts().size()) != rank || static_cast<int64_t>(getStrides().size()) != rank ||
      result.getRank() != rank) // C1
    return emitOpError() << "expects 'starts', 'strides' and the result to have one entry for each of the " << rank
                         << " dimensions of 'input', got " << getStarts().size() << ", " << getStrides().size()
                         << " and " << result.getRank();
  for (int64_t i = 0; i < rank; ++i) {
    int64_t stride = getStrides()[i];
    if (stride == 0) // C2
      return emitOpError() << "expects strides that are not 0, got [" << getStrides() << "]";
    auto start = cast<DimAttr>(getStarts()[i]).asConstant();
    DimAttr size = getDim(result, i);
    std::optional<int64_t> count = size ? size.asConstant() : std::nullopt;
    if (!start || !count || *count == 0 || input.isDynamicDim(i))
      continue;
    int64_t distance, last;
    bool fits = !llvm::MulOverflow(*count - 1, stride, distance) && !llvm::AddOverflow(*start, distance, last);
    if (!fits)
      last = stride < 0 ? INT64_MIN : INT64_MAX;
    if (!fits || std::min(*start, last) < 0 || std::max(*start, last) >= input.getDimSize(i)) // C3
      return emitOpError() << "expects the box to lie inside of dimension " << i << " of 'input': indices 0 to "
                           << input.getDimSize(i) - 1 << ", got " << *start << " to " << last;
  }
  return success();
}

/// The first and the last index that a slice reads lie inside of the input, unless it reads none.
void SliceOp::collectConstraints(ConstraintCollector &collector) {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  for (int64_t d = 0; d < input.getRank(); ++d) {
    DimAttr start = cast<DimAttr>(getStarts()[d]), size = getDim(input, d), count = getDim(result, d);
    int64_t stride = getStrides()[d];
    if (!size || !count || count.asConstant() == 0)
      continue;
    // Written so that no element of no input passes too.
    DimAttr last = start + (count + (-1)) * stride;
    if (stride > 0) {
      collector.want(ConstraintKind::at_least, start, 0); // C3
      collector.want(ConstraintKind::at_least, size, last + 1);
    } else {
      collector.want(ConstraintKind::at_least, size, count);
      collector.want(ConstraintKind::at_least, DimAttr::max(size, DimAttr::constant(getContext(), 1)), start + 1);
      collector.want(ConstraintKind::at_least, last, 0);
    }
  }
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (adaptor.getInputs().empty()) // C1
    return emitOptionalError(location, "'vx.concat' op expects at least 1 input, got 0");
  auto first = cast<RankedTensorType>(adaptor.getInputs()[0].getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= first.getRank()) // C2
    return emitOptionalError(location, "'vx.concat' op expects 'axis' to be a dimension of the inputs: 0 to ",
                             first.getRank() - 1, ", got ", axis);
  SmallVector<DimAttr> dims = getDims(first);
  for (Value value : adaptor.getInputs().drop_front()) {
    auto type = cast<RankedTensorType>(value.getType());
    bool matches = type.getRank() == first.getRank() && type.getElementType() == first.getElementType(); // C1
    for (int64_t i = 0; matches && i < first.getRank(); ++i) {
      DimAttr dim = getDim(type, i);
      if (i == axis) {
        dims[i] = dims[i] && dim ? dims[i] + dim : DimAttr();
        continue;
      }
      matches = mayBeEqual(dims[i], dim); // C3
      if (dim && (!dims[i] || (dim.asConstant() && !dims[i].asConstant())))
        dims[i] = dim;
    }
    if (!matches)
      return emitOptionalError(location, "'vx.concat' op expects inputs that differ along dimension ", axis,
                               " only: ", first, ", got ", type);
  }
  types.push_back(getTensorType(dims, first.getElementType()));
  return success();
}

void ConcatOp::collectConstraints(ConstraintCollector &collector) {
  SmallVector<DimAttr> first = getDims(cast<RankedTensorType>(getInputs()[0].getType()));
  for (Type type : getInputs().drop_front().getTypes())
    for (auto [d, dim] : llvm::enumerate(getDims(cast<RankedTensorType>(type))))
      if (d != getAxis())
        collector.wantEqual(first[d], dim); // C3
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  size_t rank = input.getRank();
  if (adaptor.getLow().size() != rank || adaptor.getHigh().size() != rank) // C1
    return emitOptionalError(location, "'vx.pad' op expects one amount for each of the ", rank,
                             " dimensions of 'input', got ", adaptor.getLow().size(), " low and ",
                             adaptor.getHigh().size(), " high");
  SmallVector<DimAttr> dims;
  for (size_t i = 0; i < rank; ++i) {
    DimAttr dim = getDim(input, i);
    dims.push_back(dim ? dim + cast<DimAttr>(adaptor.getLow()[i]) + cast<DimAttr>(adaptor.getHigh()[i]) : DimAttr());
    if (dim && dims.back().asConstant() && *dims.back().asConstant() < 0) // C2
      return emitOptionalError(location, "'vx.pad' op expects dimension ", i, " of the result to be at least 0, got ",
                               *dims.back().asConstant());
  }
  types.push_back(getTensorType(dims, input.getElementType()));
  return success();
}

Value ConcatOp::getIdentity() { return getInputs().size() == 1 ? Value(getInputs()[0]) : Value(); }

Value PadOp::getIdentity() {
  auto isZero = [](Attribute dim) { return cast<DimAttr>(dim).asConstant() == 0; };
  return llvm::all_of(getLow(), isZero) && llvm::all_of(getHigh(), isZero) ? Value(getInput()) : Value();
}

void registerShapeOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsShape.cpp.inc"
      >(dialect);
}

} // namespace vx

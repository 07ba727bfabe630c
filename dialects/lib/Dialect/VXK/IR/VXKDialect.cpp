#include "vx/Dialect/VXK/IR/VXKDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "vx/Dialect/IntegerList.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "vx/Dialect/VXK/IR/VXKDialect.cpp.inc"
#include "vx/Dialect/VXK/IR/VXKEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "vx/Dialect/VXK/IR/VXKAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "vx/Dialect/VXK/IR/VXKTypes.cpp.inc"

#define GET_OP_CLASSES
#include "vx/Dialect/VXK/IR/VXKOps.cpp.inc"

namespace vxk {

void VXKDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "vx/Dialect/VXK/IR/VXKAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "vx/Dialect/VXK/IR/VXKTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "vx/Dialect/VXK/IR/VXKOps.cpp.inc"
      >();
}

Operation *getAnchor(Operation *kernel) {
  for (Operation &op : kernel->getRegion(0).front())
    if (op.hasAttr(kAnchorAttr))
      return &op;
  return nullptr;
}

LogicalResult VXKDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kKernelAttr || op->getNumRegions() != 1 || op->getRegion(0).empty())
    return success();
  Operation *anchor = getAnchor(op);
  for (Operation &other : op->getRegion(0).front())
    if (&other != anchor && other.hasAttr(kAnchorAttr))
      return op->emitOpError() << "expects one op marked '" << kAnchorAttr << "' in a kernel, got '"
                               << anchor->getName() << "' and '" << other.getName() << "'";
  return success();
}

LogicalResult ScalarOp::verify() {
  if (std::optional<ArrayRef<int64_t>> range = getRange())
    if (range->size() != 3 || (*range)[0] < 0 || (*range)[1] < (*range)[0] || (*range)[2] < 1) // C1
      return emitOpError() << "expects the least and greatest value and what it is a multiple of in 'range', got ["
                           << *range << "]";
  return success();
}

LogicalResult BufferOp::verify() {
  auto type = cast<MemRefType>(getResult().getType());
  if (!type.getLayout().isIdentity()) // C1
    return emitOpError() << "expects a memref of identity layout, got " << type;
  if (static_cast<size_t>(type.getNumDynamicDims()) != getSizes().size()) // C1
    return emitOpError() << "expects one size for each '?' of " << type << ": " << type.getNumDynamicDims() << ", got "
                         << getSizes().size();
  return success();
}

LogicalResult PlacesOp::verify() {
  auto type = cast<MemRefType>(getResult().getType());
  if (static_cast<size_t>(type.getNumDynamicDims()) != getSizes().size()) // C1
    return emitOpError() << "expects one size for each '?' of " << type << ": " << type.getNumDynamicDims() << ", got "
                         << getSizes().size();
  return success();
}

LogicalResult TopPlacesOp::verify() {
  auto places = cast<MemRefType>(getPlaces().getType());
  if (getCodes().getType().getRank() != 2 || places.isDynamicDim(1)) // C1
    return emitOpError() << "expects codes of [rows, n] and a known number of places of each row, got "
                         << getCodes().getType() << " and " << places;
  return success();
}

LogicalResult MergeRunsOp::verify() {
  if (getCodes().getType().getRank() != 3 || getPlaces().getType().getRank() != 2) // C1
    return emitOpError() << "expects codes of [rows, n, members] and places of [rows, n], got " << getCodes().getType()
                         << " and " << getPlaces().getType();
  return success();
}

LogicalResult SelectBoxesOp::verify() {
  if (getBoxes().getType().getRank() != 3 || getCodes().getType().getRank() != 3) // C1
    return emitOpError() << "expects boxes of [images, n, 4] and codes of [images, classes, n], got "
                         << getBoxes().getType() << " and " << getCodes().getType();
  return success();
}

LogicalResult PagedAttentionOp::verify() {
  RankedTensorType query = getQuery().getType(), keys = getKeys().getType(), values = getValues().getType();
  if (query.getRank() != 3 || keys.getRank() != 4 || values.getRank() != 4 || getTable().getType().getRank() != 2 ||
      query.isDynamicDim(1) || query.isDynamicDim(2) || keys.isDynamicDim(1) || keys.isDynamicDim(2)) // C1
    return emitOpError() << "expects a query of [tokens, heads, depth] and keys and values of [pages, key heads, "
                            "places, depth], got "
                         << query << ", " << keys << " and " << values;
  return success();
}

LogicalResult CumulativeSumOp::verify() {
  if (cast<RankedTensorType>(getInput().getType()).getRank() != 3) // C1
    return emitOpError() << "expects an input of 3 dimensions, got " << getInput().getType();
  return success();
}

//===-- Matrix fragments ----------------------------------------------------------------------===//

Type FragmentType::parse(AsmParser &parser) {
  SmallVector<int64_t> sizes;
  Type element;
  llvm::SMLoc location = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseLess() || parser.parseKeyword(&name) || parser.parseComma())
    return {};
  std::optional<FragmentRole> role = symbolizeFragmentRole(name);
  if (!role)
    return parser.emitError(location, "expects lhs, rhs or accumulator, got '") << name << "'", Type();
  if (parser.parseDimensionList(sizes, /*allowDynamic=*/false, /*withTrailingX=*/false) || parser.parseComma() ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  if (sizes.size() != 3)
    return parser.emitError(location, "expects rows, columns and depth, got ") << sizes.size() << " sizes", Type();
  return getChecked([&] { return parser.emitError(location); }, parser.getContext(), *role, sizes[0], sizes[1],
                    sizes[2], element);
}

void FragmentType::print(AsmPrinter &printer) const {
  printer << "<" << stringifyFragmentRole(getRole()) << ", " << getRows() << "x" << getColumns() << "x" << getDepth()
          << ", " << getElementType() << ">";
}

LogicalResult FragmentType::verify(function_ref<InFlightDiagnostic()> emitError, FragmentRole role, int64_t rows,
                                   int64_t columns, int64_t depth, Type element) {
  if (rows < 1 || columns < 1 || depth < 1) // C1
    return emitError() << "'!vxk.fragment' expects sizes of at least 1: got " << rows << "x" << columns << "x" << depth;
  bool isAccumulator = role == FragmentRole::accumulator;
  bool isFactorType = isa<Float16Type, BFloat16Type, FloatTF32Type>(element);
  if (isAccumulator ? !element.isF32() : !isFactorType) // C2
    return emitError() << "'!vxk.fragment' expects " << (isAccumulator ? "f32" : "f16, bf16 or tf32") << " for '"
                       << stringifyFragmentRole(role) << "', got " << element;
  return success();
}

LogicalResult FillFragmentOp::verify() {
  if (getResult().getType().getRole() != FragmentRole::accumulator) // C1
    return emitOpError() << "expects an accumulator as its result, got " << getResult().getType();
  return success();
}

LogicalResult LoadFragmentOp::verify() {
  FragmentType type = getResult().getType();
  if (type.getRole() == FragmentRole::accumulator) // C1
    return emitOpError() << "expects a factor as its result, got " << type;
  Type element = cast<MemRefType>(getMemory().getType()).getElementType(), stored = type.getElementType();
  if (stored.isTF32())
    stored = Float32Type::get(getContext());
  if (element != stored) // C1
    return emitOpError() << "expects memory of " << stored << " for " << type << ", got " << element;
  int64_t across = type.getRole() == FragmentRole::lhs ? type.getRows() : type.getColumns();
  int64_t least = getAlongSum() ? type.getDepth() : across, step = 128 / stored.getIntOrFloatBitWidth();
  if (getStride() < static_cast<uint64_t>(least) || getStride() % step != 0) // C2
    return emitOpError() << "expects a stride of at least " << least << " and a multiple of " << step << ", got "
                         << getStride();
  return success();
}

LogicalResult MultiplyAccumulateOp::verify() {
  FragmentType lhs = getLhs().getType(), rhs = getRhs().getType(), sum = getAccumulator().getType();
  auto shape = [](FragmentType type) { return std::tuple(type.getRows(), type.getColumns(), type.getDepth()); };
  if (lhs.getRole() != FragmentRole::lhs || rhs.getRole() != FragmentRole::rhs ||
      sum.getRole() != FragmentRole::accumulator || shape(lhs) != shape(rhs) || shape(lhs) != shape(sum) ||
      lhs.getElementType() != rhs.getElementType()) // C1
    return emitOpError() << "expects a lhs, a rhs and an accumulator of one shape: got " << lhs << ", " << rhs
                         << " and " << sum;
  return success();
}

LogicalResult FragmentElementsOp::verify() {
  FragmentType type = getFragment().getType();
  if (type.getRole() != FragmentRole::accumulator) // C1
    return emitOpError() << "expects an accumulator, got " << type;
  int64_t all = type.getRows() * type.getColumns(), own = getNumResults();
  if (own == 0 || all % own != 0 || !llvm::isPowerOf2_64(all / own)) // C1
    return emitOpError() << "expects a part of " << type << " for each of a power of 2 of threads, got " << own
                         << " elements of " << all;
  return success();
}

//===-- Integers ------------------------------------------------------------------------------===//

LogicalResult DotOp::verify() {
  int64_t sums = getSum().getType().getNumElements(), bytes = getLhs().getType().getNumElements();
  if (bytes != 4 * sums) // C1
    return emitOpError() << "expects four elements of a factor for each of " << sums << " sums, got " << bytes;
  if (sums != 1 && sums != 4 && sums != 8 && sums != 16) // C2
    return emitOpError() << "expects 1, 4, 8 or 16 sums, got " << sums;
  return success();
}

LogicalResult LookupOp::verify() {
  const int64_t table = getTable().getType().getNumElements(), indices = getIndices().getType().getNumElements();
  if (table != indices || (table != 8 && table != 16)) // C1
    return emitOpError() << "expects 8 or 16 elements and as many indices, got " << table << " and " << indices;
  return success();
}

LogicalResult ScaleOp::verify() {
  const int64_t count = getNumber().getType().getNumElements();
  if (count != 4 && count != 8 && count != 16) // C1
    return emitOpError() << "expects 4, 8 or 16 elements, got " << count;
  return success();
}

//===-- Asynchronous stages -------------------------------------------------------------------===//

LogicalResult AsyncCopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType()), target = cast<MemRefType>(getTarget().getType());
  if (source.getElementType() != target.getElementType() || source.getMemorySpace() || !target.getMemorySpace()) // C1
    return emitOpError() << "expects a buffer and workgroup memory of one element type: got " << source << " and "
                         << target;
  int64_t bytes = getCount() * target.getElementType().getIntOrFloatBitWidth() / 8;
  if (bytes != 4 && bytes != 8 && bytes != 16) // C2
    return emitOpError() << "expects to copy 4, 8 or 16 bytes, got " << getCount() << " elements of "
                         << target.getElementType();
  if (static_cast<int64_t>(getIndices().size()) != source.getRank()) // C3
    return emitOpError() << "expects one index for each dimension of " << source << ": " << source.getRank() << ", got "
                         << getIndices().size();
  return success();
}

LogicalResult AsyncWaitOp::verify() {
  if (static_cast<int64_t>(getStages()) < 0) // C1
    return emitOpError() << "expects 0 or more stages, got " << static_cast<int64_t>(getStages());
  return success();
}

static void setRange(Value value, uint64_t last, SetIntRangeFn setResultRange) {
  unsigned width = IndexType::kInternalStorageBitWidth;
  setResultRange(value, ConstantIntRanges::fromUnsigned(APInt(width, 0), APInt(width, last)));
}

void ScalarOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  vxk::setRange(getResult(), getRange() ? (*getRange())[1] : INT64_MAX, setResultRange);
}

// The runtime refuses a dispatch of 2^31 - 65536 workgroups or more (runtime/include/vx/abi/kernel.h).
void WorkgroupIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  setRange(getResult(), INT32_MAX, setResultRange);
}

void WorkgroupCountOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  setRange(getResult(), INT32_MAX, setResultRange);
}

void ThreadIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setResultRange) {
  Operation *function = (*this)->getParentOp();
  while (function && !function->hasAttr(kKernelAttr))
    function = function->getParentOp();
  auto threads = function ? function->getAttrOfType<IntegerAttr>(kThreadsAttr) : nullptr;
  setRange(getResult(), threads ? threads.getInt() - 1 : INT32_MAX, setResultRange);
}

} // namespace vxk

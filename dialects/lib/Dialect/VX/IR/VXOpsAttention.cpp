#include "VXOpFamilies.h"

#include "vx/Dialect/VX/IR/VXDialect.h"

#include <cmath>

using namespace mlir;

#define GET_OP_CLASSES
#include "vx/Dialect/VX/IR/VXOpsAttention.cpp.inc"

namespace vx {

SmallVector<DimAttr> AttentionOp::getSizes(Value tensor, ArrayRef<int64_t> dims) {
  SmallVector<DimAttr> sizes;
  for (int64_t dim : dims)
    sizes.push_back(getDim(cast<RankedTensorType>(tensor.getType()), dim));
  return sizes;
}

DimAttr AttentionOp::getPastOrZero() { return getPast() ? *getPast() : DimAttr::constant(getContext(), 0); }

RankedTensorType AttentionOp::inferResultType() {
  SmallVector<DimAttr> sizes = getQuerySizes(), dims(sizes.size());
  sizes[Depth] = getValueSizes()[Depth];
  for (auto [dim, size] : llvm::zip(getResultDims(), sizes))
    dims[dim] = size;
  return getTensorType(dims, getQuery().getType().getElementType());
}

RankedTensorType AttentionOp::inferLogSumExpType() {
  Type element = getQuery().getType().getElementType();
  return getTensorType(ArrayRef(getQuerySizes()).drop_back(),
                       element.isF64() ? element : Float32Type::get(getContext()));
}

LogicalResult AttentionOp::verify() {
  struct Operand {
    StringRef name;
    RankedTensorType type;
    ArrayRef<int64_t> dims;
  };
  for (const Operand &operand : {Operand{"query", getQuery().getType(), getQueryDims()},
                                 {"key", getKey().getType(), getKeyDims()},
                                 {"value", getValue().getType(), getValueDims()},
                                 {"result", getResult().getType(), getResultDims()}}) {
    if (operand.type.getRank() != 4) // C1
      return emitOpError() << "expects '" << operand.name << "' of rank 4, got " << operand.type;
    SmallVector<int64_t> sorted(operand.dims);
    llvm::sort(sorted);
    if (!llvm::equal(sorted, llvm::seq<int64_t>(0, 4))) // C1
      return emitOpError() << "expects each dimension of '" << operand.name << "' once in '" << operand.name
                           << "_dims': want 0 to 3, got [" << operand.dims << "]";
  }
  SmallVector<DimAttr> query = getQuerySizes(), key = getKeySizes(), value = getValueSizes();
  auto checkEqual = [&](StringRef what, StringRef lhsName, DimAttr lhs, StringRef rhsName,
                        DimAttr rhs) -> LogicalResult {
    if (mayBeEqual(lhs, rhs))
      return success();
    return emitOpError() << "expects '" << lhsName << "' and '" << rhsName << "' with the same " << what << ", got "
                         << lhs.str() << " and " << rhs.str();
  };
  if (failed(checkEqual("batch", "query", query[Batch], "key", key[Batch])) || // C2
      failed(checkEqual("batch", "query", query[Batch], "value", value[Batch])) ||
      failed(checkEqual("heads", "key", key[Heads], "value", value[Heads])) ||
      failed(checkEqual("length", "key", key[Length], "value", value[Length])) ||
      failed(checkEqual("depth", "query", query[Depth], "key", key[Depth])))
    return failure();
  if (!areCompatibleTypes(inferResultType(), getResult().getType())) // C2
    return emitOpError() << "expects 'result' with the sizes of 'query' and the depth of 'value': want "
                         << inferResultType() << ", got " << getResult().getType();
  std::optional<int64_t> heads, keyHeads;
  if (query[Heads] && key[Heads]) {
    heads = query[Heads].asConstant();
    keyHeads = key[Heads].asConstant();
  }
  if (heads && keyHeads && (*keyHeads == 0 ? *heads != 0 : *heads % *keyHeads != 0)) // C3
    return emitOpError() << "expects the heads of 'key' to divide those of 'query', got " << *keyHeads << " and "
                         << *heads;
  DimAttr wanted[] = {query[Batch], query[Heads], query[Length], key[Length]};
  for (auto [name, operand] : {std::pair<StringRef, Value>("mask", getMask()), {"bias", getBias()}}) {
    if (!operand)
      continue;
    auto type = cast<RankedTensorType>(operand.getType());
    bool fits = type.getRank() == 4;
    for (int64_t d = 0; fits && d < 4; ++d)
      fits = type.getDimSize(d) == 1 || mayBeEqual(getDim(type, d), wanted[d]);
    if (!fits) // C4
      return emitOpError() << "expects '" << name << "' with a size of 1 or that of the scores in each dimension: want "
                           << getTensorType(wanted, type.getElementType()) << ", got " << type;
  }
  Type element = getQuery().getType().getElementType();
  if (getBias() && getElementTypeOrSelf(getBias().getType()) != element) // C4
    return emitOpError() << "expects 'bias' with the element type of 'query': want " << element << ", got "
                         << getElementTypeOrSelf(getBias().getType());
  double scale = getScale().convertToDouble();
  if (!std::isfinite(scale)) // C5
    return emitOpError() << "expects 'scale' to be finite, got " << getScaleAttr();
  if (getSoftcap())
    if (double softcap = getSoftcap()->convertToDouble(); !(softcap > 0) || !std::isfinite(softcap)) // C5
      return emitOpError() << "expects 'softcap' to be finite and above 0, got " << getSoftcapAttr();
  if (getWindow() && static_cast<int64_t>(*getWindow()) < 1) // C5
    return emitOpError() << "expects 'window' to be at least 1, got " << static_cast<int64_t>(*getWindow());
  if (getLogSumExp() && !areCompatibleTypes(inferLogSumExpType(), getLogSumExp().getType())) // C6
    return emitOpError() << "expects 'log_sum_exp' with one element for each query: want " << inferLogSumExpType()
                         << ", got " << getLogSumExp().getType();
  return success();
}

DimAttr AttentionOp::getFlops() {
  SmallVector<DimAttr> query = getQuerySizes();
  DimAttr scores = query[Batch] * query[Heads] * query[Length] * getKeySizes()[Length];
  DimAttr depths = query[Depth] + getValueSizes()[Depth];
  // Two products, and the softmax between them.
  return scores * depths * 2 + scores * 5;
}

void registerAttentionOps(VXDialect &dialect) {
  registerOps<
#define GET_OP_LIST
#include "vx/Dialect/VX/IR/VXOpsAttention.cpp.inc"
      >(dialect);
}

} // namespace vx

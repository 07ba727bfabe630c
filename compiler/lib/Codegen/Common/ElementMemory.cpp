#include "ElementEvaluator.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

using namespace mlir;

namespace vx {

const ElementEvaluator::Split *ElementEvaluator::findSplit(Value memref, ArrayRef<LaneIndex> indices) {
  for (const Split &split : splits) {
    size_t count = split.parts.size();
    if (indices.size() < count)
      continue;
    size_t first = indices.size() - count;
    bool isIt = llvm::all_of(indices.take_front(first), [](const LaneIndex &index) { return index.isInvariant(); });
    for (size_t d = 0; d < count && isIt; ++d) {
      const LaneIndex &index = indices[first + d];
      isIt = split.parts[d].vector ? index.vector == split.parts[d].vector
                                   : index.isInvariant() && getConstantIntValue(index.base) == 0;
    }
    for (size_t d = 1; d < count && isIt; ++d) {
      Value size = sizeOf(memref, first + d);
      std::optional<int64_t> constant = getConstantIntValue(size);
      isIt = size == split.sizes[d] || (constant && constant == getConstantIntValue(split.sizes[d]));
    }
    if (isIt)
      return &split;
  }
  return nullptr;
}

Value ElementEvaluator::flattenSplit(Location loc, Value memref, ArrayRef<LaneIndex> indices,
                                     SmallVectorImpl<Value> &bases) {
  const Split *split = findSplit(memref, indices);
  if (!split)
    return {};
  size_t first = indices.size() - split->parts.size();
  SmallVector<ReassociationIndices> groups;
  for (size_t d = 0; d < first; ++d)
    groups.push_back({static_cast<int64_t>(d)});
  groups.emplace_back(llvm::to_vector(llvm::seq<int64_t>(first, indices.size())));
  bases.resize(first);
  bases.push_back(split->flat.base);
  return emitAt(0, [&]() -> Value { return memref::CollapseShapeOp::create(builder, loc, memref, groups); });
}

Value ElementEvaluator::load(Location loc, Value memref, ArrayRef<LaneIndex> indices) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> bases;
  for (const LaneIndex &index : indices)
    bases.push_back(index.base);
  bool isInvariant = llvm::all_of(indices, [](const LaneIndex &index) { return index.isInvariant(); });
  if (isInvariant) {
    if (!isGuarded)
      return memref::LoadOp::create(builder, loc, memref, bases);
    auto branch = scf::IfOp::create(builder, loc, type.getElementType(), anyLane(loc, mask), /*withElseRegion=*/true);
    OpBuilder inner = branch.getThenBodyBuilder();
    scf::YieldOp::create(inner, loc, ValueRange(memref::LoadOp::create(inner, loc, memref, bases)));
    inner = branch.getElseBodyBuilder();
    Value zero = arith::ConstantOp::create(inner, loc, inner.getZeroAttr(type.getElementType()));
    scf::YieldOp::create(inner, loc, zero);
    return branch.getResult(0);
  }
  auto vectorType = VectorType::get(lanes, type.getElementType());
  auto zeros = [&]() -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(vectorType, builder.getZeroAttr(type.getElementType())));
  };
  bool isContiguous = !indices.back().vector && indices.back().stride == 1 &&
                      llvm::all_of(indices.drop_back(), [](const LaneIndex &index) { return index.isInvariant(); });
  if (isContiguous) {
    if (!mask)
      return vector::LoadOp::create(builder, loc, vectorType, memref, bases);
    return vector::MaskedLoadOp::create(builder, loc, vectorType, memref, bases, mask, zeros());
  }
  if (Value flat = flattenSplit(loc, memref, indices, bases)) {
    if (!mask)
      return vector::LoadOp::create(builder, loc, vectorType, flat, bases);
    return vector::MaskedLoadOp::create(builder, loc, vectorType, flat, bases, mask, zeros());
  }
  if (!indices.back().vector && isNarrowStride(indices.back().stride) &&
      llvm::all_of(indices.drop_back(), [](const LaneIndex &index) { return index.isInvariant(); }))
    return loadStrided(loc, memref, bases, indices.back().stride);
  LaneIndex offset = indices.front();
  for (auto [d, index] : llvm::enumerate(indices))
    if (d != 0)
      offset = addIndices(loc, multiplyIndices(loc, offset, {sizeOf(memref, d), 0, {}}), index);
  Value lanesMask = mask;
  if (!lanesMask)
    lanesMask = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(VectorType::get(lanes, builder.getI1Type()), true));
  SmallVector<Value> origin(indices.size(), constantIndex(0).base);
  return vector::GatherOp::create(builder, loc, vectorType, memref, origin, toVector(loc, materialize(loc, offset)),
                                  lanesMask, zeros());
}

bool ElementEvaluator::isNarrowStride(int64_t stride) const {
  // As many loads as the stride, each with a shuffle, take less time than a gather of so many lanes.
  constexpr int64_t leastLanes = 8, widest = 4;
  return lanes >= leastLanes && (stride == -1 || (std::abs(stride) > 1 && std::abs(stride) <= widest));
}

/// Whole vectors that cover the elements, of which those are taken. No element beyond the first and the last is read.
Value ElementEvaluator::loadStrided(Location loc, Value memref, SmallVector<Value> bases, int64_t stride) {
  const int64_t step = std::abs(stride), span = step * (lanes - 1) + 1;
  if (stride < 0)
    bases.back() = addIndices(loc, {bases.back(), 0, {}}, constantIndex(1 - span)).base;
  auto vectorType = VectorType::get(lanes, cast<MemRefType>(memref.getType()).getElementType());
  auto placeOf = [&](int64_t lane) { return step * (stride < 0 ? lanes - 1 - lane : lane); };
  Value all;
  for (int64_t part = 0; part < step; ++part) {
    const int64_t first = part + 1 == step ? span - lanes : part * lanes;
    SmallVector<Value> at = bases;
    at.back() = addIndices(loc, {bases.back(), 0, {}}, constantIndex(first)).base;
    Value loaded;
    if (mask) {
      // Of each element its lane, where it has one.
      SmallVector<int64_t> lanesOfElements;
      SmallVector<bool> isTaken;
      for (int64_t place = first; place < first + lanes; ++place) {
        lanesOfElements.push_back(stride < 0 ? lanes - 1 - place / step : place / step);
        isTaken.push_back(place % step == 0);
      }
      Value elements = vector::ShuffleOp::create(builder, loc, mask, mask, lanesOfElements);
      Value taken = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(cast<VectorType>(mask.getType()), ArrayRef<bool>(isTaken)));
      Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
      loaded = vector::MaskedLoadOp::create(builder, loc, vectorType, memref, at,
                                            arith::AndIOp::create(builder, loc, elements, taken), zeros);
    } else {
      loaded = vector::LoadOp::create(builder, loc, vectorType, memref, at);
    }
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t place = placeOf(lane) - first;
      const bool isHere = place >= 0 && place < lanes;
      order.push_back(isHere ? lanes + place : lane);
    }
    all = vector::ShuffleOp::create(builder, loc, all ? all : loaded, loaded, order);
  }
  return all;
}

/// An element of a small constant is chosen by comparing the index with each place.
Value ElementEvaluator::constantElement(arith::ConstantOp op, ArrayRef<LaneIndex> indices) {
  Location loc = op.getLoc();
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op->emitOpError() << "expects inline elements, got " << op.getValue(), Value();
  auto scalar = [&](Attribute value) -> Value {
    return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(value));
  };
  if (elements.isSplat())
    return scalar(elements.getSplatValue<Attribute>());
  if (elements.getNumElements() == 0)
    return scalar(builder.getZeroAttr(elements.getElementType()));
  constexpr int64_t kMostElements = 64;
  if (elements.getNumElements() > kMostElements)
    return op->emitOpError() << "expects at most " << kMostElements << " elements of a kernel's constant, got "
                             << elements.getNumElements() << ": pass it as a buffer",
           Value();
  LaneIndex offset = constantIndex(0);
  for (auto [d, index] : llvm::enumerate(indices))
    offset = addIndices(loc, multiplyIndices(loc, offset, constantIndex(elements.getType().getDimSize(d))), index);
  Value place = materialize(loc, offset);
  bool isVarying = isa<VectorType>(place.getType());
  Value result;
  for (auto [k, value] : llvm::enumerate(elements.getValues<Attribute>())) {
    Value element = scalar(value);
    if (isVarying)
      element = toVector(loc, element);
    if (!result) {
      result = element;
      continue;
    }
    Value number = constantIndex(k).base;
    if (isVarying)
      number = toVector(loc, number);
    Value isHere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, place, number);
    result = arith::SelectOp::create(builder, loc, isHere, element, result);
  }
  return result;
}

LogicalResult ElementEvaluator::store(ArrayRef<bufferization::MaterializeInDestinationOp> results,
                                      ArrayRef<LaneIndex> indices) {
  SmallVector<Value> values;
  SmallVector<bufferization::MaterializeInDestinationOp> stores(results);
  for (bufferization::MaterializeInDestinationOp result : stores) {
    values.push_back(evaluate(result.getSource(), indices));
    if (!values.back())
      return failure();
  }
  bool isVarying = llvm::any_of(indices, [](const LaneIndex &index) { return !index.isInvariant(); });
  for (auto [result, value] : llvm::zip(stores, values)) {
    auto places = result.getDest().getDefiningOp<vxk::PlacesOp>();
    if (!places)
      store(result.getLoc(), value, result.getDest(), indices);
    else if (!storeAtPlace(result.getLoc(), value, places, indices, isVarying))
      return failure();
  }
  return success();
}

void ElementEvaluator::storeElement(Location loc, Value value, Value memref, ValueRange indices, bool isVarying) {
  if (!isVarying)
    memref::StoreOp::create(builder, loc, value, memref, indices);
  else if (mask)
    vector::MaskedStoreOp::create(builder, loc, memref, indices, mask, toVector(loc, value));
  else
    vector::StoreOp::create(builder, loc, toVector(loc, value), memref, indices);
}

void ElementEvaluator::store(Location loc, Value value, Value memref, ArrayRef<LaneIndex> indices) {
  SmallVector<Value> bases;
  for (const LaneIndex &index : indices)
    bases.push_back(index.base);
  bool isVarying = llvm::any_of(indices, [](const LaneIndex &index) { return !index.isInvariant(); });
  if (llvm::any_of(indices, [](const LaneIndex &index) { return !!index.vector; }))
    memref = flattenSplit(loc, memref, indices, bases); // nothing else is stored across rows
  storeElement(loc, value, memref, bases, isVarying);
}

/// A sum of two elements, rounded once: that of narrow floats is exact enough in f32 to be rounded again.
static Value addElements(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  Type type = lhs.getType(), element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element))
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  if (element.getIntOrFloatBitWidth() >= 32)
    return arith::AddFOp::create(builder, loc, lhs, rhs);
  Type wide = builder.getF32Type();
  if (auto vectorType = dyn_cast<VectorType>(type))
    wide = vectorType.clone(wide);
  Value sum = arith::AddFOp::create(builder, loc, arith::ExtFOp::create(builder, loc, wide, lhs),
                                    arith::ExtFOp::create(builder, loc, wide, rhs));
  return arith::TruncFOp::create(builder, loc, type, sum);
}

/// False after an error, which has been reported. Lanes are neighbours in the buffer too.
bool ElementEvaluator::storeAtPlace(Location loc, Value value, vxk::PlacesOp places, ArrayRef<LaneIndex> indices,
                                    bool isVarying) {
  Value buffer = places.getBuffer();
  ArrayRef<int64_t> axes = places.getAxes();
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  size_t tupleRank = cast<RankedTensorType>(places.getIndices().getType()).getRank() - 1;
  SmallVector<LaneIndex> tuple(places.getSlice() ? ArrayRef<LaneIndex>() : indices.take_front(tupleRank));
  Value isInside;
  auto want = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
    isInside = isInside ? Value(arith::AndIOp::create(builder, loc, isInside, holds)) : holds;
  };
  SmallVector<Value> at;
  size_t member = 0, next = tuple.size();
  for (int64_t d = 0; d < rank; ++d) {
    Value size = sizeOf(buffer, d), index;
    if (llvm::is_contained(axes, d)) {
      tuple.push_back(constantIndex(member++));
      Value word = evaluate(places.getIndices(), tuple);
      tuple.pop_back();
      if (!word)
        return false;
      index = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), word);
    }
    if (!places.getSlice()) {
      if (index)
        want(arith::CmpIPredicate::ult, index, size);
      at.push_back(index ? index : indices[next++].base);
      continue;
    }
    // The whole box, so that it is the same for all lanes.
    Value extent = sizeOf(places.getResult(), d);
    if (!index)
      index = constantIndex(0).base;
    want(arith::CmpIPredicate::ule, extent, size);
    want(arith::CmpIPredicate::ule, index, arith::SubIOp::create(builder, loc, size, extent));
    at.push_back(arith::AddIOp::create(builder, loc, index, indices[d].base));
  }
  enterIf(loc, isInside);
  if (places.getAdd()) {
    Value old;
    if (!isVarying) {
      old = memref::LoadOp::create(builder, loc, buffer, at);
    } else {
      value = toVector(loc, value);
      auto type = cast<VectorType>(value.getType());
      Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      old = mask ? Value(vector::MaskedLoadOp::create(builder, loc, type, buffer, at, mask, zeros))
                 : Value(vector::LoadOp::create(builder, loc, type, buffer, at));
    }
    value = addElements(builder, loc, old, value);
  }
  storeElement(loc, value, buffer, at, isVarying);
  leaveIf();
  return true;
}

} // namespace vx

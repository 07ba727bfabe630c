#include "CopyTile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace vx {

CopyTile::CopyTile(WorkgroupProduct &emitter, int which)
    : e(emitter), source(FactorSource::find(emitter, which, emitter.tile.fragments || emitter.tile.depth > 1)),
      width(emitter.tile.extentOf(which)), block(emitter.tile.blockOf(which)) {
  if (e.tile.fragments)
    layOutForFragments();
  else
    layOutForBlocks();
}

void CopyTile::layOutForBlocks() {
  const int64_t depth = e.tile.depth;
  lanes = std::min<int64_t>(4, block);
  // Where neighbouring threads hold neighbours along the sum, a gap keeps their stores off each other's banks.
  stride = width + (source.isContiguousAlongSum ? lanes : 0);
  isWordWhole = depth > 1 && source.isContiguousAlongSum && source.isAligned(e, depth, /*alongSum=*/true);
  Type element = cast<RankedTensorType>(source.tensor.getType()).getElementType();
  memory = e.workgroupMemory(depth > 1 ? e.builder.getI32Type() : element, e.tile.slices * 2 * bufferSize());
}

void CopyTile::layOutForFragments() {
  constexpr int64_t kAccessBytes = 16;
  Type element = cast<RankedTensorType>(source.tensor.getType()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, wide = kAccessBytes / bytes;
  isUnitAlongSum = source.isContiguousAlongSum;
  isAlongSum = isUnitAlongSum || !e.spec.matrixUnit.readsAcross;
  lanes = source.buffer ? wide : 4;
  if (std::optional<int64_t> last = getConstantIntValue(e.loopSizes[e.shape.sumLoops.back()]))
    isSumWhole = isUnitAlongSum && *last % lanes == 0;
  isAsync = source.isAligned(e, wide, isUnitAlongSum) && e.spec.asyncCopyBytes >= kAccessBytes;
  // The gap makes the stride an odd number of accesses, so that rows below each other are in other banks. Single
  // elements of 32 bits across the sum are read by 4 threads below and 8 beside each other.
  stride = isAlongSum ? e.tile.step + wide : width + (bytes == 4 ? 8 : wide);
  memory = e.workgroupMemory(element, e.tile.stages * bufferSize());
}

//===-- Places ----------------------------------------------------------------------------------------------------===//

Value CopyTile::placeOf(Value along, Value across) {
  return isAlongSum ? e.plus(e.times(across, stride), along) : e.plus(e.times(along, stride), across);
}

Value CopyTile::begin(Value buffer) {
  Value first = e.times(buffer, bufferSize());
  return e.slice ? e.plus(first, e.times(e.slice, 2 * bufferSize())) : first;
}

int64_t CopyTile::blockOffset(int64_t k) const {
  int64_t groups = block / lanes;
  return k / lanes * (width / groups) + k % lanes;
}

/// The units that this thread brings.
SmallVector<CopyTile::Unit> CopyTile::listUnits() {
  int64_t lanesAlong = isUnitAlongSum ? lanes : 1, lanesAcross = lanes / lanesAlong;
  int64_t along = e.tile.step / lanesAlong, across = width / lanesAcross, all = along * across;
  int64_t perSlice = e.tile.threads / e.tile.slices;
  SmallVector<Unit> units;
  for (int64_t first = 0; first < all; first += perSlice) {
    Value unit = e.plus(e.thread, e.index(first));
    // A thread too many brings the last unit once more, and does not store it.
    if (first + perSlice > all)
      unit = e.minimum(unit, e.index(all - 1));
    bool alongSum = source.isContiguousAlongSum;
    Value fastest = e.index(alongSum ? along : across);
    Value fast = e.remainder(unit, fastest), slow = e.quotient(unit, fastest);
    Value unitAlong = e.times(alongSum ? fast : slow, lanesAlong);
    units.push_back({unitAlong, e.times(alongSum ? slow : fast, lanesAcross)});
  }
  return units;
}

/// The position in the sum of a lane of the unit that begins at `number`.
Value CopyTile::laneInSum(Value number, int64_t lane) {
  return isUnitAlongSum && !isSumWhole ? e.plus(number, e.index(lane)) : number;
}

/// Whether that position is inside of the sum; null where it always is. After the end of the sum zeros are added.
Value CopyTile::isInSum(Value number, int64_t lane) {
  if (!e.needsZeros)
    return {};
  return e.compare(arith::CmpIPredicate::ult, laneInSum(number, lane), e.sumLength);
}

/// Where a lane of the unit at `number` and `across` lies along each loop. A result outside of the
/// tensor is not stored, so any element inside serves for it.
DenseMap<unsigned, Value> CopyTile::findPositions(Value number, Value across, int64_t lane) {
  const ProductShape &shape = e.shape;
  DenseMap<unsigned, Value> positions;
  int64_t atOnce = isWordWhole ? e.tile.depth : isSumWhole || (isAsync && isUnitAlongSum) ? lanes : 1;
  Value last = e.builder.createOrFold<arith::SubIOp>(e.loc, e.sumLength, e.index(atOnce));
  number = e.minimum(laneInSum(number, lane), last);
  for (auto [sumLoop, position] : llvm::zip(shape.sumLoops, e.takeApart(number, e.sumSizes)))
    positions[sumLoop] = position;
  if (isSumWhole)
    positions[shape.sumLoops.back()] = e.plus(positions[shape.sumLoops.back()], e.index(lane));
  for (unsigned d : shape.batchDims)
    positions[shape.resultLoops[d]] = e.box.lower[d];
  if (shape.groupDim) // of the input, whose group is the same for all filters of the tile
    positions[shape.resultLoops[*shape.groupDim]] = e.box.lower[*shape.groupDim];
  int64_t wide = isUnitAlongSum ? 1 : lanes, offset = isUnitAlongSum ? 0 : lane;
  bool inOneRow = e.areInOneRow(source.dims, wide);
  Value at = inOneRow ? across : e.plus(across, e.index(offset));
  for (auto [d, local] : llvm::zip(source.dims, e.takeApart(at, e.sizesOf(source.dims)))) {
    // Neighbours lie along the last dimension; along another one each position stands alone.
    bool hasLanes = inOneRow && d == source.dims.back();
    positions[shape.resultLoops[d]] = clampPosition(d, local, hasLanes ? offset : 0, hasLanes ? wide : 1);
  }
  return positions;
}

/// The position `local` + `offset` of the tile along dimension `d`, or another one inside of the result. Neighbours
/// stay neighbours where the dimension is a multiple of `wide`.
Value CopyTile::clampPosition(unsigned d, Value local, int64_t offset, int64_t wide) {
  Value position = e.plus(e.box.lower[d], local);
  if (e.isWhole(d))
    return e.plus(position, e.index(offset));
  Value size = e.sizeOf(d);
  std::optional<int64_t> known = getConstantIntValue(size);
  if (known && *known % wide == 0) {
    position = e.minimum(position, e.index(*known - wide));
    return e.plus(position, e.index(offset));
  }
  Value last = e.builder.createOrFold<arith::SubIOp>(e.loc, size, e.index(1));
  return e.minimum(e.plus(position, e.index(offset)), last);
}

/// Where in its buffer lane `lane` of the unit at `number` and `across` lies, and whether its elements are read: else
/// they are zeros. Null where they always are.
Value CopyTile::findUnit(Value number, Value across, int64_t lane, SmallVectorImpl<Value> &indices) {
  DenseMap<unsigned, Value> positions = findPositions(number, across, lane);
  Value isInside = isInSum(number, lane);
  if (!source.windows.empty())
    return findInWindow(positions, isInside, indices);
  for (AffineExpr expr : source.bufferMap.getResults())
    indices.push_back(positions[cast<AffineDimExpr>(expr).getPosition()]);
  indices.resize(cast<MemRefType>(source.buffer.getType()).getRank(), e.index(0)); // tiles of one element
  return isInside;
}

/// The same under a convolution's window. The position is one number: the part that depends on the position in the
/// result alone leaves the loop over the sum.
Value CopyTile::findInWindow(const DenseMap<unsigned, Value> &positions, Value isInside,
                             SmallVectorImpl<Value> &indices) {
  OpBuilder &builder = e.builder;
  auto type = cast<MemRefType>(source.buffer.getType());
  unsigned rank = type.getRank(), spatial = source.windows.size();
  SmallVector<Value> strides(rank, e.index(1)), sizes(rank);
  for (unsigned d = rank; d-- > 0;) {
    sizes[d] = type.isDynamicDim(d) ? memref::DimOp::create(builder, e.loc, source.buffer, d).getResult()
                                    : e.index(type.getDimSize(d));
    if (d != 0)
      strides[d - 1] = e.times(strides[d], sizes[d]);
  }
  Value outer = e.times(positions.lookup(0), strides[0]), inner = positions.lookup(rank + spatial);
  if (source.channelsOfGroup != 0) {
    Value group = e.quotient(e.box.lower[*e.shape.groupDim], e.index(e.shape.filtersOfGroup));
    outer = e.plus(outer, e.times(group, source.channelsOfGroup));
  }
  for (auto [d, window] : llvm::enumerate(source.windows)) {
    Value corner = e.times(positions.lookup(1 + d), window.stride);
    Value within = e.times(positions.lookup(rank + d), window.dilation);
    if (window.padLow != 0)
      corner = arith::SubIOp::create(builder, e.loc, corner, e.index(window.padLow));
    outer = e.plus(outer, e.times(corner, strides[1 + d]));
    inner = e.plus(inner, e.times(within, strides[1 + d]));
    if (window.padLow == 0 && window.padHigh == 0)
      continue;
    // A position before the first one is a large number.
    Value below =
        arith::CmpIOp::create(builder, e.loc, arith::CmpIPredicate::ult, e.plus(corner, within), sizes[1 + d]);
    isInside = e.both(isInside, below);
  }
  indices.assign(rank, e.index(0));
  indices.back() = e.plus(outer, inner);
  if (isInside)
    indices.back() = e.select(isInside, indices.back(), e.index(0));
  return isInside;
}

//===-- Copies ----------------------------------------------------------------------------------------------------===//

void CopyTile::copy(Value from, Value buffer) {
  Value first = begin(buffer);
  for (auto [along, across] : listUnits()) {
    SmallVector<Value> indices;
    Value isInside = findUnit(e.plus(from, along), across, 0, indices);
    if (!isInside)
      isInside = arith::ConstantIntOp::create(e.builder, e.loc, 1, 1);
    Value at = e.plus(placeOf(along, across), first);
    vxk::AsyncCopyOp::create(e.builder, e.loc, source.buffer, indices, memory, at, lanes, isInside);
  }
}

LogicalResult CopyTile::load(Value from, SmallVectorImpl<Value> &values) {
  for (auto [along, across] : listUnits())
    if (failed(loadUnit(e.plus(from, e.times(along, e.tile.depth)), across, values)))
      return failure();
  return success();
}

LogicalResult CopyTile::loadUnit(Value number, Value across, SmallVectorImpl<Value> &values) {
  if (!source.windows.empty() && isSumWhole && source.isAligned(e, lanes, isUnitAlongSum)) {
    loadWindow(number, across, values);
    return success();
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value value = e.tile.depth > 1 ? loadWord(number, across, lane) : loadElement(number, across, lane);
    if (!value)
      return failure();
    values.push_back(value);
  }
  return success();
}

Value CopyTile::loadElement(Value number, Value across, int64_t lane) {
  DenseMap<unsigned, Value> positions = findPositions(number, across, lane);
  SmallVector<LaneIndex> indices;
  for (unsigned used : source.loops)
    indices.push_back({positions[used], 0, {}});
  Value value = e.evaluator->evaluate(source.tensor, indices);
  Value isInside = value ? isInSum(number, lane) : Value();
  return isInside ? e.selectOrZero(isInside, value) : value;
}

/// Four bytes along the sum as one number, the first of them lowest.
Value CopyTile::loadWord(Value number, Value across, int64_t lane) {
  OpBuilder &builder = e.builder;
  auto type = VectorType::get(e.tile.depth, builder.getI8Type());
  Value bytes;
  if (isWordWhole) {
    SmallVector<Value> indices;
    Value isInside = findUnit(number, across, lane, indices);
    bytes = vector::LoadOp::create(builder, e.loc, type, source.buffer, indices);
    if (isInside)
      bytes = e.selectOrZero(isInside, bytes);
  } else {
    SmallVector<Value> elements;
    for (int64_t place = 0; place < e.tile.depth; ++place)
      elements.push_back(loadElement(e.plus(number, e.index(place)), across, lane));
    if (llvm::is_contained(elements, Value()))
      return {};
    bytes = vector::FromElementsOp::create(builder, e.loc, type, elements);
  }
  Value word = vector::BitCastOp::create(builder, e.loc, VectorType::get(1, builder.getI32Type()), bytes);
  return vector::ExtractOp::create(builder, e.loc, word, ArrayRef<int64_t>{0});
}

/// Neighbouring channels under a convolution's window.
void CopyTile::loadWindow(Value number, Value across, SmallVectorImpl<Value> &values) {
  SmallVector<Value> indices;
  Value isInside = findUnit(number, across, 0, indices);
  auto type = VectorType::get(lanes, cast<MemRefType>(source.buffer.getType()).getElementType());
  Value unit = vector::LoadOp::create(e.builder, e.loc, type, source.buffer, indices);
  if (isInside)
    unit = e.selectOrZero(isInside, unit);
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.push_back(vector::ExtractOp::create(e.builder, e.loc, unit, ArrayRef<int64_t>{lane}));
}

void CopyTile::store(ArrayRef<Value> &values, Value buffer) {
  int64_t perSlice = e.tile.threads / e.tile.slices, all = width * e.tile.step / lanes;
  Value begins = begin(buffer);
  for (auto [k, unit] : llvm::enumerate(listUnits())) {
    Value at = e.plus(placeOf(unit.along, unit.across), begins);
    int64_t first = static_cast<int64_t>(k) * perSlice;
    bool someIdle = first + perSlice > all;
    if (someIdle) {
      Value hasUnit =
          arith::CmpIOp::create(e.builder, e.loc, arith::CmpIPredicate::ult, e.thread, e.index(all - first));
      e.evaluator->enterIf(e.loc, hasUnit);
    }
    storeUnit(values.take_front(lanes), at);
    values = values.drop_front(lanes);
    if (someIdle)
      e.evaluator->leaveIf();
  }
}

void CopyTile::storeUnit(ArrayRef<Value> values, Value at) {
  if (values.size() == 1 || isAlongSum != isUnitAlongSum) {
    for (auto [lane, value] : llvm::enumerate(values))
      memref::StoreOp::create(e.builder, e.loc, value, memory,
                              e.plus(at, e.index(static_cast<int64_t>(lane) * stride)));
    return;
  }
  auto type = VectorType::get(lanes, values.front().getType());
  Value packed = vector::FromElementsOp::create(e.builder, e.loc, type, values);
  vector::StoreOp::create(e.builder, e.loc, packed, memory, at);
}

void startCopies(WorkgroupProduct &emitter, MutableArrayRef<CopyTile> tiles, Value from, Value buffer) {
  bool isAny = false;
  for (CopyTile &tile : tiles)
    if (tile.isAsync) {
      tile.copy(from, buffer);
      isAny = true;
    }
  if (isAny)
    vxk::AsyncCommitOp::create(emitter.builder, emitter.loc);
}

LogicalResult loadTiles(WorkgroupProduct &emitter, MutableArrayRef<CopyTile> tiles, Value from,
                        SmallVectorImpl<Value> &values) {
  if (emitter.slice)
    from = emitter.plus(from, emitter.times(emitter.slice, emitter.tile.step * emitter.tile.depth));
  for (CopyTile &tile : tiles)
    if (!tile.isAsync && failed(tile.load(from, values)))
      return failure();
  return success();
}

void storeTiles(MutableArrayRef<CopyTile> tiles, ArrayRef<Value> values, Value buffer) {
  for (CopyTile &tile : tiles)
    if (!tile.isAsync)
      tile.store(values, buffer);
}

} // namespace vx

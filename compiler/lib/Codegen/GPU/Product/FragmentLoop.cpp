#include "CopyTile.h"

using namespace mlir;

namespace vx {

namespace {

/// The products of fragments: each subgroup has a block of rows and columns of the tile.
class FragmentLoop {
public:
  FragmentLoop(WorkgroupProduct &emitter, MutableArrayRef<CopyTile> tiles)
      : e(emitter), tiles(tiles), unit(e.spec.matrixUnit), builder(e.builder), loc(e.loc) {}

  LogicalResult emit();

private:
  vxk::FragmentType typeOf(vxk::FragmentRole role);
  LogicalResult bringFirst();
  SmallVector<Value> addProducts(ValueRange sums, Value buffer);
  LogicalResult storeSums(ValueRange sums);

  WorkgroupProduct &e;
  MutableArrayRef<CopyTile> tiles;
  const MatrixUnit &unit;
  OpBuilder &builder;
  Location loc;
  Value subgroupRow, subgroupColumn; // the first of the block
};

vxk::FragmentType FragmentLoop::typeOf(vxk::FragmentRole role) {
  Type element = role == vxk::FragmentRole::accumulator ? builder.getF32Type() : e.tile.fragments->element;
  return vxk::FragmentType::get(builder.getContext(), role, MatrixUnit::rows, MatrixUnit::columns,
                                e.tile.fragments->depth, element);
}

/// All stages but the last.
LogicalResult FragmentLoop::bringFirst() {
  for (int64_t stage = 0; stage + 1 < e.tile.stages; ++stage) {
    SmallVector<Value> values;
    startCopies(e, tiles, e.index(stage * e.tile.step), e.index(stage));
    if (failed(loadTiles(e, tiles, e.index(stage * e.tile.step), values)))
      return failure();
    storeTiles(tiles, values, e.index(stage));
  }
  return success();
}

/// A ring of `stages` buffers. While the products of one are added, the others are on their way: by asynchronous
/// copies where a factor lies in memory as it is staged, else through registers.
LogicalResult FragmentLoop::emit() {
  const int64_t step = e.tile.step, stages = e.tile.stages;
  Value subgroup = arith::DivUIOp::create(builder, loc, e.thread, e.index(unit.subgroup));
  subgroupRow = e.times(e.quotient(subgroup, e.index(e.tile.subgroupColumns)), e.tile.blockRows);
  subgroupColumn = e.times(e.remainder(subgroup, e.index(e.tile.subgroupColumns)), e.tile.blockColumns);
  bool isAsync = llvm::any_of(tiles, [](const CopyTile &tile) { return tile.isAsync; });
  if (failed(e.emitUnlessEmpty([&] { return bringFirst(); })))
    return failure();

  int64_t blocks = e.tile.blockRows / MatrixUnit::rows * (e.tile.blockColumns / MatrixUnit::columns);
  Value zero = vxk::FillFragmentOp::create(builder, loc, typeOf(vxk::FragmentRole::accumulator), e.shape.init);
  SmallVector<Value> carried(blocks, zero);
  carried.push_back(e.index(0));
  scf::ForOp steps = e.evaluator->enterLoop(loc, e.index(0), e.sumLength, e.index(step), carried);
  Value buffer = steps.getRegionIterArgs().back();
  auto isBuffer = [&](int64_t number) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, buffer, e.index(number));
  };
  // After the barrier the buffer that was read last is free, and the elements that other threads brought are there.
  Value last =
      e.select(isBuffer(0), e.index(stages - 1), arith::SubIOp::create(builder, loc, buffer, e.index(1)).getResult());
  if (isAsync)
    vxk::AsyncWaitOp::create(builder, loc, stages - 2);
  vxk::BarrierOp::create(builder, loc);
  Value from = e.plus(steps.getInductionVar(), e.index((stages - 1) * step));
  startCopies(e, tiles, from, last);
  SmallVector<Value> values;
  if (failed(loadTiles(e, tiles, from, values)))
    return failure();
  SmallVector<Value> sums = addProducts(steps.getRegionIterArgs().drop_back(), buffer);
  storeTiles(tiles, values, last);
  sums.push_back(e.select(isBuffer(stages - 1), e.index(0), e.plus(buffer, e.index(1))));
  e.evaluator->leaveLoop(sums);
  if (isAsync)
    vxk::AsyncWaitOp::create(builder, loc, 0); // nothing arrives in memory that is another workgroup's by then
  return storeSums(steps.getResults().drop_back());
}

SmallVector<Value> FragmentLoop::addProducts(ValueRange sums, Value buffer) {
  SmallVector<Value> next(sums);
  Value begins[2] = {tiles[0].begin(buffer), tiles[1].begin(buffer)}, firsts[2] = {subgroupRow, subgroupColumn};
  for (int64_t place = 0; place < e.tile.step; place += e.tile.fragments->depth) {
    SmallVector<Value> fragments[2];
    for (int which : {0, 1}) {
      CopyTile &tile = tiles[which];
      auto type = typeOf(which == 0 ? vxk::FragmentRole::lhs : vxk::FragmentRole::rhs);
      int64_t edge = which == 0 ? MatrixUnit::rows : MatrixUnit::columns;
      for (int64_t k = 0; k < e.tile.blockOf(which); k += edge) {
        Value at = e.plus(tile.placeOf(e.index(place), e.plus(firsts[which], e.index(k))), begins[which]);
        fragments[which].push_back(
            vxk::LoadFragmentOp::create(builder, loc, type, tile.memory, at, tile.stride, tile.isAlongSum));
      }
    }
    auto sum = next.begin();
    for (Value lhs : fragments[0])
      for (Value rhs : fragments[1]) {
        *sum = vxk::MultiplyAccumulateOp::create(builder, loc, sum->getType(), lhs, rhs, *sum);
        ++sum;
      }
  }
  return next;
}

/// Computes and stores the kernel's results from the elements of the accumulators that each thread holds.
LogicalResult FragmentLoop::storeSums(ValueRange sums) {
  ProductEpilogue epilogue(e);
  Value lane = e.remainder(e.thread, e.index(unit.subgroup));
  Value laneRow = e.times(e.quotient(lane, e.index(unit.laneColumns)), unit.rowStep);
  Value laneColumn = e.times(e.remainder(lane, e.index(unit.laneColumns)), unit.columnStep);
  laneRow = e.plus(subgroupRow, laneRow);
  laneColumn = e.plus(subgroupColumn, laneColumn);
  SmallVector<Type> types(unit.elements.size(), builder.getF32Type());
  auto sum = sums.begin();
  for (int64_t i = 0; i < e.tile.blockRows; i += MatrixUnit::rows)
    for (int64_t j = 0; j < e.tile.blockColumns; j += MatrixUnit::columns, ++sum) {
      SmallVector<Value> elements = vxk::FragmentElementsOp::create(builder, loc, types, *sum)->getResults();
      for (size_t first = 0, count; first < elements.size(); first += count) {
        auto [row, column] = unit.elements[first];
        for (count = 1; first + count < elements.size(); ++count)
          if (unit.elements[first + count] != std::pair(row, column + static_cast<int64_t>(count)))
            break;
        if (failed(epilogue.store(e.plus(laneRow, e.index(i + row)), e.plus(laneColumn, e.index(j + column)),
                                  ArrayRef(elements).slice(first, count))))
          return failure();
      }
    }
  return success();
}

} // namespace

LogicalResult emitFragmentLoop(WorkgroupProduct &emitter, MutableArrayRef<CopyTile> tiles) {
  return FragmentLoop(emitter, tiles).emit();
}

} // namespace vx

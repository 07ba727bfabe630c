#include "CopyTile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace vx {

namespace {

/// True of a factor that was widened from at most 16 bits.
bool isOfFewBits(Value factor) {
  Operation *op = factor.getDefiningOp();
  return isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(op) &&
         op->getOperand(0).getType().getIntOrFloatBitWidth() <= 16;
}

/// The products of blocks of rows and columns, one block for each thread of a slice.
class ScalarLoop {
public:
  ScalarLoop(WorkgroupProduct &emitter, MutableArrayRef<CopyTile> tiles)
      : e(emitter), tiles(tiles), builder(e.builder), loc(e.loc) {}

  LogicalResult emit();

private:
  void findBlock();
  Value blockBegin(int which) { return e.times(which == 0 ? threadRow : threadColumn, tiles[which].lanes); }
  SmallVector<Value> loadBlock(int which, Value begin, int64_t place);
  SmallVector<Value> addProducts(ValueRange sums, Value buffer);
  Value addProduct(Value a, Value b, Value accumulator);
  Value addBytes(Value a, Value b, Value accumulator);
  void joinSlices(MutableArrayRef<Value> sums);
  LogicalResult storeSums(SmallVector<Value> sums);

  WorkgroupProduct &e;
  MutableArrayRef<CopyTile> tiles;
  OpBuilder &builder;
  Location loc;
  Value threadRow, threadColumn;
  Value partialSums; // of all slices but the first: [slice][element of the block][thread]
};

void ScalarLoop::findBlock() {
  if (e.tile.slices > 1) {
    // One more than needed: a type of its own, for memory that no vectors are read from.
    Type element = e.shape.init.getType();
    partialSums = e.workgroupMemory(element, (e.tile.slices - 1) * e.tile.rows * e.tile.columns + 1);
    Value perSlice = e.index(e.tile.threads / e.tile.slices);
    e.slice = arith::DivUIOp::create(builder, loc, e.thread, perSlice);
    e.thread = arith::RemUIOp::create(builder, loc, e.thread, perSlice);
  }
  Value threadColumns = e.index(e.tile.columns / e.tile.blockColumns);
  threadRow = e.quotient(e.thread, threadColumns);
  threadColumn = e.remainder(e.thread, threadColumns);
}

LogicalResult ScalarLoop::emit() {
  findBlock();
  const int64_t length = e.tile.step * e.tile.depth * e.tile.slices;
  // While the products of one step are added, the elements of the next one are on their way from memory.
  auto bringFirst = [&]() -> LogicalResult {
    SmallVector<Value> first;
    if (failed(loadTiles(e, tiles, e.index(0), first)))
      return failure();
    storeTiles(tiles, first, e.index(0));
    return success();
  };
  if (failed(e.emitUnlessEmpty(bringFirst)))
    return failure();
  vxk::BarrierOp::create(builder, loc);
  SmallVector<Value> carried(e.tile.blockRows * e.tile.blockColumns, e.shape.init);
  carried.push_back(e.index(0));
  scf::ForOp steps = e.evaluator->enterLoop(loc, e.index(0), e.sumLength, e.index(length), carried);
  Value buffer = steps.getRegionIterArgs().back();
  Value otherBuffer = arith::SubIOp::create(builder, loc, e.index(1), buffer);
  SmallVector<Value> next;
  if (failed(loadTiles(e, tiles, e.plus(steps.getInductionVar(), e.index(length)), next)))
    return failure();
  SmallVector<Value> sums = addProducts(steps.getRegionIterArgs().drop_back(), buffer);
  storeTiles(tiles, next, otherBuffer);
  vxk::BarrierOp::create(builder, loc);
  sums.push_back(otherBuffer);
  e.evaluator->leaveLoop(sums);
  sums.assign(steps.getResults().begin(), std::prev(steps.getResults().end()));
  return storeSums(sums);
}

/// The rows or columns of this thread's block at position `place` of the step.
SmallVector<Value> ScalarLoop::loadBlock(int which, Value begin, int64_t place) {
  const CopyTile &tile = tiles[which];
  SmallVector<Value> values;
  for (int64_t k = 0; k < e.tile.blockOf(which); k += tile.lanes) {
    Value at = e.plus(begin, e.index(place * tile.stride + tile.blockOffset(k)));
    if (tile.lanes == 1) {
      values.push_back(memref::LoadOp::create(builder, loc, tile.memory, at));
      continue;
    }
    auto type = VectorType::get(tile.lanes, cast<MemRefType>(tile.memory.getType()).getElementType());
    Value packed = vector::LoadOp::create(builder, loc, type, tile.memory, at);
    for (int64_t lane = 0; lane < tile.lanes; ++lane)
      values.push_back(vector::ExtractOp::create(builder, loc, packed, ArrayRef<int64_t>{lane}));
  }
  return values;
}

SmallVector<Value> ScalarLoop::addProducts(ValueRange sums, Value buffer) {
  SmallVector<Value> next(sums);
  Value begins[2];
  for (int which : {0, 1})
    begins[which] = e.plus(tiles[which].begin(buffer), blockBegin(which));
  for (int64_t place = 0; place < e.tile.step; ++place) {
    SmallVector<Value> rows = loadBlock(0, begins[0], place), columns = loadBlock(1, begins[1], place);
    auto sum = next.begin();
    for (Value row : rows)
      for (Value column : columns) {
        *sum = addProduct(row, column, *sum);
        ++sum;
      }
  }
  return next;
}

/// sum + a * b by the ops of the product's body.
Value ScalarLoop::addProduct(Value a, Value b, Value accumulator) {
  if (e.tile.depth > 1)
    return addBytes(a, b, accumulator);
  const ProductShape &shape = e.shape;
  IRMapping mapping;
  mapping.map(shape.factors[0].value, a);
  mapping.map(shape.factors[1].value, b);
  mapping.map(shape.accumulator(), accumulator);
  Operation *product = builder.clone(*shape.multiply, mapping);
  if (isa<arith::MulIOp>(product) && llvm::all_of(shape.multiply->getOperands(), isOfFewBits))
    product->setDiscardableAttr(vxk::kFewBitsAttr, builder.getUnitAttr());
  return builder.clone(*shape.add, mapping)->getResult(0);
}

/// sum + a * b of the four bytes of words.
Value ScalarLoop::addBytes(Value a, Value b, Value accumulator) {
  auto one = VectorType::get(1, builder.getI32Type()), bytes = VectorType::get(e.tile.depth, builder.getI8Type());
  auto toVector = [&](Value word) { return vector::FromElementsOp::create(builder, loc, one, word).getResult(); };
  auto toBytes = [&](Value word) { return vector::BitCastOp::create(builder, loc, bytes, toVector(word)).getResult(); };
  Value sum = vxk::DotOp::create(builder, loc, toVector(accumulator), toBytes(a), toBytes(b), e.tile.areSigned[0],
                                 e.tile.areSigned[1]);
  return vector::ExtractOp::create(builder, loc, sum, ArrayRef<int64_t>{0});
}

/// Adds up the slices' sums in order, in the threads of the first slice: the branch for them is entered.
void ScalarLoop::joinSlices(MutableArrayRef<Value> sums) {
  const int64_t perSlice = e.tile.threads / e.tile.slices, ofSlice = e.tile.rows * e.tile.columns;
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, e.slice, e.index(0));
  Value isLater = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, e.slice, e.index(0));
  e.evaluator->enterIf(loc, isLater);
  Value before = arith::SubIOp::create(builder, loc, e.slice, e.index(1));
  Value begin = e.plus(e.times(before, ofSlice), e.thread);
  for (auto [k, sum] : llvm::enumerate(sums)) {
    Value at = e.plus(begin, e.index(static_cast<int64_t>(k) * perSlice));
    memref::StoreOp::create(builder, loc, sum, partialSums, at);
  }
  e.evaluator->leaveIf();
  vxk::BarrierOp::create(builder, loc);
  e.evaluator->enterIf(loc, isFirst);
  for (auto [k, sum] : llvm::enumerate(sums))
    for (int64_t other = 0; other + 1 < e.tile.slices; ++other) {
      Value at = e.plus(e.thread, e.index(other * ofSlice + static_cast<int64_t>(k) * perSlice));
      Value part = memref::LoadOp::create(builder, loc, partialSums, at);
      IRMapping mapping;
      for (Value operand : e.shape.add->getOperands())
        mapping.map(operand, operand == e.shape.accumulator() ? sum : part);
      sum = builder.clone(*e.shape.add, mapping)->getResult(0);
    }
}

/// Computes and stores the kernel's results from the sums.
LogicalResult ScalarLoop::storeSums(SmallVector<Value> sums) {
  if (e.slice)
    joinSlices(sums);
  ProductEpilogue epilogue(e);
  int64_t lanes = tiles[1].lanes;
  for (int64_t i = 0; i < e.tile.blockRows; ++i)
    for (int64_t j = 0; j < e.tile.blockColumns; j += lanes) {
      Value row = e.plus(blockBegin(0), e.index(tiles[0].blockOffset(i)));
      Value column = e.plus(blockBegin(1), e.index(tiles[1].blockOffset(j)));
      if (failed(epilogue.store(row, column, ArrayRef<Value>(sums).slice(i * e.tile.blockColumns + j, lanes))))
        return failure();
    }
  if (e.slice)
    e.evaluator->leaveIf();
  return success();
}

} // namespace

LogicalResult emitScalarLoop(WorkgroupProduct &emitter, MutableArrayRef<CopyTile> tiles) {
  return ScalarLoop(emitter, tiles).emit();
}

} // namespace vx

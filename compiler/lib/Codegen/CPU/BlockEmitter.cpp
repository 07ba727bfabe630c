#include "BlockEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace vx {

LogicalResult BlockEmitter::forCarrying(Range range, int64_t step, MutableArrayRef<Value> carried,
                                        function_ref<LogicalResult(Value)> body) {
  scf::ForOp loop = evaluator->enterLoop(loc, range.lower, range.upper, index(step), carried);
  llvm::copy(loop.getRegionIterArgs(), carried.begin());
  if (failed(body(loop.getInductionVar())))
    return failure();
  evaluator->leaveLoop(carried);
  llvm::copy(loop.getResults(), carried.begin());
  return success();
}

LogicalResult BlockEmitter::forEach(Value lower, Value upper, int64_t step, function_ref<LogicalResult(Value)> body) {
  return forCarrying({lower, upper}, step, {}, body);
}

LogicalResult BlockEmitter::forBlocks(Range range, int64_t block, function_ref<LogicalResult(Range)> body) {
  return forEach(range.lower, range.upper, block, [&](Value lower) {
    Value end = plus(lower, block);
    auto first = getConstantIntValue(range.lower), last = getConstantIntValue(range.upper);
    bool isWhole = first && last && (*last - *first) % block == 0;
    return body({lower, isWhole ? end : arith::MinSIOp::create(builder, loc, end, range.upper)});
  });
}

LogicalResult BlockEmitter::forDecreasing(Range range, int64_t count, MutableArrayRef<Value> carried,
                                          function_ref<LogicalResult(Value, int64_t)> body) {
  Value lower = range.lower;
  for (; count > 0; count = count == 1 ? 0 : llvm::bit_floor<uint64_t>(count - 1)) {
    Value upper = range.upper;
    if (count > 1)
      upper = minus(range.upper, builder.createOrFold<arith::RemUIOp>(loc, minus(range.upper, lower), index(count)));
    if (failed(forCarrying({lower, upper}, count, carried, [&](Value place) { return body(place, count); })))
      return failure();
    lower = upper;
    // Nothing is left over.
    auto first = getConstantIntValue(upper), last = getConstantIntValue(range.upper);
    if (first && first == last)
      break;
  }
  return success();
}

Value BlockEmitter::maskBelow(int64_t lanes, Value base, Value upper, bool isWhole) {
  if (isWhole)
    return {};
  return vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), minus(upper, base));
}

SmallVector<Value> BlockEmitter::multiply(const PackedRows &rows, const PackedColumns &columns, Value depth,
                                          SmallVector<Value> sums, std::optional<Signs> bytes) {
  auto type = cast<VectorType>(sums.front().getType());
  scf::ForOp loop = evaluator->enterLoop(loc, index(0), depth, index(1), sums);
  sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  Value k = loop.getInductionVar();
  SmallVector<Value> vectors;
  constexpr int64_t together = 4; // bytes of a sum
  Type element = cast<MemRefType>(rows.buffer.getType()).getElementType();
  VectorType loadedType; // of B
  if (columns.buffer)
    loadedType = VectorType::get(columns.elements, cast<MemRefType>(columns.buffer.getType()).getElementType());
  for (auto [i, first] : llvm::enumerate(columns.first)) {
    Value loaded;
    if (columns.buffer)
      loaded = vector::LoadOp::create(builder, loc, loadedType, columns.buffer, plus(first, times(k, columns.step)));
    if (!columns.decode)
      vectors.push_back(loaded);
    else if (!columns.decode(loaded, k, i, vectors))
      return {};
  }
  // Constant distances between rows become displacements of one address.
  Value across = plus(rows.first, times(k, rows.step));
  for (int64_t row = 0; row < rows.count; ++row) {
    Value place = plus(across, row * rows.stride), factor;
    if (bytes) {
      auto fourType = VectorType::get(together, element), oneType = VectorType::get(1, type.getElementType());
      Value four = vector::LoadOp::create(builder, loc, fourType, rows.buffer, place);
      Value one = vector::BitCastOp::create(builder, loc, oneType, four);
      Value repeated = vector::BroadcastOp::create(builder, loc, type, one);
      factor = vector::BitCastOp::create(builder, loc, loadedType, repeated);
    } else {
      factor = evaluator->toVector(loc, memref::LoadOp::create(builder, loc, rows.buffer, place));
    }
    for (auto [v, vector] : llvm::enumerate(vectors)) {
      Value &sum = sums[row * vectors.size() + v];
      sum = bytes ? vxk::DotOp::create(builder, loc, sum, factor, vector, bytes->rows, bytes->columns)
                  : multiplyAdd(builder, loc, factor, vector, sum);
    }
  }
  evaluator->leaveLoop(sums);
  return llvm::to_vector_of<Value>(loop.getResults());
}

Value BlockEmitter::minus(Value lhs, Value rhs) {
  auto left = getConstantIntValue(lhs), right = getConstantIntValue(rhs);
  if (right == 0)
    return lhs;
  return left && right ? index(*left - *right) : arith::SubIOp::create(builder, loc, lhs, rhs).getResult();
}

Value applyWidening(OpBuilder &builder, Location loc, Operation *widening, Value value) {
  Type wide = cast<VectorType>(value.getType()).clone(widening->getResult(0).getType());
  return builder.create(loc, widening->getName().getIdentifier(), value, wide, widening->getAttrs())->getResult(0);
}

Value multiplyAdd(OpBuilder &builder, Location loc, Value lhs, Value rhs, Value sum) {
  if (!isa<FloatType>(getElementTypeOrSelf(sum.getType())))
    return arith::AddIOp::create(builder, loc, sum, arith::MulIOp::create(builder, loc, lhs, rhs));
  auto contract = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(builder, loc, lhs, rhs, contract);
  return arith::AddFOp::create(builder, loc, sum, product, contract);
}

ArrayRef<std::pair<int64_t, int64_t>> getRegisterTiles(int64_t registers, bool areHalved) {
  static constexpr std::pair<int64_t, int64_t> many[] = {{6, 4}, {8, 3}, {12, 2}, {14, 1}};
  static constexpr std::pair<int64_t, int64_t> few[] = {{6, 2}, {10, 1}};
  static constexpr std::pair<int64_t, int64_t> manyOfHalves[] = {{4, 4}, {6, 3}, {10, 2}, {14, 1}};
  static constexpr std::pair<int64_t, int64_t> fewOfHalves[] = {{4, 2}, {8, 1}};
  if (areHalved)
    return registers >= 32 ? ArrayRef(manyOfHalves) : ArrayRef(fewOfHalves);
  return registers >= 32 ? ArrayRef(many) : ArrayRef(few);
}

int64_t getEvenBlock(int64_t size, int64_t most, int64_t unit) {
  int64_t blocks = std::max<int64_t>(llvm::divideCeil(size, most), 1);
  int64_t block = llvm::alignTo(llvm::divideCeil(size, blocks), unit);
  // A large unit would take one that is filled in part.
  if (block > most + most / 8)
    block = llvm::alignDown(most, unit);
  return std::max<int64_t>(block, unit);
}

} // namespace vx

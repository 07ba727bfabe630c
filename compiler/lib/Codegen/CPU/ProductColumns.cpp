// How a product reads B: packed on the stack, or decoded from what memory has.
#include "Common/TransposeSquare.h"
#include "ProductEmitter.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace vx {

LogicalResult ProductEmitter::packAcross(Value column, Range columns, Range depth) {
  const Value first = stepPlace(minus(column, columns.lower), blocking.depthBlock);
  const Value last = minus(columns.upper, index(1));
  const unsigned inner = product.k.back();
  SmallVector<LaneIndex> at = ivs;
  return forEach(depth.lower, depth.upper, blocking.lanes, [&](Value k) -> LogicalResult {
    SmallVector<Value> vectors;
    at[inner] = {k, 1, {}};
    evaluator->setMask(maskBelow(blocking.lanes, k, depth.upper, isMultipleOf(innerLength, blocking.lanes)));
    for (int64_t i = 0; i < blocking.lanes; ++i) {
      // A column beyond the last one repeats it: nothing reads its sums.
      at[product.n] = {arith::MinUIOp::create(builder, loc, plus(column, i), last), 0, {}};
      vectors.push_back(evaluateColumns(at));
      if (!vectors.back())
        return failure();
    }
    evaluator->setMask({});
    // Steps beyond the range have room in the block, which is whole vectors deep, and nothing reads them.
    for (auto [step, vector] : llvm::enumerate(transposeSquare(builder, loc, vectors)))
      vector::StoreOp::create(builder, loc, vector, blockOfB,
                              plus(first, times(plus(minus(k, depth.lower), step), blocking.lanes)));
    return success();
  });
}

LogicalResult ProductEmitter::packColumns(Range columns, Range depth) {
  // Whole groups of vectors, so that the last group is multiplied like the others.
  Value groups =
      builder.createOrFold<arith::CeilDivUIOp>(loc, minus(columns.upper, columns.lower), index(blocking.columns()));
  Value end = plus(columns.lower, times(groups, blocking.columns()));
  return forEach(columns.lower, end, blocking.lanes, [&](Value column) {
    if (product.hasColumnsInB && !product.packedB)
      return packAcross(column, columns, depth);
    SmallVector<LaneIndex> at = ivs;
    at[product.n] = {column, 1, {}};
    Value mask = maskBelow(blocking.lanes, column, columns.upper, hasWholeColumns && blocking.vectors == 1);
    Value first = stepPlace(minus(column, columns.lower), blocking.depthBlock);
    return forEachDepth(depth, at, [&](Value k) -> LogicalResult {
      evaluator->setMask(mask);
      Value value = product.packedB ? decodeColumns(at, k, columns) : evaluateColumns(at);
      if (!value)
        return failure();
      evaluator->setMask({});
      vector::StoreOp::create(builder, loc, value, blockOfB,
                              plus(first, stepPlace(minus(k, depth.lower), blocking.lanes)));
      return success();
    });
  });
}

Value ProductEmitter::evaluateColumns(SmallVectorImpl<LaneIndex> &at) {
  auto evaluate = [&]() -> Value {
    Value value = evaluator->evaluateInBody(product.op, product.b, at);
    return value ? evaluator->toVector(loc, value) : Value();
  };
  if (product.neighbours == 1)
    return evaluate();
  unsigned inner = product.k.back();
  LaneIndex step = at[inner];
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType(builder.getI8Type())));
  Value last = minus(innerLength, index(1));
  bool isWhole = isMultipleOf(innerLength, product.neighbours);
  SmallVector<Value> parts;
  for (int64_t neighbour = 0; neighbour < product.neighbours; ++neighbour) {
    Value k = plus(stepPlace(step.base, 1), neighbour);
    at[inner] = {isWhole ? k : arith::MinUIOp::create(builder, loc, k, last).getResult(), 0, {}};
    Value value = evaluate();
    if (!value)
      return {};
    if (!isWhole) {
      Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, k, innerLength);
      value = arith::SelectOp::create(builder, loc, isInside, value, zero);
    }
    parts.push_back(value);
  }
  at[inner] = step;
  auto interleave = [&](Value even, Value odd) -> Value {
    return vector::InterleaveOp::create(builder, loc, even, odd);
  };
  return interleave(interleave(parts[0], parts[2]), interleave(parts[1], parts[3]));
}

Value ProductEmitter::packedPlace(Value column, Value k) {
  Value tile = index(product.tile);
  Value panel = builder.createOrFold<arith::DivUIOp>(loc, column, tile);
  Value within = builder.createOrFold<arith::RemUIOp>(loc, column, tile);
  Value place = stepPlace(plus(plus(times(times(panel, depthSize), tile), within), times(k, tile)), 1);
  return perElement() == 1 ? place : builder.createOrFold<arith::DivUIOp>(loc, place, index(perElement()));
}

Value ProductEmitter::unpackHalves(Value bytes) {
  // Two integers, in the halves of a byte, go to the halves of 64 bits.
  auto pairs = VectorType::get(blocking.lanes / 2, builder.getI64Type());
  auto constant = [&](VectorType type, int64_t value) -> Value {
    auto number = builder.getIntegerAttr(type.getElementType(), value);
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, number));
  };
  Value wide = arith::ExtUIOp::create(builder, loc, pairs, bytes);
  wide = arith::OrIOp::create(builder, loc, wide, arith::ShLIOp::create(builder, loc, wide, constant(pairs, 28)));
  VectorType words = vectorType(builder.getI32Type());
  Value halves = vector::BitCastOp::create(builder, loc, words, wide);
  if (product.subByte.isUnsigned()) {
    halves = arith::AndIOp::create(builder, loc, halves, constant(words, 15));
  } else {
    Value above = constant(words, 28);
    halves = arith::ShRSIOp::create(builder, loc, arith::ShLIOp::create(builder, loc, halves, above), above);
  }
  return arith::TruncIOp::create(builder, loc, vectorType(builder.getI8Type()), halves);
}

Value ProductEmitter::takeHalves(Value bytes, bool areUpper) {
  VectorType words = vectorType(builder.getI32Type());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(words, builder.getI32IntegerAttr(value)));
  };
  Value halves = arith::ExtUIOp::create(builder, loc, words, bytes);
  if (!product.subByte.isUnsigned())
    halves = arith::ShRSIOp::create(
        builder, loc, arith::ShLIOp::create(builder, loc, halves, constant(areUpper ? 24 : 28)), constant(28));
  else if (areUpper)
    halves = arith::ShRUIOp::create(builder, loc, halves, constant(4));
  else
    halves = arith::AndIOp::create(builder, loc, halves, constant(15));
  return arith::TruncIOp::create(builder, loc, vectorType(builder.getI8Type()), halves);
}

Value ProductEmitter::lookHalvesUp(Value table, Value bytes, bool areUpper) {
  VectorType words = vectorType(builder.getI32Type());
  Value places = arith::ExtUIOp::create(builder, loc, words, bytes);
  if (areUpper) {
    auto four = DenseElementsAttr::get(words, builder.getI32IntegerAttr(4));
    places = arith::ShRUIOp::create(builder, loc, places, arith::ConstantOp::create(builder, loc, four));
  }
  return vxk::LookupOp::create(builder, loc, table, places);
}

Value ProductEmitter::makeTable() {
  constexpr int8_t count = 16;
  if (blocking.lanes != count || !type.getElementType().isF32())
    return {};
  SmallVector<int8_t> integers;
  for (int8_t bits = 0; bits < count; ++bits)
    integers.push_back(product.subByte.isUnsigned() || bits < count / 2 ? bits : bits - count);
  auto all = DenseElementsAttr::get(vectorType(builder.getI8Type()), ArrayRef(integers));
  // An integer decides its element, so the place is any.
  SmallVector<LaneIndex> at = ivs;
  for (unsigned k : product.k)
    at[k] = {index(0), 0, {}};
  at[product.n] = {index(0), 1, {}};
  return decode(arith::ConstantOp::create(builder, loc, all), at);
}

Value ProductEmitter::decode(Value loaded, ArrayRef<LaneIndex> at) {
  evaluator->setSource(product.unpackedB, [&](ArrayRef<LaneIndex>) { return loaded; });
  Value value = sumsBlocks() ? evaluateOfB(product.core, at) : evaluator->evaluateInBody(product.op, product.b, at);
  evaluator->setSource(product.unpackedB, nullptr);
  return value ? evaluator->toVector(loc, value) : Value();
}

Value ProductEmitter::evaluateOfB(Value tensor, ArrayRef<LaneIndex> at) {
  SmallVector<LaneIndex> places;
  for (AffineExpr loop : product.ofB.getResults())
    places.push_back(at[cast<AffineDimExpr>(loop).getPosition()]);
  Value value = evaluator->evaluate(tensor, places);
  return value ? evaluator->toVector(loc, value) : Value();
}

Value ProductEmitter::sumRow(const PackedRows &a, int64_t row, Range run) {
  Type element = type.getElementType();
  Value first = plus(a.first, row * a.stride), count = minus(run.upper, run.lower);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  std::optional<int64_t> known = getConstantIntValue(count);
  if (a.step == 1 && known && *known % blocking.lanes == 0) {
    Value sum = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType(element)));
    for (int64_t k = 0; k < *known; k += blocking.lanes)
      sum = arith::AddFOp::create(builder, loc, sum,
                                  vector::LoadOp::create(builder, loc, vectorType(element), a.buffer, plus(first, k)));
    return vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD, sum, zero,
                                       arith::FastMathFlags::reassoc);
  }
  scf::ForOp loop = evaluator->enterLoop(loc, index(0), count, index(1), zero);
  Value place = plus(first, times(loop.getInductionVar(), a.step));
  evaluator->leaveLoop(arith::AddFOp::create(builder, loc, loop.getRegionIterArg(0),
                                             memref::LoadOp::create(builder, loc, a.buffer, place))
                           .getResult());
  return loop.getResult(0);
}

LogicalResult ProductEmitter::addBlockSums(SmallVectorImpl<LaneIndex> &at, ArrayRef<Value> places, Value mask,
                                           const PackedRows &a, Range run, ArrayRef<Value> ofRun,
                                           MutableArrayRef<Value> sums) {
  const size_t vectors = places.size();
  const bool isShifted = llvm::any_of(
      product.steps, [](const Product::BlockStep &step) { return step.kind != Product::BlockStep::Scale; });
  SmallVector<Value> ofRows; // sums of A
  for (int64_t row = 0; isShifted && row < a.count; ++row)
    ofRows.push_back(evaluator->toVector(loc, sumRow(a, row, run)));
  const auto contract = arith::FastMathFlags::contract;
  evaluator->setMask(mask);
  for (size_t v = 0; v < vectors; ++v) {
    at[product.n] = {places[v], 1, {}};
    SmallVector<Value> numbers;
    for (const Product::BlockStep &step : product.steps) {
      numbers.push_back(evaluateOfB(step.numbers, at));
      if (!numbers.back())
        return failure();
    }
    for (int64_t row = 0; row < a.count; ++row) {
      // Of x (b * s + m), summed: s times the sum of x b, and m times the sum of x.
      Value sum = ofRun[row * vectors + v];
      for (auto [step, number] : llvm::zip_equal(product.steps, numbers)) {
        if (step.kind == Product::BlockStep::Scale) {
          sum = arith::MulFOp::create(builder, loc, sum, number, contract);
          continue;
        }
        Value shift = arith::MulFOp::create(builder, loc, number, ofRows[row], contract);
        sum = step.kind == Product::BlockStep::Add
                  ? arith::AddFOp::create(builder, loc, sum, shift, contract).getResult()
                  : arith::SubFOp::create(builder, loc, sum, shift, contract);
      }
      Value &all = sums[row * vectors + v];
      all = arith::AddFOp::create(builder, loc, all, sum, contract);
    }
  }
  evaluator->setMask({});
  return success();
}

Value ProductEmitter::decodeColumns(SmallVectorImpl<LaneIndex> &at, Value k, Range columns) {
  // A vector of the last group beyond the columns repeats the last one: nothing reads its sums.
  Value column = at[product.n].base;
  if (blocking.vectors > 1) {
    Value whole = minus(minus(columns.upper, index(1)), columns.lower);
    Value last =
        plus(columns.lower, minus(whole, builder.createOrFold<arith::RemUIOp>(loc, whole, index(blocking.lanes))));
    column = arith::MinUIOp::create(builder, loc, column, last);
  }
  Type element = cast<MemRefType>(packedB.getType()).getElementType();
  auto loaded = VectorType::get(blocking.lanes / perElement(), element);
  Value elements = vector::LoadOp::create(builder, loc, loaded, packedB, packedPlace(column, k));
  return decode(product.subByte ? unpackHalves(elements) : elements, at);
}

} // namespace vx

#include "StackSelection.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

StackSorter::StackSorter(OpBuilder &builder, Location loc, SortEntries &entries, int64_t capacity, int64_t vectorBits)
    : builder(builder), loc(loc), entries(entries), capacity(capacity), lanes(std::min(group, vectorBits / 64)) {
  for (SmallVector<Value> *memory : {&main, &spare})
    for (Type type : entries.getTypes())
      memory->push_back(memref::AllocaOp::create(builder, loc, MemRefType::get({capacity}, type), ValueRange(),
                                                 builder.getI64IntegerAttr(64)));
}

Value StackSorter::index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
Value StackSorter::plus(Value a, int64_t b) {
  return b == 0 ? a : builder.createOrFold<arith::AddIOp>(loc, a, index(b));
}

void StackSorter::forEach(int64_t lower, int64_t upper, int64_t step, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, index(lower), index(upper), index(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void StackSorter::fill(Value from, int64_t size) {
  auto rest = scf::ForOp::create(builder, loc, from, index(size), index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(rest.getBody()->getTerminator());
  Value number = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), rest.getInductionVar());
  entries.store(entries.filler(number), main, rest.getInductionVar());
}

void StackSorter::sort(Value kept, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  // Where they are few, in a part of the memory.
  for (int64_t size : {capacity / 4, capacity / 2}) {
    if (size < std::max(group, count))
      continue;
    Value isEnough = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, kept, index(size));
    auto branch = scf::IfOp::create(builder, loc, isEnough, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.thenBlock());
    fill(kept, size);
    sortAll(size);
    builder.setInsertionPointToStart(branch.elseBlock());
  }
  fill(kept, capacity);
  sortAll(capacity);
}

void StackSorter::sortAll(int64_t size) {
  // With an odd number of doublings the groups are ordered into the other memory, so that the last one ends here.
  int64_t doublings = llvm::Log2_64(size / group);
  bool beginsHere = doublings % 2 == 0;
  orderGroups(beginsHere ? main : spare, size);
  ArrayRef<Value> from = beginsHere ? main : spare, to = beginsHere ? spare : main;
  for (int64_t run = group; run < size; run *= 2) {
    forEach(0, size, 2 * run, [&](Value first) { mergeRuns(first, run, from, to); });
    std::swap(from, to);
  }
}

void StackSorter::orderGroups(ArrayRef<Value> to, int64_t size) {
  forEach(0, size, group, [&](Value first) {
    auto numbers = VectorType::get(lanes, builder.getI32Type());
    Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(numbers));
    SmallVector<SortEntry> own;
    for (int64_t lane = 0; lane < group; lane += lanes)
      own.push_back(entries.load(main, plus(first, lane), lanes));
    SmallVector<Value> before(own.size(), none);
    for (int64_t k = 0; k < group; ++k) {
      SortEntry other = entries.broadcast(entries.load(main, plus(first, k)), lanes);
      for (auto [entry, count] : llvm::zip(own, before)) {
        Value counts = arith::ExtUIOp::create(builder, loc, numbers, entries.isBefore(other, entry));
        count = arith::AddIOp::create(builder, loc, count, counts);
      }
    }
    auto everyLane = VectorType::get(lanes, builder.getI1Type());
    Value all = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(everyLane, true));
    for (auto [entry, count] : llvm::zip(own, before))
      for (auto [part, memory] : llvm::zip(entry.parts, to))
        vector::ScatterOp::create(builder, loc, Type(), memory, ValueRange(first), count, all, part);
  });
}

/// The runs at `first` and behind it, of `run` entries each, into one: from both ends, so that neither run ends before
/// its half of the result is made.
void StackSorter::mergeRuns(Value first, int64_t run, ValueRange from, ValueRange to) {
  Value middle = plus(first, run);
  Value last = plus(middle, run - 1);
  SmallVector<Value> ends = {first, middle, plus(middle, -1), last};
  auto loop = scf::ForOp::create(builder, loc, index(0), index(run), index(1), ends);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value place = loop.getInductionVar(), one = index(1), zero = index(0);
  auto add = [&](Value a, Value b) -> Value { return arith::AddIOp::create(builder, loc, a, b); };
  auto sub = [&](Value a, Value b) -> Value { return arith::SubIOp::create(builder, loc, a, b); };
  SmallVector<Value> next;
  Value left = loop.getRegionIterArg(0), right = loop.getRegionIterArg(1);
  SortEntry a = entries.load(from, left), b = entries.load(from, right);
  Value takesRight = entries.isBefore(b, a);
  entries.store(entries.select(takesRight, b, a), to, add(first, place));
  Value moved = arith::SelectOp::create(builder, loc, takesRight, one, zero);
  next.push_back(sub(add(left, one), moved));
  next.push_back(add(right, moved));
  left = loop.getRegionIterArg(2);
  right = loop.getRegionIterArg(3);
  a = entries.load(from, left);
  b = entries.load(from, right);
  Value takesLeft = entries.isBefore(b, a);
  entries.store(entries.select(takesLeft, a, b), to, sub(last, place));
  moved = arith::SelectOp::create(builder, loc, takesLeft, one, zero);
  next.push_back(sub(left, moved));
  next.push_back(add(sub(right, one), moved));
  scf::YieldOp::create(builder, loc, next);
}

/// The codes of the places from `first` on, and which of them there are: null where all are, with a null `length`.
std::pair<Value, Value> StackSelection::read(ArrayRef<Value> row, Value first, Value length) {
  Value mask;
  if (length) {
    Value left = arith::SubIOp::create(builder, loc, length, first);
    mask = vector::CreateMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), left);
  }
  SmallVector<LaneIndex> at;
  for (Value place : row)
    at.push_back({place, 0, {}});
  at.push_back({first, 1, {}});
  evaluator.setMask(mask);
  Value found = evaluator.evaluate(codes, at);
  evaluator.setMask({});
  return {found ? evaluator.toVector(loc, found) : found, mask};
}

Value StackSelection::getPlaces(Value first) {
  auto type = VectorType::get(lanes, builder.getI64Type());
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Value lane = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef(numbers)));
  Value base = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), first);
  base = vector::BroadcastOp::create(builder, loc, type, base);
  return arith::AddIOp::create(builder, loc, base, lane);
}

LogicalResult StackSelection::sortAll(ArrayRef<Value> row, int64_t length) {
  int64_t whole = length / lanes * lanes, end = static_cast<int64_t>(llvm::alignTo(length, lanes));
  auto copy = [&](int64_t lower, int64_t upper, Value bound) -> LogicalResult {
    if (lower == upper)
      return success();
    scf::ForOp loop = evaluator.enterLoop(loc, index(lower), index(upper), index(lanes));
    Value first = loop.getInductionVar();
    auto [found, mask] = read(row, first, bound);
    if (!found)
      return failure();
    Value places = getPlaces(first);
    SortEntry added = entries.make(found, places);
    entries.store(mask ? entries.select(mask, added, entries.filler(places)) : added, sorter.getMemory(), first);
    evaluator.leaveLoop();
    return success();
  };
  if (failed(copy(0, whole, Value())) || failed(copy(whole, end, index(length))))
    return failure();
  sorter.sort(index(std::min(sorter.getCapacity(), end)), length);
  return success();
}

LogicalResult StackSelection::sortBest(ArrayRef<Value> row, int64_t count, const SortEntry *after) {
  Type code = entries.getCodeType();
  unsigned bits = code.getIntOrFloatBitWidth();
  auto constant = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(code, value));
  };
  int64_t capacity = sorter.getCapacity();
  Value length = evaluator.sizeOf(codes, static_cast<int64_t>(row.size()));
  Value most = constant(APInt::getSignedMaxValue(bits));
  Value initial = after ? constant(APInt::getSignedMaxValue(bits) - 1) : most;
  // How many are kept, and the greatest code that may come before one of them.
  scf::ForOp loop = evaluator.enterLoop(loc, index(0), length, index(step * lanes), {index(0), initial});
  Value first = loop.getInductionVar(), kept = loop.getRegionIterArg(0), bound = loop.getRegionIterArg(1);
  Value bounds = vector::BroadcastOp::create(builder, loc, VectorType::get(lanes, code), bound);
  SmallVector<Value> all, masks;
  Value any;
  for (int64_t number = 0; number < step; ++number) {
    auto [found, mask] = read(row, plus(first, index(number * lanes)), length);
    if (!found)
      return failure();
    Value passes = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, found, bounds);
    passes = arith::AndIOp::create(builder, loc, passes, mask);
    all.push_back(found);
    masks.push_back(passes);
    any = any ? Value(arith::OrIOp::create(builder, loc, any, passes)) : passes;
  }
  any = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, any);
  auto keep = scf::IfOp::create(builder, loc, TypeRange(builder.getIndexType()), any, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(keep.thenBlock());
    Value sum = kept;
    for (auto [number, found, passes] : llvm::enumerate(all, masks)) {
      SortEntry added = entries.make(found, getPlaces(plus(first, index(number * lanes))));
      Value mask = passes;
      if (after)
        mask = arith::AndIOp::create(builder, loc, mask, entries.isBefore(entries.broadcast(*after, lanes), added));
      sum = append(added, mask, sum);
    }
    scf::YieldOp::create(builder, loc, sum);
    builder.setInsertionPointToStart(keep.elseBlock());
    scf::YieldOp::create(builder, loc, kept);
  }
  kept = keep.getResult(0);
  Value isFull = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, kept, index(capacity - step * lanes));
  // The first elements of a row are sorted early: what they tell keeps most of the others out.
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bound, initial);
  Value isMany = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, kept, index(early * count));
  isFull = arith::OrIOp::create(builder, loc, isFull, arith::AndIOp::create(builder, loc, isFirst, isMany));
  Value next = plus(first, index(step * lanes));
  Value isEnd = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, next, length);
  auto sort = scf::IfOp::create(builder, loc, TypeRange{builder.getIndexType(), code},
                                arith::OrIOp::create(builder, loc, isFull, isEnd), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(sort.thenBlock());
    sorter.sort(kept, count);
    Value least = constant(APInt::getSignedMinValue(bits)), one = constant(APInt(bits, 1));
    Value worst = entries.getCode(entries.load(sorter.getMemory(), index(count - 1)));
    worst = arith::MaxSIOp::create(builder, loc, worst, arith::AddIOp::create(builder, loc, least, one));
    worst = arith::SubIOp::create(builder, loc, worst, one);
    scf::YieldOp::create(builder, loc, ValueRange{arith::MinUIOp::create(builder, loc, kept, index(count)), worst});
    builder.setInsertionPointToStart(sort.elseBlock());
    scf::YieldOp::create(builder, loc, ValueRange{kept, bound});
  }
  evaluator.leaveLoop(sort.getResults());
  return success();
}

/// Puts the entries of the mask behind the `kept` ones, and gives how many there are then.
Value StackSelection::append(const SortEntry &added, Value mask, Value kept) {
  for (auto [part, memory] : llvm::zip(added.parts, sorter.getMemory()))
    vector::CompressStoreOp::create(builder, loc, memory, ValueRange(kept), mask, part, IntegerAttr());
  Value numbers = arith::ExtUIOp::create(builder, loc, VectorType::get(lanes, builder.getI32Type()), mask);
  Value number = vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD, numbers);
  return plus(kept, arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number));
}

} // namespace vx

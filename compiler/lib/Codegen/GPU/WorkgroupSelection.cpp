#include "WorkgroupSelection.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

WorkgroupSelection::WorkgroupSelection(OpBuilder &builder, Location loc, SortEntries &entries,
                                       ElementEvaluator &evaluator, Value codes, int64_t capacity, int64_t threads)
    : builder(builder), loc(loc), entries(entries), evaluator(evaluator), codes(codes), capacity(capacity),
      threads(threads) {
  for (Type type : entries.getTypes())
    memory.push_back(allocate(capacity, type));
  thread = vxk::ThreadIdOp::create(builder, loc);
}

Value WorkgroupSelection::allocate(int64_t size, Type element) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = builder.getInsertionBlock()->getParentOp()->getParentOfType<func::FuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
  return memref::AllocOp::create(builder, loc, MemRefType::get({size}, element, MemRefLayoutAttrInterface(), space));
}

void WorkgroupSelection::forShare(Value lower, Value upper, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, plus(thread, lower), upper, index(threads));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

/// The entry of `place`, or the last of all where the row does not reach there. Nothing after an error.
std::optional<SortEntry> WorkgroupSelection::read(ArrayRef<Value> row, Value place, Value length) {
  Value last = arith::SubIOp::create(builder, loc, length, index(1));
  SmallVector<LaneIndex> at;
  for (Value outer : row)
    at.push_back({outer, 0, {}});
  at.push_back({arith::MinUIOp::create(builder, loc, place, last), 0, {}});
  Value code = evaluator.evaluate(codes, at);
  if (!code)
    return std::nullopt;
  SortEntry entry = entries.make(code, arith::IndexCastOp::create(builder, loc, builder.getI64Type(), place));
  return entries.select(compare(arith::CmpIPredicate::ult, place, length), entry, entries.last());
}

LogicalResult WorkgroupSelection::sortAll(ArrayRef<Value> row) {
  Value length = evaluator.sizeOf(codes, static_cast<int64_t>(row.size()));
  scf::ForOp loop = evaluator.enterLoop(loc, thread, index(capacity), index(threads));
  std::optional<SortEntry> entry = read(row, loop.getInductionVar(), length);
  if (!entry)
    return failure();
  entries.store(*entry, memory, loop.getInductionVar());
  evaluator.leaveLoop();
  vxk::BarrierOp::create(builder, loc);
  sort();
  return success();
}

LogicalResult WorkgroupSelection::sortBest(ArrayRef<Value> row, int64_t count, const SortEntry *after) {
  if (!flag)
    flag = allocate(1, builder.getI32Type());
  Value length = evaluator.sizeOf(codes, static_cast<int64_t>(row.size()));
  Value yes = arith::ConstantIntOp::create(builder, loc, 1, 32), no = arith::ConstantIntOp::create(builder, loc, 0, 32);
  int64_t others = capacity - count;
  forShare(index(0), index(count), [&](Value place) { entries.store(entries.last(), memory, place); });
  Value isFirst = compare(arith::CmpIPredicate::eq, thread, index(0));
  scf::ForOp loop = evaluator.enterLoop(loc, index(0), length, index(others));
  auto storeFlag = [&](Value condition, Value value) {
    auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    memref::StoreOp::create(builder, loc, value, flag, index(0));
  };
  storeFlag(isFirst, no);
  vxk::BarrierOp::create(builder, loc);
  SortEntry worst = entries.load(memory, index(count - 1));
  scf::ForOp share = evaluator.enterLoop(loc, thread, index(others), index(threads));
  Value place = share.getInductionVar();
  std::optional<SortEntry> entry = read(row, plus(loop.getInductionVar(), place), length);
  if (!entry)
    return failure();
  if (after) {
    // An entry of the greatest code is none.
    Value most = arith::ConstantOp::create(
        builder, loc,
        builder.getIntegerAttr(entries.getCodeType(),
                               APInt::getSignedMaxValue(entries.getCodeType().getIntOrFloatBitWidth())));
    Value counts = compare(arith::CmpIPredicate::ne, entries.getCode(*entry), most);
    counts = arith::AndIOp::create(builder, loc, counts, entries.isBefore(*after, *entry));
    entry = entries.select(counts, *entry, entries.last());
  }
  entries.store(*entry, memory, plus(place, index(count)));
  storeFlag(entries.isBefore(*entry, worst), yes);
  evaluator.leaveLoop();
  vxk::BarrierOp::create(builder, loc);
  // The same for all threads.
  Value found = memref::LoadOp::create(builder, loc, flag, index(0));
  auto some = scf::IfOp::create(builder, loc, compare(arith::CmpIPredicate::ne, found, no), /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(some.thenBlock()->getTerminator());
    sort();
  }
  vxk::BarrierOp::create(builder, loc); // before the flag and the others are written again
  evaluator.leaveLoop();
  return success();
}

/// A bitonic network. A barrier stands before it; one ends it.
void WorkgroupSelection::sort() {
  int64_t levels = llvm::Log2_64(capacity);
  for (int64_t level = 1; level <= levels; ++level) {
    // Distances from 2^(level - 1) down to 1.
    auto loop = scf::ForOp::create(builder, loc, index(0), index(level), index(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    Value shift = arith::SubIOp::create(builder, loc, index(level - 1), loop.getInductionVar());
    Value distance = arith::ShLIOp::create(builder, loc, index(1), shift);
    Value below = arith::SubIOp::create(builder, loc, distance, index(1));
    forShare(index(0), index(capacity / 2), [&](Value pair) {
      // The bit of the distance is put into the number of the pair.
      Value low = arith::AndIOp::create(builder, loc, pair, below);
      Value high = arith::SubIOp::create(builder, loc, pair, low);
      Value first = plus(plus(high, high), low), second = plus(first, distance);
      Value direction = arith::AndIOp::create(builder, loc, first, index(int64_t(1) << level));
      Value isAscending = compare(arith::CmpIPredicate::eq, direction, index(0));
      SortEntry a = entries.load(memory, first), b = entries.load(memory, second);
      Value isOrdered = compare(arith::CmpIPredicate::eq, entries.isBefore(a, b), isAscending);
      entries.store(entries.select(isOrdered, a, b), memory, first);
      entries.store(entries.select(isOrdered, b, a), memory, second);
    });
    vxk::BarrierOp::create(builder, loc);
  }
}

} // namespace vx

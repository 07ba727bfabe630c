#include "SortEntries.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace vx {

SmallVector<Type, 2> SortEntries::getTypes() const {
  Type i64 = builder.getI64Type();
  if (isPacked())
    return {i64};
  return {i64, builder.getI32Type()};
}

Value SortEntries::constant(Type like, int64_t value) {
  auto number = builder.getIntegerAttr(getElementTypeOrSelf(like), value);
  if (auto vector = dyn_cast<VectorType>(like))
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector, number));
  return arith::ConstantOp::create(builder, loc, number);
}

static Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

SortEntry SortEntries::make(Value codes, Value places) {
  Type wide = places.getType();
  if (!isPacked())
    return {{codes, arith::TruncIOp::create(builder, loc, withElement(wide, builder.getI32Type()), places)}};
  Value high = arith::ExtSIOp::create(builder, loc, wide, codes);
  high = arith::ShLIOp::create(builder, loc, high, constant(wide, 32));
  return {{arith::OrIOp::create(builder, loc, high, places)}};
}

SortEntry SortEntries::last() { return filler(constant(builder.getI64Type(), 0)); }

SortEntry SortEntries::filler(Value numbers) {
  Type wide = numbers.getType();
  Value most = constant(wide, std::numeric_limits<int64_t>::max());
  if (isPacked())
    return {{builder.createOrFold<arith::SubIOp>(loc, most, numbers)}};
  Value places = builder.createOrFold<arith::SubIOp>(loc, constant(wide, -1), numbers);
  return {{most, arith::TruncIOp::create(builder, loc, withElement(wide, builder.getI32Type()), places)}};
}

Value SortEntries::isBelowLast(const SortEntry &entry) {
  // Of a packed one the place is below.
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  Value end = constant(builder.getI64Type(), isPacked() ? most - 0xffffffff : most);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, entry.parts[0], end);
}

Value SortEntries::isBefore(const SortEntry &a, const SortEntry &b) {
  auto compare = [&](arith::CmpIPredicate predicate, size_t part) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a.parts[part], b.parts[part]);
  };
  Value before = compare(arith::CmpIPredicate::slt, 0);
  if (isPacked())
    return before;
  Value isTie = compare(arith::CmpIPredicate::eq, 0), placeBefore = compare(arith::CmpIPredicate::ult, 1);
  return arith::OrIOp::create(builder, loc, before, arith::AndIOp::create(builder, loc, isTie, placeBefore));
}

SortEntry SortEntries::select(Value condition, const SortEntry &a, const SortEntry &b) {
  SortEntry chosen;
  for (auto [x, y] : llvm::zip(a.parts, b.parts))
    chosen.parts.push_back(arith::SelectOp::create(builder, loc, condition, x, y));
  return chosen;
}

SortEntry SortEntries::broadcast(const SortEntry &entry, int64_t lanes) {
  SortEntry result;
  for (Value part : entry.parts)
    result.parts.push_back(vector::BroadcastOp::create(builder, loc, VectorType::get(lanes, part.getType()), part));
  return result;
}

Value SortEntries::getCode(const SortEntry &entry) {
  if (!isPacked())
    return entry.parts[0];
  Value high = arith::ShRSIOp::create(builder, loc, entry.parts[0], constant(builder.getI64Type(), 32));
  return arith::TruncIOp::create(builder, loc, code, high);
}

Value SortEntries::getPlace(const SortEntry &entry) {
  if (!isPacked())
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), entry.parts[1]);
  return arith::AndIOp::create(builder, loc, entry.parts[0], constant(builder.getI64Type(), 0xffffffff));
}

SortEntry SortEntries::load(ValueRange memory, Value at, int64_t lanes) {
  SortEntry entry;
  for (auto [part, type] : llvm::zip(memory, getTypes()))
    if (lanes > 1)
      entry.parts.push_back(vector::LoadOp::create(builder, loc, VectorType::get(lanes, type), part, at));
    else
      entry.parts.push_back(memref::LoadOp::create(builder, loc, part, at));
  return entry;
}

void SortEntries::store(const SortEntry &entry, ValueRange memory, Value at) {
  for (auto [value, part] : llvm::zip(entry.parts, memory))
    if (isa<VectorType>(value.getType()))
      vector::StoreOp::create(builder, loc, value, part, at);
    else
      memref::StoreOp::create(builder, loc, value, part, at);
}

int64_t getSortCapacity(int64_t count) {
  return static_cast<int64_t>(llvm::PowerOf2Ceil(std::max<int64_t>(count, 16)));
}

} // namespace vx

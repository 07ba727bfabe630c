#include "WorkgroupEmitter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace vx {

Value WorkgroupEmitter::enter(Operation *end) {
  builder.setInsertionPoint(end);
  Value number = enterWorkgroup(builder, loc);
  evaluator.emplace(builder, /*lanes=*/1);
  return number;
}

Value WorkgroupEmitter::selectOrZero(Value condition, Value value) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(value.getType()));
  return select(condition, value, zero);
}

Value WorkgroupEmitter::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

SmallVector<Value> WorkgroupEmitter::takeApart(Value number, ArrayRef<Value> sizes) {
  SmallVector<Value> places(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    if (d == 0) {
      places[d] = number;
      break;
    }
    places[d] = remainder(number, sizes[d]);
    number = quotient(number, sizes[d]);
  }
  return places;
}

Value WorkgroupEmitter::workgroupMemory(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
  return memref::AllocOp::create(builder, loc, MemRefType::get({count}, element, MemRefLayoutAttrInterface(), space));
}

} // namespace vx

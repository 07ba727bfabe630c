#include "OverlapTest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace vx {

OverlapTest::OverlapTest(OpBuilder &builder, Location loc, Value boxes, Value image)
    : builder(builder), loc(loc), image(image) {
  // The op takes no prologue: what it reads is a buffer of the kernel.
  buffer = boxes.getDefiningOp<bufferization::ToTensorOp>().getBuffer();
}

OverlapTest::Box OverlapTest::load(Value number) {
  Box box;
  for (int64_t d = 0; d < 4; ++d) {
    Value coordinate = arith::ConstantIndexOp::create(builder, loc, d);
    box.push_back(memref::LoadOp::create(builder, loc, buffer, ValueRange{image, number, coordinate}));
  }
  return box;
}

Value OverlapTest::emit(const Box &a, const Box &b, Value limit) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0)), shared, own, other;
  auto times = [&](Value product, Value side) {
    return product ? Value(arith::MulFOp::create(builder, loc, product, side)) : side;
  };
  auto minus = [&](Value x, Value y) -> Value { return arith::SubFOp::create(builder, loc, x, y); };
  for (int64_t d : {0, 1}) {
    Value low = arith::MaximumFOp::create(builder, loc, a[d], b[d]);
    Value high = arith::MinimumFOp::create(builder, loc, a[2 + d], b[2 + d]);
    shared = times(shared, arith::MaximumFOp::create(builder, loc, minus(high, low), zero));
    own = times(own, minus(a[2 + d], a[d]));
    other = times(other, minus(b[2 + d], b[d]));
  }
  auto isAbove = [&](Value x, Value y) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, x, y);
  };
  // Most boxes are apart, and a quotient takes long.
  auto branch = scf::IfOp::create(builder, loc, TypeRange(builder.getI1Type()), isAbove(shared, zero),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, arith::ConstantIntOp::create(builder, loc, 0, 1).getResult());
  builder.setInsertionPointToStart(branch.thenBlock());
  Value joined = minus(arith::AddFOp::create(builder, loc, own, other), shared);
  Value isMuch = isAbove(arith::DivFOp::create(builder, loc, shared, joined), limit);
  scf::YieldOp::create(builder, loc, arith::AndIOp::create(builder, loc, isAbove(joined, zero), isMuch).getResult());
  return branch.getResult(0);
}

} // namespace vx

#include "WorkgroupTile.h"

using namespace mlir;

namespace vx {

Value enterWorkgroup(OpBuilder &builder, Location loc) {
  Value number = vxk::WorkgroupIdOp::create(builder, loc);
  Value count = vxk::WorkgroupCountOp::create(builder, loc);
  Value isInGrid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, count);
  auto guard = scf::IfOp::create(builder, loc, isInGrid, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(guard.thenBlock());
  return number;
}

WorkgroupTile getWorkgroupTile(OpBuilder &builder, Location loc, Value workgroup, ArrayRef<Value> sizes,
                               ArrayRef<int64_t> tiles) {
  WorkgroupTile result;
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value zero = constant(0);
  result.lower.assign(sizes.size(), zero);
  result.upper.assign(sizes.begin(), sizes.end());
  for (auto [d, tile] : llvm::enumerate(tiles.take_front(sizes.size())))
    if (tile > 0)
      result.tiled.push_back(d);
  Value rest = workgroup;
  for (size_t k = result.tiled.size(); k-- > 0;) {
    unsigned d = result.tiled[k];
    Value tile = constant(tiles[d]);
    Value number = rest;
    if (k > 0) {
      Value count = builder.createOrFold<arith::CeilDivUIOp>(loc, sizes[d], tile);
      number = builder.createOrFold<arith::RemUIOp>(loc, rest, count);
      rest = builder.createOrFold<arith::DivUIOp>(loc, rest, count);
    }
    result.lower[d] = builder.createOrFold<arith::MulIOp>(loc, number, tile);
    Value end = builder.createOrFold<arith::AddIOp>(loc, result.lower[d], tile);
    std::optional<int64_t> size = getConstantIntValue(sizes[d]);
    bool divides = size && *size % tiles[d] == 0;
    result.upper[d] = divides ? end : builder.createOrFold<arith::MinSIOp>(loc, end, sizes[d]);
  }
  return result;
}

} // namespace vx

#include "WorkgroupProduct.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace vx {

LogicalResult ProductEpilogue::store(Value row, Value column, ArrayRef<Value> sums) {
  const ProductShape &shape = e.shape;
  int64_t lanes = static_cast<int64_t>(sums.size());
  bool inOneRow = e.areInOneRow(shape.columnDims, lanes);
  std::optional<int64_t> width;
  if (inOneRow)
    width = getConstantIntValue(e.sizeOf(shape.columnDims.back()));
  // All of them are inside or none, where that is known; else each is asked for.
  int64_t together = width && *width % lanes == 0 ? lanes : 1;
  for (int64_t first = 0; first < lanes; first += together) {
    SmallVector<Value> at(e.tile.sizes.size());
    auto place = [&](ArrayRef<unsigned> dims, Value local) {
      for (auto [d, part] : llvm::zip(dims, e.takeApart(local, e.sizesOf(dims))))
        at[d] = e.plus(e.box.lower[d], part);
    };
    place(shape.rowDims, row);
    place(shape.columnDims, e.plus(column, e.index(inOneRow ? 0 : first)));
    for (unsigned d : shape.batchDims)
      at[d] = e.box.lower[d];
    if (inOneRow && first != 0)
      at[shape.columnDims.back()] = e.plus(at[shape.columnDims.back()], e.index(first));
    Value isInside;
    for (unsigned d = 0; d < at.size(); ++d) {
      if (e.isWhole(d) || e.tile.sizes[d] == 1)
        continue;
      Value below = arith::CmpIOp::create(e.builder, e.loc, arith::CmpIPredicate::slt, at[d], e.box.upper[d]);
      isInside = e.both(isInside, below);
    }
    if (isInside)
      e.evaluator->enterIf(e.loc, isInside);
    if (failed(storeInside(at, sums.slice(first, together))))
      return failure();
    if (isInside)
      e.evaluator->leaveIf();
  }
  return success();
}

/// Computes all results of neighbouring elements before it stores the first one: they may read where it is stored.
LogicalResult ProductEpilogue::storeInside(ArrayRef<Value> first, ArrayRef<Value> sums) {
  SmallVector<SmallVector<Value>> values(e.shape.results.size()), places;
  for (auto [lane, total] : llvm::enumerate(sums)) {
    SmallVector<Value> at(first);
    if (lane != 0) {
      Value &last = at[e.shape.columnDims.back()];
      last = e.plus(last, e.index(static_cast<int64_t>(lane)));
    }
    e.evaluator->setSource(e.shape.sum(), [total = total](ArrayRef<LaneIndex>) { return total; });
    SmallVector<LaneIndex> indices;
    for (Value position : at)
      indices.push_back({position, 0, {}});
    for (auto [result, list] : llvm::zip(e.shape.results, values)) {
      list.push_back(e.evaluator->evaluate(bufferization::MaterializeInDestinationOp(result).getSource(), indices));
      if (!list.back())
        return failure();
    }
    places.push_back(at);
  }
  e.evaluator->setSource(e.shape.sum(), {});
  for (auto [stored, list] : llvm::zip(e.shape.results, values)) {
    bufferization::MaterializeInDestinationOp result = stored;
    for (auto [value, at] : llvm::zip(list, places))
      memref::StoreOp::create(e.builder, result.getLoc(), value, result.getDest(), at);
  }
  return success();
}

} // namespace vx

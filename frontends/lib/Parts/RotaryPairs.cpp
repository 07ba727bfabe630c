#include "vx/Frontend/Parts/RotaryPairs.h"

using namespace mlir;

namespace vx {

using Dims = SmallVector<DimAttr>;

Value emitTurnedPairs(GraphBuilder &g, Value input, Value cosines, Value sines, bool isInterleaved, bool turnsAll) {
  if (!input || !cosines || !sines)
    return {};
  Dims dims = getDims(typeOf(input)), half = getDims(typeOf(cosines)), starts(4, g.dim(0));
  Type type = getElementTypeOrSelf(input.getType());
  DimAttr pairs = half[3];
  auto take = [&](DimAttr start, DimAttr size, int64_t stride) {
    Dims from = starts, sizes = dims;
    from[3] = start;
    sizes[3] = size;
    return g.slice(input, from, sizes, {1, 1, 1, stride});
  };
  Value real = g.widen(take(g.dim(0), pairs, isInterleaved ? 2 : 1));
  Value imaginary = g.widen(take(isInterleaved ? g.dim(1) : pairs, pairs, isInterleaved ? 2 : 1));
  Value turnedReal = g.emit<SubOp>(g.emit<MulOp>(cosines, real), g.emit<MulOp>(sines, imaginary));
  Value turnedImaginary = g.emit<AddOp>(g.emit<MulOp>(sines, real), g.emit<MulOp>(cosines, imaginary));
  SmallVector<Value> parts = {g.cast(turnedReal, type), g.cast(turnedImaginary, type)};
  if (isInterleaved) {
    Dims single = half, joined = half;
    single.push_back(g.dim(1));
    joined[3] = pairs * 2;
    for (Value &part : parts)
      part = g.reshape(part, single);
    parts = {g.reshape(g.emit<ConcatOp>(ValueRange(parts), 4), joined)};
  }
  DimAttr rest = dims[3] - pairs * 2;
  if (!turnsAll && rest.asConstant() != 0)
    parts.push_back(take(pairs * 2, rest, 1));
  return parts.size() == 1 ? parts.front() : g.emit<ConcatOp>(ValueRange(parts), 3);
}

} // namespace vx

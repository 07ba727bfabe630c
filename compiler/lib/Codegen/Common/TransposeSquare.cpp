#include "TransposeSquare.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace vx {

SmallVector<Value> transposeSquare(OpBuilder &builder, Location loc, ArrayRef<Value> rows) {
  SmallVector<Value> vectors(rows);
  const auto lanes = static_cast<int64_t>(rows.size());
  // A register of 128 bits is interleaved by one instruction for each half of the result. Each round moves the highest
  // bit of a vector's number to the lowest one of its elements' places.
  constexpr int64_t leastRegister = 128;
  const bool interleaves = lanes * cast<VectorType>(rows.front().getType()).getElementTypeBitWidth() <= leastRegister;
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<Value> next(lanes);
    for (int64_t i = 0; i < lanes / 2; ++i) {
      // Else squares of half the size change places, and so on within them.
      const int64_t low = interleaves ? i : i / half * 2 * half + i % half;
      const int64_t high = interleaves ? i + lanes / 2 : low + half;
      SmallVector<int64_t> first, second;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        if (interleaves) {
          first.push_back(lane / 2 + lane % 2 * lanes);
          second.push_back(lanes / 2 + lane / 2 + lane % 2 * lanes);
        } else {
          first.push_back(lane & half ? lanes + lane - half : lane);
          second.push_back(lane & half ? lanes + lane : lane + half);
        }
      }
      Value a = vectors[low], b = vectors[high];
      next[interleaves ? 2 * i : low] = vector::ShuffleOp::create(builder, loc, a, b, first);
      next[interleaves ? 2 * i + 1 : high] = vector::ShuffleOp::create(builder, loc, a, b, second);
    }
    vectors = std::move(next);
  }
  return vectors;
}

} // namespace vx

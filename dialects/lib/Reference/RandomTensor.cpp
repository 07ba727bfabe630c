#include "vx/Reference/RandomTensor.h"

#include <cmath>

namespace vx::reference {

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

HostTensor makeRandomTensor(ElementType type, llvm::ArrayRef<int64_t> shape, uint64_t seed, uint64_t input) {
  HostTensor tensor(type, shape);
  uint64_t start = seed * 0x100000001b3 + input;
  auto draw = [&](uint64_t k) { return mix(start + k * 0x9e3779b97f4a7c15); };
  auto unit = [&](uint64_t k) { return (static_cast<double>(draw(k) >> 11) + 0.5) / 9007199254740992.0; };
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    auto n = static_cast<uint64_t>(i);
    if (isFloat(type))
      tensor.setFloat(i, std::sqrt(-2 * std::log(unit(2 * n + 1))) * std::cos(6.283185307179586 * unit(2 * n + 2)));
    else
      tensor.setInt(i, static_cast<int64_t>(draw(n + 1) >> 63));
  }
  return tensor;
}

} // namespace vx::reference

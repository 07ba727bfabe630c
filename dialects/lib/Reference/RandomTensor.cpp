#include "vx/Reference/RandomTensor.h"

#include <cmath>

namespace vx::reference {

static constexpr uint64_t step = 0x9e3779b97f4a7c15;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

static uint64_t hash(llvm::StringRef text) {
  uint64_t value = 0xcbf29ce484222325;
  for (unsigned char byte : text)
    value = (value ^ byte) * 0x100000001b3;
  return value;
}

HostTensor makeRandomTensor(ElementType type, llvm::ArrayRef<int64_t> shape, llvm::StringRef name, uint64_t seed) {
  HostTensor tensor(type, shape);
  uint64_t key = mix(seed + step) ^ hash(name);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    uint64_t random = mix(key + static_cast<uint64_t>(i + 1) * step);
    if (isFloat(type))
      tensor.setFloat(i, std::ldexp(static_cast<double>(random >> 40), -23) - 1);
    else if (type == ElementType::Bool)
      tensor.setInt(i, static_cast<int64_t>(random >> 63));
    else
      tensor.setInt(i, static_cast<int64_t>((random >> 32) % 4));
  }
  return tensor;
}

} // namespace vx::reference

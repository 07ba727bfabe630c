// The inputs that tools make up: the same numbers in vx-run and in the reference interpreter, element by element.
//
// The generator counts. With all arithmetic modulo 2^64:
//
//   mix(x):   x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;  x ^ (x >> 31)
//   start     = seed * 0x100000001b3 + number of the input in the signature
//   draw(k)   = mix(start + k * 0x9e3779b97f4a7c15)       for k = 1, 2, ...
//   unit(k)   = ((draw(k) >> 11) + 0.5) / 2^53            in (0, 1)
//
// Element i in row-major order is
//   of a float type:   sqrt(-2 ln unit(2i + 1)) * cos(6.283185307179586 unit(2i + 2)), a normal distribution, in f64
//   and then
//                      rounded to the type;
//   of another type:   draw(i + 1) >> 63, so 0 or 1, which is right for indices, masks and tokens of any model.
#ifndef VX_REFERENCE_RANDOMTENSOR_H
#define VX_REFERENCE_RANDOMTENSOR_H

#include "vx/Reference/HostTensor.h"

namespace vx::reference {

/// A tensor of the numbers that the generator above gives input number `input`.
HostTensor makeRandomTensor(ElementType type, llvm::ArrayRef<int64_t> shape, uint64_t seed, uint64_t input);

} // namespace vx::reference

#endif

// The inputs that tools make up: the same numbers in every tool, on every machine, in any order of evaluation.
//
// The generator has no state. With all arithmetic modulo 2^64:
//
//   mix(x):   x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;  x ^ (x >> 31)
//   hash(s):  h = 0xcbf29ce484222325; for each byte b of s: h = (h ^ b) * 0x100000001b3                (FNV-1a)
//   key       = mix(seed + 0x9e3779b97f4a7c15) ^ hash(name of the input)
//   r(i)      = mix(key + (i + 1) * 0x9e3779b97f4a7c15)                     for the row-major element number i
//
// Element i is
//   of a float type:   (r(i) >> 40) * 2^-23 - 1, a multiple of 2^-23 in [-1, 1), rounded to the type;
//   of bool:           r(i) >> 63;
//   of an integer:     (r(i) >> 32) mod 4, which as an index is right for any dimension of 4 or more.
#ifndef VX_REFERENCE_RANDOMTENSOR_H
#define VX_REFERENCE_RANDOMTENSOR_H

#include "vx/Reference/HostTensor.h"

namespace vx::reference {

/// A tensor of the numbers that the generator above gives the input `name`.
HostTensor makeRandomTensor(ElementType type, llvm::ArrayRef<int64_t> shape, llvm::StringRef name, uint64_t seed);

} // namespace vx::reference

#endif

// Numbers that a tensor starts with, drawn from a seed and a name: equal on every machine, bit by bit.
//
// Element i of a tensor takes 64 random bits w: words 2 * (i mod 2) and the next of block floor(i / 2) of the stream,
// the first word low. Block n of stream s is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as
// easy as 1, 2, 3; SC 2011) of the counter (n, s), 64 bits each, low word first, under the seed as its key. Then, in
// f64 with one rounding for each operation,
//
//   u = (floor(w / 2^12) + 1/2) / 2^52, between 0 and 1 and neither of them
//   uniform     a + (b - a) * u
//   normal      a + b * z, with z the number below which a standard normal distribution has u of its mass, by
//               algorithm AS 241 (Wichura, Applied Statistics 37, 1988)
//   orthogonal  a * q: the tensor as a matrix of its first dimension and all others; its rows, or its columns where it
//               has more rows, are orthonormal: those of the normal matrix with mean 0 and deviation 1, each without
//               its parts along the ones before, and then of length 1 (as a QR decomposition whose R has a positive
//               diagonal)
//
// and the result is rounded to the element type, ties to even.
#ifndef VX_BASE_RANDOM_VALUES_H
#define VX_BASE_RANDOM_VALUES_H

#include <cstdint>
#include <span>
#include <vector>

namespace vx {

enum class RandomKind : uint8_t { Uniform, Normal, Orthogonal };

struct RandomStart {
  RandomKind kind = RandomKind::Uniform;
  double a = 0, b = 0;
};

enum class RandomFormat : uint8_t { F16, BF16, F32, F64 };

// The z below which a standard normal distribution has `mass`, which is between 0 and 1 and neither of them.
double normalQuantile(double mass);

// All elements of a tensor, row-major, in little-endian bytes. `stream` is the hash of its name (vx_hash64). The dims
// are at least 0, and those of an orthogonal one two or more.
std::vector<uint8_t> drawValues(const RandomStart &start, uint64_t seed, uint64_t stream, std::span<const int64_t> dims,
                                RandomFormat format);

} // namespace vx

#endif

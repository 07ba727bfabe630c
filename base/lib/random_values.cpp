#include "vx/base/random_values.h"

#include "vx/base/philox.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>

namespace vx {

namespace {

// Results must not depend on how the calling thread rounds.
class RoundToNearest {
public:
  RoundToNearest() : saved(std::fegetround()) { std::fesetround(FE_TONEAREST); }
  ~RoundToNearest() { std::fesetround(saved); }

private:
  int saved;
};

// ln x of a normal number above 0: e * ln 2 + ln m with m between sqrt(1/2) and sqrt(2), and ln m = 2 atanh s with
// s = (m - 1) / (m + 1), at most 0.172, by its series. The library's own differs from machine to machine.
double logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double series = 0;
  for (int k = 25; k >= 3; k -= 2)
    series = (series + 1.0 / k) * square;
  return exponent * 0.69314718055994530942 + 2 * (s + s * series);
}

// The polynomial with these coefficients, that of the highest power first.
template <size_t n>
double polynomial(const double (&coefficients)[n], double x) {
  double value = coefficients[0];
  for (size_t i = 1; i < n; ++i)
    value = value * x + coefficients[i];
  return value;
}

class Stream {
public:
  Stream(uint64_t seed, uint64_t stream) : seed(seed), stream(stream) {}

  // u of element `index`.
  double draw(uint64_t index) {
    const uint64_t next = index / 2;
    if (next != number) {
      number = next;
      block = philoxBlock(seed, stream, next);
    }
    const size_t word = index % 2 * 2;
    const uint64_t bits = block[word] | uint64_t(block[word + 1]) << 32;
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }

private:
  uint64_t seed, stream;
  uint64_t number = UINT64_MAX; // no index has this block
  std::array<uint32_t, 4> block = {};
};

// In a fixed order that leaves room for vectors.
double product(const double *lhs, const double *rhs, size_t count) {
  constexpr size_t lanes = 8;
  double sums[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t k = 0; k < lanes; ++k)
      sums[k] += lhs[i + k] * rhs[i + k];
  for (; i < count; ++i)
    sums[i % lanes] += lhs[i] * rhs[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Vectors one after the other, each of `length` numbers and not more of them than that, become orthonormal. What
// rounding leaves of the parts along earlier ones goes in a second round.
void orthonormalise(std::vector<double> &vectors, size_t count, size_t length) {
  for (size_t i = 0; i < count; ++i) {
    double *vector = vectors.data() + i * length;
    for (int round = 0; round < 2; ++round)
      for (size_t j = 0; j < i; ++j) {
        const double *earlier = vectors.data() + j * length;
        const double part = product(vector, earlier, length);
        for (size_t k = 0; k < length; ++k)
          vector[k] -= part * earlier[k];
      }
    const double size = std::sqrt(product(vector, vector, length));
    for (size_t k = 0; k < length; ++k)
      vector[k] /= size;
  }
}

// The nearest number of a binary format of 16 bits whose mantissa has `mantissa` bits and whose least normal number is
// 2^least.
uint16_t roundTo16Bits(double value, int mantissa, int least) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const auto infinity = static_cast<uint64_t>(((1 << (15 - mantissa)) - 1) << mantissa);
  const double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return static_cast<uint16_t>(sign | infinity);
  const int exponent = std::max(std::ilogb(magnitude), least);
  // Units in the last place; one that rounds up to the next power of two carries into the exponent.
  const auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, mantissa - exponent)));
  const uint64_t code = (static_cast<uint64_t>(exponent - least) << mantissa) + units;
  return static_cast<uint16_t>(sign | std::min(code, infinity));
}

void store(uint8_t *bytes, uint64_t bits, size_t size) {
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(bits >> (8 * i));
}

size_t sizeOf(RandomFormat format) { return format == RandomFormat::F64 ? 8 : format == RandomFormat::F32 ? 4 : 2; }

void storeRounded(uint8_t *bytes, double value, RandomFormat format) {
  switch (format) {
  case RandomFormat::F16:
    return store(bytes, roundTo16Bits(value, 10, -14), 2);
  case RandomFormat::BF16:
    return store(bytes, roundTo16Bits(value, 7, -126), 2);
  case RandomFormat::F32:
    return store(bytes, std::bit_cast<uint32_t>(static_cast<float>(value)), 4);
  case RandomFormat::F64:
    return store(bytes, std::bit_cast<uint64_t>(value), 8);
  }
}

} // namespace

double normalQuantile(double mass) {
  constexpr double middle[2][8] = {
      {2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
       13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080},
      {5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
       5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1}};
  constexpr double tail[2][8] = {
      {7.7454501427834140764e-4, .0227238449892691845833, .241780725177450611770, 1.27045825245236838258,
       3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734},
      {1.05075007164441684324e-9, 5.475938084995344946e-4, .0151986665636164571966, .148103976427480074590,
       .689767334985100004550, 1.67638483018380384940, 2.05319162663775882187, 1}};
  constexpr double farTail[2][8] = {
      {2.01033439929228813265e-7, 2.71155556874348757815e-5, .00124266094738807843860, .0265321895265761230930,
       .296560571828504891230, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720},
      {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.868691311456132591e-4,
       .0148753612908506148525, .136929880922735805310, .599832206555887937690, 1}};
  const double distance = mass - 0.5;
  if (std::fabs(distance) <= 0.425) {
    const double r = 0.180625 - distance * distance;
    return distance * polynomial(middle[0], r) / polynomial(middle[1], r);
  }
  const double r = std::sqrt(-logarithm(distance < 0 ? mass : 1 - mass));
  const auto &[above, below] = r <= 5 ? tail : farTail;
  const double shifted = r <= 5 ? r - 1.6 : r - 5;
  const double z = polynomial(above, shifted) / polynomial(below, shifted);
  return distance < 0 ? -z : z;
}

std::vector<uint8_t> drawValues(const RandomStart &start, uint64_t seed, uint64_t stream, std::span<const int64_t> dims,
                                RandomFormat format) {
  const RoundToNearest rounding;
  size_t count = 1;
  for (int64_t dim : dims)
    count *= static_cast<size_t>(dim);
  const size_t size = sizeOf(format);
  std::vector<uint8_t> bytes(count * size);
  if (count == 0)
    return bytes;
  Stream numbers(seed, stream);
  if (start.kind != RandomKind::Orthogonal) {
    for (size_t i = 0; i < count; ++i) {
      const double u = numbers.draw(i);
      const double value =
          start.kind == RandomKind::Uniform ? start.a + (start.b - start.a) * u : start.a + start.b * normalQuantile(u);
      storeRounded(bytes.data() + i * size, value, format);
    }
    return bytes;
  }
  const auto rows = static_cast<size_t>(dims[0]);
  const size_t columns = count / rows;
  const bool isTall = rows > columns;
  // Where element i lies among the vectors.
  auto placeOf = [&](size_t i) { return isTall ? i % columns * rows + i / columns : i; };
  std::vector<double> vectors(count);
  for (size_t i = 0; i < count; ++i)
    vectors[placeOf(i)] = normalQuantile(numbers.draw(i));
  orthonormalise(vectors, isTall ? columns : rows, isTall ? rows : columns);
  for (size_t i = 0; i < count; ++i)
    storeRounded(bytes.data() + i * size, start.a * vectors[placeOf(i)], format);
  return bytes;
}

} // namespace vx

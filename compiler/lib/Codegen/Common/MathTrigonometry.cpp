// sin, cos, tan over the whole range: arguments are reduced with as many bits of 2/pi as they need (Payne and Hanek).
// Their inverses, by a polynomial around 0 that the others are moved to.
#include "MathCoefficients.h"
#include "MathFunctions.h"
#include <limits>

namespace vx::mathlib {

namespace {

constexpr double halfPiHigh[] = {0x1.921fb6p0, 0x1.921fb54442d18p0};
constexpr double halfPiLow[] = {-0x1.777a5cf72cecep-25, 0x1.1a62633145c07p-54};

/// |x| = (4 i + quadrant) pi/2 + r, |r| <= pi/4 and a little, with r = high + low.
struct Angle {
  Pair r;
  Integer quadrant; // its two low bits count
};

/// Four words of `table` from `index` on: doubling steps of selection by the bits of the index.
llvm::SmallVector<Integer> pick(MathBuilder &m, llvm::ArrayRef<uint64_t> table, Integer index) {
  llvm::SmallVector<size_t> wanted = {4};
  unsigned levels = llvm::Log2_64_Ceil(table.size() - 3);
  for (unsigned level = 0; level < levels; ++level)
    wanted.push_back(wanted.back() + (size_t(1) << level));
  llvm::SmallVector<Integer> words;
  for (size_t i = 0; i < wanted.back(); ++i)
    words.push_back(m.integer(i < table.size() ? table[i] : 0));
  for (unsigned level = levels; level-- > 0;) {
    size_t step = size_t(1) << level;
    Condition skip = (index & step) != 0;
    for (size_t i = 0; i < wanted[level]; ++i)
      words[i] = m.select(skip, words[i + step], words[i]);
  }
  words.resize(4);
  return words;
}

Angle reduce(MathBuilder &m, Number size) {
  int64_t bits = m.bits();
  Integer word = m.bitsOf(size);
  Integer exponent = (word >> m.mantissaBits()) - m.bias();
  Integer mantissa = (word & ((uint64_t(1) << m.mantissaBits()) - 1)) | (uint64_t(1) << m.mantissaBits());

  // Bits of 2/pi whose products with the mantissa are multiples of 4 quadrants do not matter; three words behind them
  // do. Bit `position` of the table, which begins with a word of zeros, is the first of the window.
  Integer position = exponent + m.choose<uint64_t>(7, 10);
  Integer index = shiftRightSigned(position, m.integer(m.choose<uint64_t>(5, 6)));
  Integer shift = position & (bits - 1);
  auto table = m.isF64() ? llvm::ArrayRef<uint64_t>(twoOverPi64) : llvm::ArrayRef<uint64_t>(twoOverPi32);
  llvm::SmallVector<Integer> words = pick(m, table, index);
  Integer back = m.integer(bits - 1) - shift;
  for (int i = 0; i < 3; ++i)
    words[i] = (words[i] << shift) | ((words[i + 1] >> 1) >> back);

  // The product's low three words; the third only carries.
  auto [low1, high1] = m.multiplyExtended(mantissa, words[1]);
  auto [low2, high2] = m.multiplyExtended(mantissa, words[2]);
  Integer middle = low1 + high2;
  Integer carry = m.select(unsignedLess(middle, low1), m.integer(1), m.integer(0));
  Integer top = mantissa * words[0] + high1 + carry;

  // `top` counts quadrants above its last bits - 2 bits; round to the nearest.
  uint64_t half = uint64_t(1) << (bits - 3);
  Integer quadrant = (top + half) >> (bits - 2);
  Integer fraction = top - (quadrant << (bits - 2));
  uint64_t lowMask = m.choose<uint64_t>((1 << 6) - 1, (1 << 10) - 1);
  Number high = m.signedToNumber(fraction & ~lowMask);
  Number low =
      m.fma(m.unsignedToNumber(middle), m.number(m.choose(0x1p-32, 0x1p-64)), m.signedToNumber(fraction & lowMask));

  double unit = m.choose(0x1p-30, 0x1p-62);
  Number scale = m.number(halfPiHigh[m.isF64()] * unit);
  Pair product = m.product(high, scale);
  product.low = product.low + m.fma(low, scale, high * (halfPiLow[m.isF64()] * unit));
  Pair r = m.fastSum(product.high, product.low);

  Condition isSmall = size < 0.78515625;
  r.high = m.select(isSmall, size, r.high);
  r.low = m.select(isSmall, m.number(0.0), r.low);
  // Infinities and NaN have no sine.
  Condition finite = size < std::numeric_limits<double>::infinity();
  r.high = m.select(finite, r.high, m.number(std::numeric_limits<double>::quiet_NaN()));
  return {r, m.select(isSmall, m.integer(0), quadrant)};
}

Number sinOf(MathBuilder &m, Pair r) {
  Number z = r.high * r.high;
  Number cubic = r.high * z;
  Number tail = m.fma(cubic, m.polynomial(z, VX_COEFFICIENTS(m, sinTail)), m.fma(z * -0.5, r.low, r.low));
  return r.high + tail;
}

Number cosOf(MathBuilder &m, Pair r) {
  Number z = r.high * r.high;
  Number half = z * 0.5;
  Number near = 1.0 - half;
  Number rest = (1.0 - near) - half;
  Number tail = m.fma(z * z, m.polynomial(z, VX_COEFFICIENTS(m, cosTail)), -(r.high * r.low));
  return near + (rest + tail);
}

Number negateWhere(MathBuilder &m, Integer bit, Number x) { return m.select(bit != 0, -x, x); }

} // namespace

Number sin(MathBuilder &m, Number x) {
  Angle reduced = reduce(m, m.abs(x));
  Number result = m.select((reduced.quadrant & 1) != 0, cosOf(m, reduced.r), sinOf(m, reduced.r));
  Number positive = negateWhere(m, reduced.quadrant & 2, result);
  return m.select(m.copySign(m.number(1.0), x) < 0.0, -positive, positive);
}

Number cos(MathBuilder &m, Number x) {
  Angle reduced = reduce(m, m.abs(x));
  Number result = m.select((reduced.quadrant & 1) != 0, sinOf(m, reduced.r), cosOf(m, reduced.r));
  return negateWhere(m, (reduced.quadrant + 1) & 2, result);
}

Number tan(MathBuilder &m, Number x) {
  Angle reduced = reduce(m, m.abs(x));
  Number sine = sinOf(m, reduced.r), cosine = cosOf(m, reduced.r);
  Condition odd = (reduced.quadrant & 1) != 0;
  Number result = m.select(odd, -cosine, sine) / m.select(odd, sine, cosine);
  return m.select(m.copySign(m.number(1.0), x) < 0.0, -result, result);
}

namespace {

/// What asin and acos have in common: asin(s) = s + s z A(z), z = s^2, for s of 0.5 at most. Above, s is the root of
/// (1 - |x|) / 2, whose arc sine is half the arc cosine of |x|.
struct Arc {
  Number s, tail; // asin(s) = s + tail
  Condition isLarge;
};

Arc getArc(MathBuilder &m, Number size) {
  Condition isLarge = size > 0.5;
  Number half = (1.0 - size) * 0.5;
  Number z = m.select(isLarge, half, size * size);
  Number s = m.select(isLarge, m.sqrt(half), size);
  Number tail = s * (z * m.polynomial(z, VX_COEFFICIENTS(m, asinTail)));
  // What the root was rounded by.
  Number rest = m.fma(-s, s, half) / m.select(s == 0.0, m.number(1.0), s + s);
  return {s, m.select(isLarge, tail + rest, tail), isLarge};
}

/// `factor` pi / 2 - (high + low), without a loss in the first difference.
Number takeFromHalfPi(MathBuilder &m, double factor, Number high, Number low) {
  Pair difference = m.sum(m.number(factor * halfPiHigh[m.isF64()]), -high);
  return difference.high + (difference.low + (factor * halfPiLow[m.isF64()] - low));
}

} // namespace

Number asin(MathBuilder &m, Number x) {
  auto [s, tail, isLarge] = getArc(m, m.abs(x));
  Number large = takeFromHalfPi(m, 1, s + s, tail + tail);
  return m.copySign(m.select(isLarge, large, s + tail), x);
}

Number acos(MathBuilder &m, Number x) {
  auto [s, tail, isLarge] = getArc(m, m.abs(x));
  Condition isNegative = x < 0.0;
  Number small = takeFromHalfPi(m, 1, m.copySign(s, x), m.copySign(tail, x));
  Number twice = s + s, twiceTail = tail + tail;
  Number large = m.select(isNegative, takeFromHalfPi(m, 2, twice, twiceTail), twice + twiceTail);
  return m.select(isLarge, large, small);
}

Number atan(MathBuilder &m, Number x) {
  // atan |x| = atan c + atan((|x| - c) / (1 + |x| c)), where c is 0, 1/2, 1, 3/2 or infinite.
  constexpr double limits[] = {0x1.cp-2, 0x1.6p-1, 0x1.3p0, 0x1.38p1};
  constexpr double centers[] = {0.5, 1.0, 1.5};
  Number size = m.abs(x), numerator = size, denominator = m.number(1.0), high = m.number(0.0), low = m.number(0.0);
  for (int i = 0; i < 4; ++i) {
    Condition isAbove = size > limits[i];
    Number nextNumerator = i == 3 ? m.number(-1.0) : size - centers[i];
    Number nextDenominator = i == 3 ? size : m.fma(size, m.number(centers[i]), m.number(1.0));
    numerator = m.select(isAbove, nextNumerator, numerator);
    denominator = m.select(isAbove, nextDenominator, denominator);
    high = m.select(isAbove, m.number(m.choose(atanHigh32[i], atanHigh64[i])), high);
    low = m.select(isAbove, m.number(m.choose(atanLow32[i], atanLow64[i])), low);
  }
  Number u = numerator / denominator, z = u * u;
  Number tail = m.fma(u * z, m.polynomial(z, VX_COEFFICIENTS(m, atanTail)), low);
  return m.copySign(high + (u + tail), x);
}

} // namespace vx::mathlib

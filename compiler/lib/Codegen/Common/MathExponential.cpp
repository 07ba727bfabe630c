// exp, exp2, expm1, log and its kin, pow, tanh, sinh, cosh, erf.
#include "MathCoefficients.h"
#include "MathFunctions.h"
#include <limits>

namespace vx::mathlib {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts, of which the first has zeros enough at its end that its product with an exponent is exact.
constexpr double ln2High[] = {0x1.62e4p-1, 0x1.62e42feep-1};
constexpr double ln2Low[] = {0x1.7f7d1cf79abcap-20, 0x1.a39ef35793c76p-33};
constexpr double log2eHigh[] = {0x1.715476p0, 0x1.71547652b82fep0};
constexpr double log2eLow[] = {0x1.4ae0bf85ddf44p-26, 0x1.777d0ffda0d24p-56};
constexpr double log10eHigh[] = {0x1.bcb7b2p-2, 0x1.bcb7b1526e50ep-2};
constexpr double log10eLow[] = {-0x1.5b235e39ab2a9p-27, 0x1.95355baaafad3p-57};

/// x = n ln 2 + r with |r| <= ln 2 / 2; `tail` is e^r - 1, `exponent` is n as a number.
struct Reduced {
  Number tail, exponent;
  Integer n;
};

Number clamp(MathBuilder &m, Number x, double low, double high) {
  // A NaN fails both comparisons and stays.
  x = m.select(x < low, m.number(low), x);
  return m.select(x > high, m.number(high), x);
}

/// Rounds x * scale to the nearest integer, as a number and as an integer. Needs |x * scale| < 2^22.
std::pair<Number, Integer> nearestMultiple(MathBuilder &m, Number x, double scale) {
  Number shift = m.number(m.choose(0x1.8p23, 0x1.8p52));
  Number shifted = m.fma(x, m.number(scale), shift);
  return {shifted - shift, m.bitsOf(shifted) - m.bitsOf(shift)};
}

Number expTailOf(MathBuilder &m, Number r) { return m.fma(r * r, m.polynomial(r, VX_COEFFICIENTS(m, expTail)), r); }

/// Needs |x| < 2^21. `low` is added to x.
Reduced reduceExp(MathBuilder &m, Number x, Number *low = nullptr) {
  auto [n, integer] = nearestMultiple(m, x, log2eHigh[m.isF64()]);
  Number r = m.fma(n, m.number(-ln2High[m.isF64()]), x);
  if (low)
    r = r + m.fma(n, m.number(-ln2Low[m.isF64()]), *low);
  else
    r = m.fma(n, m.number(-ln2Low[m.isF64()]), r);
  return {expTailOf(m, r), n, integer};
}

/// (1 + tail) 2^n; without an instruction for it in two steps so that neither power overflows and a subnormal result is
/// rounded once.
Number scaleExp(MathBuilder &m, Reduced reduced) {
  if (m.hasScale())
    return m.scale(reduced.tail + 1.0, reduced.exponent);
  Integer half = shiftRightSigned(reduced.n, m.integer(1));
  return (reduced.tail + 1.0) * m.powerOfTwo(half) * m.powerOfTwo(reduced.n - half);
}

Number clampExp(MathBuilder &m, Number x) { return clamp(m, x, m.choose(-105.0, -747.0), m.choose(90.0, 711.0)); }

/// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). For x = 0 and x that are not positive and finite: anything.
struct Split {
  Number f, k;
};
Split split(MathBuilder &m, Number x) {
  Condition subnormal = x < m.choose(0x1p-126, 0x1p-1022);
  x = m.select(subnormal, x * m.choose(0x1p23, 0x1p52), x);
  Number extra = m.select(subnormal, m.number(double(-m.mantissaBits())), m.number(0.0));
  uint64_t one = m.choose<uint64_t>(0x3f800000, 0x3ff0000000000000);
  uint64_t root = m.choose<uint64_t>(0x3f3504f3, 0x3fe6a09e667f3bcd); // sqrt(1/2)
  Integer bits = m.bitsOf(x) + (one - root);
  Integer exponent = shiftRightSigned(bits, m.integer(m.mantissaBits())) - m.bias();
  Integer mantissa = (bits & ((uint64_t(1) << m.mantissaBits()) - 1)) + root;
  return {m.fromBits(mantissa) - 1.0, m.signedToNumber(exponent) + extra};
}

/// log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)).
Number logRest(MathBuilder &m, Number f) {
  Number s = f / (f + 2.0);
  Number z = s * s;
  Number half = f * f * 0.5;
  Number tail = z * m.polynomial(z, VX_COEFFICIENTS(m, logTail));
  return m.fma(s, half + tail, -half);
}

/// The values of a logarithm outside of (0, inf).
Number logSpecial(MathBuilder &m, Number x, Number zeroAt, Number result) {
  result = m.select(x == infinity, m.number(infinity), result);
  result = m.select(x == zeroAt, m.number(-infinity), result);
  result = m.select(x < zeroAt, m.number(nan), result);
  return m.select(isNaN(x), x, result);
}

/// log x as a sum of two numbers, right to about twice the digits less 15, for x in (0, inf).
Pair logPair(MathBuilder &m, Number x) {
  auto [f, k] = split(m, x);
  // s = f / (2 + f), and what its rounding left.
  Pair denominator = m.fastSum(m.number(2.0), f);
  Number s = f / denominator.high;
  Pair covered = m.product(s, denominator.high);
  Number rest = (f - covered.high) - covered.low;
  rest = m.fma(-s, denominator.low, rest);
  Number sLow = rest / denominator.high;
  // z = s^2
  Pair z = m.product(s, s);
  z.low = m.fma(s + s, sLow, z.low);
  // p = 2/3 + z M(z)
  double third = m.choose(double(float(2.0 / 3)), 2.0 / 3);
  double thirdLow = m.choose(2.0 / 3 - double(float(2.0 / 3)), 0x1.5555555555555p-55);
  Number tail = z.high * m.polynomial(z.high, VX_COEFFICIENTS(m, logTail2));
  Pair p = m.fastSum(m.number(third), tail);
  p.low = p.low + thirdLow;
  // s z p
  Pair zp = m.product(z.high, p.high);
  zp.low = m.fma(z.high, p.low, m.fma(z.low, p.high, zp.low));
  Pair cubic = m.product(s, zp.high);
  cubic.low = m.fma(s, zp.low, m.fma(sLow, zp.high, cubic.low));
  // 2 s + s z p
  Pair log = m.fastSum(s * 2.0, cubic.high);
  log.low = log.low + m.fma(sLow, m.number(2.0), cubic.low);
  // + k ln 2
  Pair total = m.fastSum(k * ln2High[m.isF64()], log.high);
  Number low = total.low + (m.fma(k, m.number(ln2Low[m.isF64()]), log.low));
  return m.fastSum(total.high, low);
}

} // namespace

Number exp(MathBuilder &m, Number x) { return scaleExp(m, reduceExp(m, clampExp(m, x))); }

Number exp2(MathBuilder &m, Number x) {
  x = clamp(m, x, m.choose(-151.0, -1077.0), m.choose(129.0, 1025.0));
  auto [n, integer] = nearestMultiple(m, x, 1.0);
  Number r = x - n;
  Number high = r * ln2High[m.isF64()];
  return scaleExp(m, {expTailOf(m, m.fma(r, m.number(ln2Low[m.isF64()]), high)), n, integer});
}

Number expm1(MathBuilder &m, Number x) {
  Number clamped = clamp(m, x, m.choose(-18.0, -38.0), m.choose(89.0, 710.0));
  Reduced reduced = reduceExp(m, clamped);
  // 2^n (tail + 1) - 1, halved so that 2^n does not overflow before the result does.
  Number scale = m.powerOfTwo(reduced.n - 1);
  Number result = m.fma(scale, reduced.tail, scale - 0.5) * 2.0;
  return m.select(m.abs(x) < m.choose(0x1p-30, 0x1p-60), x, result);
}

Number log(MathBuilder &m, Number x) {
  auto [f, k] = split(m, x);
  Pair high = m.fastSum(k * ln2High[m.isF64()], f);
  Number low = m.fma(k, m.number(ln2Low[m.isF64()]), logRest(m, f)) + high.low;
  return logSpecial(m, x, m.number(0.0), high.high + low);
}

Number log2(MathBuilder &m, Number x) {
  auto [f, k] = split(m, x);
  Pair y = m.fastSum(f, logRest(m, f));
  Pair p = m.product(y.high, m.number(log2eHigh[m.isF64()]));
  p.low = p.low + m.fma(y.low, m.number(log2eHigh[m.isF64()]), y.high * log2eLow[m.isF64()]);
  Pair sum = m.fastSum(k, p.high);
  return logSpecial(m, x, m.number(0.0), sum.high + (sum.low + p.low));
}

Number log10(MathBuilder &m, Number x) {
  Pair y = logPair(m, x);
  Pair p = m.product(y.high, m.number(log10eHigh[m.isF64()]));
  p.low = p.low + m.fma(y.low, m.number(log10eHigh[m.isF64()]), y.high * log10eLow[m.isF64()]);
  return logSpecial(m, x, m.number(0.0), p.high + p.low);
}

Number log1p(MathBuilder &m, Number x) {
  Pair u = m.sum(m.number(1.0), x);
  auto [f, k] = split(m, u.high);
  Pair high = m.fastSum(k * ln2High[m.isF64()], f);
  Number low = m.fma(k, m.number(ln2Low[m.isF64()]), logRest(m, f)) + high.low + u.low / u.high;
  Number result = logSpecial(m, x, m.number(-1.0), high.high + low);
  // Keeps the sign of zero.
  return m.select(m.abs(x) < m.choose(0x1p-26, 0x1p-55), x, result);
}

Number pow(MathBuilder &m, Number x, Number y) {
  Number size = m.abs(x);
  Number inf = m.number(infinity), zero = m.number(0.0);
  Pair log = logPair(m, size);
  // Zero and infinity have no low part to go wrong.
  Condition special = (size == zero) | (size == inf);
  Number logHigh = m.select(size == zero, -inf, m.select(size == inf, inf, log.high));
  Number logLow = m.select(special, zero, log.low);

  Pair p = m.product(y, logHigh);
  p.low = m.fma(y, logLow, p.low);
  double most = m.choose(160.0, 800.0);
  Condition large = m.abs(p.high) > most;
  p.low = m.select(large, zero, p.low);
  p.high = m.select(large, m.copySign(m.number(most), p.high), p.high);
  // 160 / ln 2 is beyond what one power of two can scale: the two halves of scaleExp hold it.
  Number result = scaleExp(m, reduceExp(m, p.high, &p.low));

  Number whole = m.trunc(y), half = y * 0.5;
  Condition isInteger = whole == y;
  Condition isOdd = isInteger & !(m.trunc(half) == half);
  // The sign bit, since -0 counts as negative here.
  Condition negative = m.copySign(m.number(1.0), x) < 0.0;
  result = m.select(negative & isOdd, -result, result);
  result = m.select((x < 0.0) & (size < inf) & !isInteger, m.number(nan), result);
  // (-1)^inf is 1; |x| = 1 else is right already, but for a NaN made of inf * 0.
  result = m.select((size == 1.0) & (m.abs(y) == inf), m.number(1.0), result);
  result = m.select(isNaN(x) | isNaN(y), x + y, result);
  return m.select((x == 1.0) | (y == 0.0), m.number(1.0), result);
}

Number tanh(MathBuilder &m, Number x) {
  Number size = m.abs(x);
  Number z = size * size;
  Number small = m.fma(size * z, m.polynomial(z, VX_COEFFICIENTS(m, tanhTail)), size);
  double most = m.choose(10.0, 20.0); // where it has become 1
  Number bounded = m.select(size > most, m.number(most), size);
  Number large = 1.0 - 2.0 / (scaleExp(m, reduceExp(m, bounded + bounded)) + 1.0);
  return m.copySign(m.select(size < 0.625, small, large), x);
}

/// e^size / 2, which is finite where sinh and cosh are.
static Number halfExp(MathBuilder &m, Number size) {
  Reduced reduced = reduceExp(m, clampExp(m, size));
  reduced.exponent = reduced.exponent - 1.0;
  reduced.n = reduced.n - 1;
  return scaleExp(m, reduced);
}

Number sinh(MathBuilder &m, Number x) {
  Number size = m.abs(x);
  Number z = size * size;
  Number small = m.fma(size * z, m.polynomial(z, VX_COEFFICIENTS(m, sinhTail)), size);
  Number half = halfExp(m, size);
  return m.copySign(m.select(size < 1.0, small, half - 0.25 / half), x);
}

Number cosh(MathBuilder &m, Number x) {
  Number half = halfExp(m, m.abs(x));
  return half + 0.25 / half;
}

Number erf(MathBuilder &m, Number x) {
  Number size = m.abs(x);
  Number small = m.fma(size, m.polynomial(size * size, VX_COEFFICIENTS(m, erfSmall)), size);
  double most = m.choose(4.0, 6.0); // where it has become 1
  Number bounded = m.select(size > most, m.number(most), size);
  Number t = (bounded - 2.0) / (bounded + 2.0);
  Number complement = m.polynomial(t, VX_COEFFICIENTS(m, erfLarge));
  Number large = m.fma(-scaleExp(m, reduceExp(m, -(bounded * bounded))), complement, m.number(1.0));
  return m.copySign(m.select(size < 0.9375, small, large), x);
}

} // namespace vx::mathlib

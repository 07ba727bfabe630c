// Vector arithmetic on floats, and conversions.
#include "lanes.h"
#include "operations.h"

namespace vx::rocm_emulator {

namespace {

// The reciprocal, root and logarithm units take denormal f32 numbers for 0 and give 0 for them.
float flushed(float value) {
  const bool isSmall = std::abs(value) < std::numeric_limits<float>::min();
  return isSmall ? std::copysign(0.0F, value) : value;
}

float fraction(float value) { return std::min(value - std::floor(value), 0x1.fffffep-1F); }

template <typename F>
int32_t exponentOf(F value) {
  int exponent = 0;
  if (std::isfinite(value))
    (void)std::frexp(value, &exponent);
  return exponent;
}
template <typename F>
F mantissaOf(F value) {
  int exponent = 0;
  return std::isfinite(value) ? std::frexp(value, &exponent) : value;
}

//===-- Division: scale, then an approximation with fused sums, then a fix for the special cases ===//

template <typename F>
struct DivisionFacts;
template <>
struct DivisionFacts<float> {
  using Bits = uint32_t;
  static constexpr int mantissaBits = 23, exponentBits = 8, scale = 64, farApart = 96, tiny = 23, underflow = -150;
};
template <>
struct DivisionFacts<double> {
  using Bits = uint64_t;
  static constexpr int mantissaBits = 52, exponentBits = 11, scale = 128, farApart = 768, tiny = 53, underflow = -1075;
};

template <typename F>
int biasedExponent(F value) {
  using Facts = DivisionFacts<F>;
  return static_cast<int>(std::bit_cast<typename Facts::Bits>(value) >> Facts::mantissaBits &
                          ((1 << Facts::exponentBits) - 1));
}
template <typename F>
bool isDenormal(F value) {
  return std::fpclassify(value) == FP_SUBNORMAL;
}

// Scales the denominator `d` or the numerator `n`, whichever `value` is; `isScaled` tells v_div_fmas to undo it.
template <typename F>
F divisionScale(F value, F d, F n, bool &isScaled) {
  using Facts = DivisionFacts<F>;
  isScaled = false;
  if (n == 0 || d == 0)
    return std::numeric_limits<F>::quiet_NaN();
  if (biasedExponent(n) - biasedExponent(d) >= Facts::farApart) {
    isScaled = true;
    return value == d ? std::ldexp(value, Facts::scale) : value;
  }
  if (isDenormal(d))
    return std::ldexp(value, Facts::scale);
  const bool isReciprocalDenormal = isDenormal(1 / d), isQuotientDenormal = isDenormal(n / d);
  if (isReciprocalDenormal && isQuotientDenormal) {
    isScaled = true;
    return value == d ? std::ldexp(value, -Facts::scale) : value;
  }
  if (isReciprocalDenormal)
    return std::ldexp(value, -Facts::scale);
  if (isQuotientDenormal) {
    isScaled = true;
    return value == n ? std::ldexp(value, Facts::scale) : value;
  }
  if (biasedExponent(n) <= Facts::tiny)
    return std::ldexp(value, Facts::scale);
  return value;
}

template <typename F>
F divisionFix(F quotient, F d, F n) {
  using Facts = DivisionFacts<F>;
  const F sign = std::signbit(d) != std::signbit(n) ? -1 : 1;
  constexpr F infinity = std::numeric_limits<F>::infinity();
  if (n != n)
    return n;
  if (d != d)
    return d;
  if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n)))
    return -std::numeric_limits<F>::quiet_NaN();
  if (d == 0 || std::isinf(n))
    return sign * infinity;
  if (std::isinf(d) || n == 0)
    return sign * F(0);
  if (biasedExponent(n) - biasedExponent(d) < Facts::underflow)
    return sign * F(0);
  // What overflowed on the way is infinite, minus itself by now.
  return std::copysign(quotient != quotient ? infinity : quotient, sign);
}

template <typename T>
void divScale(Wave &wave, const Instruction &instruction) {
  Vector scratch[3][2], result[2];
  Source sources[3];
  for (unsigned k = 0; k < 3; ++k)
    sources[k] = read(wave, instruction, k + 2, k, T::words, scratch[k]);
  uint64_t scaled = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    typename T::Value value[3];
    for (unsigned k = 0; k < 3; ++k)
      value[k] = T::get((*sources[k].word[0])[lane], T::words == 2 ? (*sources[k].word[1])[lane] : 0);
    bool isScaled = false;
    T::put(divisionScale(value[0], value[1], value[2], isScaled), result[0][lane], result[1][lane]);
    scaled |= uint64_t(isScaled) << lane;
  }
  writeLaneMask(wave, instruction.operands[1], scaled & wave.exec());
  write(wave, instruction, result, T::words, false);
}

template <typename T>
void divFmas(Wave &wave, const Instruction &instruction) {
  using F = typename T::Value;
  Vector scratch[3][2], result[2];
  Source sources[3];
  for (unsigned k = 0; k < 3; ++k)
    sources[k] = read(wave, instruction, k + 1, k, T::words, scratch[k]);
  const uint64_t scaled = wave.laneMask(vccRegister);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    F value[3];
    for (unsigned k = 0; k < 3; ++k)
      value[k] = T::get((*sources[k].word[0])[lane], T::words == 2 ? (*sources[k].word[1])[lane] : 0);
    F sum = std::fma(value[0], value[1], value[2]);
    // A large quotient was made small by its denominator, a small one large by its numerator. It is rounded once.
    constexpr int scale = DivisionFacts<F>::scale;
    if (scaled >> lane & 1) {
      const int exponent = std::abs(value[2]) >= 2 ? scale : -scale;
      if constexpr (sizeof(F) == 4)
        sum = static_cast<float>(std::ldexp(fusedToOdd(value[0], value[1], value[2]), exponent));
      else
        sum = std::ldexp(sum, exponent);
    }
    T::put(sum, result[0][lane], result[1][lane]);
  }
  write(wave, instruction, result, T::words, false);
}

//===-- Sums of f32 and f16 mixed -------------------------------------------------------------===//

// Whether a source is f16 tells op_sel_hi, and which half of it op_sel.
enum class Mixed { Float, LowHalf, HighHalf };

template <Mixed kind>
void fmaMix(Wave &wave, const Instruction &instruction) {
  Vector result[1];
  float value[3][maxLanes];
  for (unsigned k = 0; k < 3; ++k) {
    const Operand &op = instruction.operands[k + 1];
    const bool isHalf = instruction.modifiers.selectHigh >> k & 1, isUpper = instruction.modifiers.select >> k & 1;
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      uint32_t bits = 0;
      if (op.kind == Operand::VectorRegister)
        bits = wave.v[op.index][lane];
      else if (op.kind == Operand::Constant && isHalf && op.text.find('.') != std::string::npos)
        bits = floatToHalf(std::bit_cast<float>(static_cast<uint32_t>(op.value)));
      else
        bits = readScalar(wave, op);
      float number =
          isHalf ? halfToFloat(static_cast<uint16_t>(bits >> (isUpper ? 16 : 0))) : std::bit_cast<float>(bits);
      if (op.absolute)
        number = std::abs(number);
      value[k][lane] = op.negate ? -number : number;
    }
  }
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    float sum = 0;
    if constexpr (kind == Mixed::Float) {
      sum = std::fma(value[0][lane], value[1][lane], value[2][lane]);
    } else {
      sum = fusedToHalf(value[0][lane], value[1][lane], value[2][lane]);
    }
    if (instruction.modifiers.clamp)
      sum = sum > 0 ? (sum < 1 ? sum : 1) : 0;
    const uint32_t before = wave.v[instruction.operands[0].index][lane];
    if constexpr (kind == Mixed::Float)
      result[0][lane] = std::bit_cast<uint32_t>(sum);
    else if constexpr (kind == Mixed::LowHalf)
      result[0][lane] = (before & 0xffff0000) | floatToHalf(sum);
    else
      result[0][lane] = (before & 0xffff) | uint32_t(floatToHalf(sum)) << 16;
  }
  write(wave, instruction, result, 1, false);
}

} // namespace

std::vector<Operation> floatOperations() {
  std::vector<Operation> list = {
      // f32
      lanes<Float, Float, Float>("v_add_f32", [](float a, float b) { return a + b; }),
      lanes<Float, Float, Float>("v_sub_f32", [](float a, float b) { return a - b; }),
      lanes<Float, Float, Float>("v_subrev_f32", [](float a, float b) { return b - a; }),
      lanes<Float, Float, Float>("v_mul_f32", [](float a, float b) { return a * b; }),
      lanes<Float, Float, Float, Float>("v_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
      accumulation<Float, Float, Float, Float>("v_fmac_f32",
                                               [](float a, float b, float c) { return std::fma(a, b, c); }),
      // (S0, K, S1) and (S0, S1, K), each the first times the second plus the third
      lanes<Float, Float, Float, Float>("v_fmamk_f32 v_fmaak_f32",
                                        [](float a, float b, float c) { return std::fma(a, b, c); }),
      lanes<Float, Float, Float>("v_min_f32", [](float a, float b) { return smaller(a, b); }),
      lanes<Float, Float, Float>("v_max_f32", [](float a, float b) { return larger(a, b); }),
      lanes<Float, Float, Float, Float>("v_min3_f32",
                                        [](float a, float b, float c) { return smaller(smaller(a, b), c); }),
      lanes<Float, Float, Float, Float>("v_max3_f32",
                                        [](float a, float b, float c) { return larger(larger(a, b), c); }),
      lanes<Float, Float, Float, Float>("v_med3_f32", [](float a, float b, float c) { return middle(a, b, c); }),
      lanes<Float, Float>("v_floor_f32", [](float a) { return std::floor(a); }),
      lanes<Float, Float>("v_ceil_f32", [](float a) { return std::ceil(a); }),
      lanes<Float, Float>("v_trunc_f32", [](float a) { return std::trunc(a); }),
      lanes<Float, Float>("v_rndne_f32", [](float a) { return __builtin_roundevenf(a); }),
      lanes<Float, Float>("v_fract_f32", [](float a) { return fraction(a); }),
      lanes<Float, Float>("v_rcp_f32 v_rcp_iflag_f32", [](float a) { return flushed(1 / flushed(a)); }),
      lanes<Float, Float>("v_rsq_f32", [](float a) { return static_cast<float>(1 / std::sqrt(double(flushed(a)))); }),
      lanes<Float, Float>("v_sqrt_f32", [](float a) { return std::sqrt(flushed(a)); }),
      lanes<Float, Float>("v_exp_f32", [](float a) { return flushed(static_cast<float>(std::exp2(double(a)))); }),
      lanes<Float, Float>("v_log_f32", [](float a) { return static_cast<float>(std::log2(double(flushed(a)))); }),
      lanes<Float, Float, Int>("v_ldexp_f32", [](float a, int32_t b) { return std::ldexp(a, b); }),
      lanes<Int, Float>("v_frexp_exp_i32_f32", [](float a) { return exponentOf(a); }),
      lanes<Float, Float>("v_frexp_mant_f32", [](float a) { return mantissaOf(a); }),
      {"v_div_scale_f32", divScale<Float>, TakesNegate, {Type::None, Type::None, Type::F32, Type::F32, Type::F32}},
      {"v_div_fmas_f32", divFmas<Float>, TakesNegate, {Type::None, Type::F32, Type::F32, Type::F32}},
      lanes<Float, Float, Float, Float>("v_div_fixup_f32",
                                        [](float a, float b, float c) { return divisionFix(a, b, c); }),
      // f64
      lanes<Double, Double, Double>("v_add_f64", [](double a, double b) { return a + b; }),
      lanes<Double, Double, Double>("v_mul_f64", [](double a, double b) { return a * b; }),
      lanes<Double, Double, Double, Double>("v_fma_f64",
                                            [](double a, double b, double c) { return std::fma(a, b, c); }),
      accumulation<Double, Double, Double, Double>("v_fmac_f64",
                                                   [](double a, double b, double c) { return std::fma(a, b, c); }),
      lanes<Double, Double, Double>("v_min_f64", [](double a, double b) { return smaller(a, b); }),
      lanes<Double, Double, Double>("v_max_f64", [](double a, double b) { return larger(a, b); }),
      lanes<Double, Double>("v_floor_f64", [](double a) { return std::floor(a); }),
      lanes<Double, Double>("v_ceil_f64", [](double a) { return std::ceil(a); }),
      lanes<Double, Double>("v_trunc_f64", [](double a) { return std::trunc(a); }),
      lanes<Double, Double>("v_rndne_f64", [](double a) { return __builtin_roundeven(a); }),
      lanes<Double, Double>("v_fract_f64", [](double a) { return std::min(a - std::floor(a), 0x1.fffffffffffffp-1); }),
      // Approximations: about half of the bits are right, so that code which relies on more is seen.
      lanes<Double, Double>("v_rcp_f64", [](double a) { return 1 / a * (1 + 0x1p-25); }),
      lanes<Double, Double>("v_rsq_f64", [](double a) { return 1 / std::sqrt(a) * (1 + 0x1p-25); }),
      lanes<Double, Double>("v_sqrt_f64", [](double a) { return std::sqrt(a) * (1 + 0x1p-25); }),
      lanes<Double, Double, Int>("v_ldexp_f64", [](double a, int32_t b) { return std::ldexp(a, b); }),
      lanes<Int, Double>("v_frexp_exp_i32_f64", [](double a) { return exponentOf(a); }),
      lanes<Double, Double>("v_frexp_mant_f64", [](double a) { return mantissaOf(a); }),
      {"v_div_scale_f64", divScale<Double>, TakesNegate, {Type::None, Type::None, Type::F64, Type::F64, Type::F64}},
      {"v_div_fmas_f64", divFmas<Double>, TakesNegate, {Type::None, Type::F64, Type::F64, Type::F64}},
      lanes<Double, Double, Double, Double>("v_div_fixup_f64",
                                            [](double a, double b, double c) { return divisionFix(a, b, c); }),
      // f16: sums and products of two are exact enough in f32 for one rounding
      lanes<Half, Half, Half>("v_add_f16", [](float a, float b) { return a + b; }),
      lanes<Half, Half, Half>("v_sub_f16", [](float a, float b) { return a - b; }),
      lanes<Half, Half, Half>("v_subrev_f16", [](float a, float b) { return b - a; }),
      lanes<Half, Half, Half>("v_mul_f16", [](float a, float b) { return a * b; }),
      accumulation<Half, Half, Half, Half>("v_fmac_f16",
                                           [](float a, float b, float c) { return fusedToHalf(a, b, c); }),
      lanes<Half, Half, Half>("v_min_f16", [](float a, float b) { return smaller(a, b); }),
      lanes<Half, Half, Half>("v_max_f16", [](float a, float b) { return larger(a, b); }),
      lanes<Half, Half>("v_floor_f16", [](float a) { return std::floor(a); }),
      lanes<Half, Half>("v_ceil_f16", [](float a) { return std::ceil(a); }),
      lanes<Half, Half>("v_trunc_f16", [](float a) { return std::trunc(a); }),
      lanes<Half, Half>("v_rndne_f16", [](float a) { return __builtin_roundevenf(a); }),
      lanes<Half, Half>("v_rcp_f16", [](float a) { return 1 / a; }),
      lanes<Half, Half>("v_rsq_f16", [](float a) { return static_cast<float>(1 / std::sqrt(double(a))); }),
      lanes<Half, Half>("v_sqrt_f16", [](float a) { return std::sqrt(a); }),
      lanes<Half, Half>("v_exp_f16", [](float a) { return roundToOdd(std::exp2(double(a))); }),
      lanes<Half, Half>("v_log_f16", [](float a) { return roundToOdd(std::log2(double(a))); }),
      lanes<Half, Half, Short>("v_ldexp_f16", [](float a, int16_t b) { return std::ldexp(a, b); }),
      lanes<Half, Half, Half, Half>("v_div_fixup_f16", [](float a, float b, float c) { return divisionFix(a, b, c); }),
      lanes<Half, Half, Half, Half>("v_fma_f16", [](float a, float b, float c) { return fusedToHalf(a, b, c); }),
      {"v_fma_mix_f32",
       fmaMix<Mixed::Float>,
       TakesNegate | TakesSelect | TakesSelectHigh | TakesClamp,
       {Type::None, Type::F32, Type::F32, Type::F32}},
      {"v_fma_mixlo_f16",
       fmaMix<Mixed::LowHalf>,
       TakesNegate | TakesSelect | TakesSelectHigh | TakesClamp,
       {Type::None, Type::F32, Type::F32, Type::F32}},
      {"v_fma_mixhi_f16",
       fmaMix<Mixed::HighHalf>,
       TakesNegate | TakesSelect | TakesSelectHigh | TakesClamp,
       {Type::None, Type::F32, Type::F32, Type::F32}},
      // Conversions
      lanes<Float, Half>("v_cvt_f32_f16", [](float a) { return a; }),
      lanes<Half, Float>("v_cvt_f16_f32", [](float a) { return a; }),
      lanes<Float, Double>("v_cvt_f32_f64", [](double a) { return static_cast<float>(a); }),
      lanes<Double, Float>("v_cvt_f64_f32", [](float a) { return double(a); }),
      lanes<Float, Int>("v_cvt_f32_i32", [](int32_t a) { return static_cast<float>(a); }),
      lanes<Float, Uint>("v_cvt_f32_u32", [](uint32_t a) { return static_cast<float>(a); }),
      lanes<Double, Int>("v_cvt_f64_i32", [](int32_t a) { return static_cast<double>(a); }),
      lanes<Double, Uint>("v_cvt_f64_u32", [](uint32_t a) { return static_cast<double>(a); }),
      lanes<Half, Short>("v_cvt_f16_i16", [](int16_t a) { return static_cast<float>(a); }),
      lanes<Half, Ushort>("v_cvt_f16_u16", [](uint16_t a) { return static_cast<float>(a); }),
      lanes<Int, Float>("v_cvt_i32_f32", [](float a) { return toInteger<int32_t>(a); }),
      lanes<Uint, Float>("v_cvt_u32_f32", [](float a) { return toInteger<uint32_t>(a); }),
      lanes<Int, Double>("v_cvt_i32_f64", [](double a) { return toInteger<int32_t>(a); }),
      lanes<Uint, Double>("v_cvt_u32_f64", [](double a) { return toInteger<uint32_t>(a); }),
      lanes<Short, Half>("v_cvt_i16_f16", [](float a) { return toInteger<int16_t>(a); }),
      lanes<Ushort, Half>("v_cvt_u16_f16", [](float a) { return toInteger<uint16_t>(a); }),
      lanes<Float, Uint>("v_cvt_f32_ubyte0", [](uint32_t a) { return static_cast<float>(a & 0xff); }),
      lanes<Float, Uint>("v_cvt_f32_ubyte1", [](uint32_t a) { return static_cast<float>(a >> 8 & 0xff); }),
      lanes<Float, Uint>("v_cvt_f32_ubyte2", [](uint32_t a) { return static_cast<float>(a >> 16 & 0xff); }),
      lanes<Float, Uint>("v_cvt_f32_ubyte3", [](uint32_t a) { return static_cast<float>(a >> 24); }),
      lanes<Uint, Float, Float>("v_cvt_pk_bf16_f32",
                                [](float a, float b) { return floatToBfloat(a) | uint32_t(floatToBfloat(b)) << 16; }),
  };
  for (Operation &operation : list)
    if (operation.name == "v_fma_f16" || operation.name == "v_div_fixup_f16")
      operation.keepsHalf = true;
  return list;
}

} // namespace vx::rocm_emulator

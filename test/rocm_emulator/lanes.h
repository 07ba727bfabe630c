// Vector operations from functions of one lane.
#ifndef VX_TEST_ROCM_EMULATOR_LANES_H
#define VX_TEST_ROCM_EMULATOR_LANES_H

#include "numbers.h"
#include "wave.h"

#include <initializer_list>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace vx::rocm_emulator {

//===-- Types of lanes: how registers become what a function takes ----------------------------===//

template <Type T, typename V, bool isFloat = false>
struct Word {
  using Value = V;
  static constexpr Type type = T;
  static constexpr unsigned words = 1;
  static constexpr bool isFloating = isFloat, isHalf = sizeof(V) == 2;
  static V get(uint32_t low, uint32_t) { return static_cast<V>(low); }
  static void put(V value, uint32_t &low, uint32_t &) { low = static_cast<std::make_unsigned_t<V>>(value); }
};
using Uint = Word<Type::B32, uint32_t>;
using Int = Word<Type::B32, int32_t>;
using Ushort = Word<Type::B16, uint16_t>;
using Short = Word<Type::B16, int16_t>;

struct Float {
  using Value = float;
  static constexpr Type type = Type::F32;
  static constexpr unsigned words = 1;
  static constexpr bool isFloating = true, isHalf = false;
  static float get(uint32_t low, uint32_t) { return std::bit_cast<float>(low); }
  static void put(float value, uint32_t &low, uint32_t &) { low = std::bit_cast<uint32_t>(value); }
};
// A 16-bit float as the f32 of the same value.
struct Half {
  using Value = float;
  static constexpr Type type = Type::F16;
  static constexpr unsigned words = 1;
  static constexpr bool isFloating = true, isHalf = true;
  static float get(uint32_t low, uint32_t) { return halfToFloat(static_cast<uint16_t>(low)); }
  static void put(float value, uint32_t &low, uint32_t &) { low = floatToHalf(value); }
};
// The bits of a 16-bit float.
struct HalfBits : Word<Type::F16, uint16_t, true> {};
struct FloatBits : Word<Type::F32, uint32_t, true> {};

template <Type T, typename V>
struct Pair {
  using Value = V;
  static constexpr Type type = T;
  static constexpr unsigned words = 2;
  static constexpr bool isFloating = T == Type::F64, isHalf = false;
  static V get(uint32_t low, uint32_t high) { return std::bit_cast<V>(low | uint64_t(high) << 32); }
  static void put(V value, uint32_t &low, uint32_t &high) {
    const auto bits = std::bit_cast<uint64_t>(value);
    low = static_cast<uint32_t>(bits);
    high = static_cast<uint32_t>(bits >> 32);
  }
};
using Ulong = Pair<Type::U64, uint64_t>;
using Long = Pair<Type::I64, int64_t>;
using Double = Pair<Type::F64, double>;
using DoubleBits = Pair<Type::F64, uint64_t>;

//===-- Operands ------------------------------------------------------------------------------===//

struct Source {
  const Vector *word[2];
};

// Everything but a plain register: scalars, negated and absolute values, halves, parts, permutations. `source` counts
// the sources as modifiers do.
Source readSlowly(Wave &wave, const Instruction &instruction, unsigned operand, unsigned source, unsigned words,
                  Vector (&scratch)[2]);

inline Source read(Wave &wave, const Instruction &instruction, unsigned operand, unsigned source, unsigned words,
                   Vector (&scratch)[2]) {
  const Operand &op = instruction.operands[operand];
  if (op.isPlain) {
    if (op.kind == Operand::Constant)
      return {{op.constant[0], op.constant[1]}};
    return {{&wave.v[op.index], words == 2 ? &wave.v[op.index + 1] : nullptr}};
  }
  return readSlowly(wave, instruction, operand, source, words, scratch);
}

// The lanes that an instruction writes, as far as its permutation says.
uint64_t permutedLanes(Wave &wave, const Instruction &instruction);
// Writes a result to the lanes that take part.
void writeSlowly(Wave &wave, const Instruction &instruction, const Vector *result, unsigned words, bool isHalf);

inline void write(Wave &wave, const Instruction &instruction, const Vector *result, unsigned words, bool isHalf) {
  if (!instruction.writesPlainly)
    return writeSlowly(wave, instruction, result, words, isHalf);
  const Vector &active = wave.active();
  for (unsigned k = 0; k < words; ++k) {
    Vector &destination = wave.v[instruction.operands[0].index + k];
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      destination[lane] = (result[k][lane] & active[lane]) | (destination[lane] & ~active[lane]);
  }
}

// Denormal f32 numbers become 0 on the way in or out, where the mode says so.
class Denormals32 {
public:
  explicit Denormals32(const Wave &wave) : isChanged((wave.mode & modeDenormals32) != modeDenormals32) {
#if defined(__x86_64__)
    if (isChanged) {
      before = _mm_getcsr();
      constexpr unsigned inputsAreZero = 0x40, outputsAreZero = 0x8000;
      _mm_setcsr(before | (wave.mode & 0x10 ? 0 : inputsAreZero) | (wave.mode & 0x20 ? 0 : outputsAreZero));
    }
#else
    if (isChanged)
      throw Fault("denormal numbers as zeros are emulated on x86-64 only");
#endif
  }
  ~Denormals32() {
#if defined(__x86_64__)
    if (isChanged)
      _mm_setcsr(before);
#endif
  }

private:
  const bool isChanged;
  unsigned before = 0;
};

template <typename R>
void adjustResult(const Wave &wave, const Modifiers &modifiers, Vector (&result)[2]) {
  const auto factor = static_cast<typename R::Value>(modifiers.outputFactor);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    auto value = R::get(result[0][lane], result[1][lane]) * factor;
    if (modifiers.clamp)
      value = value > 0 ? (value < 1 ? value : 1) : 0;
    R::put(value, result[0][lane], result[1][lane]);
  }
}

// `value` of lane l is function(sources...); `first` is the operand of the first source.
template <typename F, typename R, typename... A>
void computeLanes(Wave &wave, const Instruction &instruction, Vector (&result)[2], std::initializer_list<unsigned> at) {
  constexpr unsigned count = sizeof...(A);
  Vector scratch[count][2];
  Source sources[count];
  constexpr unsigned words[] = {A::words...};
  for (unsigned k = 0; k < count; ++k)
    sources[k] = read(wave, instruction, at.begin()[k], k, words[k], scratch[k]);
  [&]<size_t... K>(std::index_sequence<K...>) {
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      R::put(F{}(A::get((*sources[K].word[0])[lane], A::words == 2 ? (*sources[K].word[1])[lane] : 0)...),
             result[0][lane], result[1][lane]);
  }(std::index_sequence_for<A...>{});
}

template <typename F, typename R, typename... A>
void computeAndWrite(Wave &wave, const Instruction &instruction, std::initializer_list<unsigned> at) {
  Vector result[2];
  constexpr bool isFloat32 = R::type == Type::F32 || ((A::type == Type::F32) || ...);
  if constexpr (isFloat32) {
    Denormals32 denormals(wave);
    computeLanes<F, R, A...>(wave, instruction, result, at);
  } else {
    computeLanes<F, R, A...>(wave, instruction, result, at);
  }
  if constexpr (std::is_floating_point_v<typename R::Value>)
    if (instruction.modifiers.clamp || instruction.modifiers.outputFactor != 1)
      adjustResult<R>(wave, instruction.modifiers, result);
  write(wave, instruction, result, R::words, R::isHalf);
}

template <typename F, typename R, typename... A>
void runLanes(Wave &wave, const Instruction &instruction) {
  [&]<size_t... K>(std::index_sequence<K...>) {
    computeAndWrite<F, R, A...>(wave, instruction, {(static_cast<unsigned>(K) + 1)...});
  }(std::index_sequence_for<A...>{});
}

// The last source is the destination as it was.
template <typename F, typename R, typename... A>
void runAccumulation(Wave &wave, const Instruction &instruction) {
  [&]<size_t... K>(std::index_sequence<K...>) {
    computeAndWrite<F, R, A...>(wave, instruction, {(K + 1 < sizeof...(A) ? static_cast<unsigned>(K) + 1 : 0)...});
  }(std::index_sequence_for<A...>{});
}

template <typename R, typename... A>
constexpr uint32_t usuallyTakes() {
  uint32_t takes = TakesPermutation | TakesSdwa;
  if ((A::isFloating || ...))
    takes |= TakesNegate;
  if (std::is_floating_point_v<typename R::Value>)
    takes |= TakesClamp | TakesFactor;
  if (R::isHalf || (A::isHalf || ...))
    takes |= TakesSelect;
  return takes;
}

// D = f(A...). A name may be several, with spaces between them.
template <typename R, typename... A, typename F>
Operation lanes(std::string_view name, F) {
  return {name, &runLanes<F, R, A...>, usuallyTakes<R, A...>(), {Type::None, A::type...}, R::isHalf};
}
// D = f(A..., D); A has the type of D too.
template <typename R, typename... A, typename F>
Operation accumulation(std::string_view name, F) {
  return {name, &runAccumulation<F, R, A...>, usuallyTakes<R, A...>(), {Type::None, A::type...}, R::isHalf};
}

} // namespace vx::rocm_emulator

#endif

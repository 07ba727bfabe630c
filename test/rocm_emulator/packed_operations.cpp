// v_pk_*: two results of 16 bits in one register, or of 32 bits in two. v_dot4_*: sums of the products of four bytes.
#include "lanes.h"
#include "operations.h"

namespace vx::rocm_emulator {

namespace {

// Each half of the result has its own halves of the sources, and its own signs.
template <typename F, typename R, typename... A>
void runPacked(Wave &wave, const Instruction &instruction) {
  constexpr unsigned count = sizeof...(A);
  const Modifiers &modifiers = instruction.modifiers;
  Vector scratch[count][2], result[1];
  Source sources[count];
  for (unsigned k = 0; k < count; ++k)
    sources[k] = read(wave, instruction, k + 1, k, 1, scratch[k]);
  const unsigned selectHigh = modifiers.selectHighGiven ? modifiers.selectHigh : 7;
  auto half = [&](unsigned lane, unsigned select, unsigned negate) {
    return [&]<size_t... K>(std::index_sequence<K...>) {
      auto source = [&](unsigned k) {
        uint32_t bits = (*sources[k].word[0])[lane];
        if (select >> k & 1)
          bits >>= 16;
        return (bits & 0xffff) ^ ((negate >> k & 1) ? 0x8000u : 0u);
      };
      uint32_t low = 0, high = 0;
      auto value = F{}(A::get(source(K), 0)...);
      if constexpr (std::is_floating_point_v<decltype(value)>)
        if (modifiers.clamp)
          value = value > 0 ? (value < 1 ? value : 1) : 0;
      R::put(value, low, high);
      return low & 0xffff;
    }(std::index_sequence_for<A...>{});
  };
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result[0][lane] = half(lane, modifiers.select, modifiers.negateLow) | half(lane, selectHigh, modifiers.negateHigh)
                                                                              << 16;
  write(wave, instruction, result, 1, false);
}

template <typename R, typename... A, typename F>
Operation packed(std::string_view name, F) {
  constexpr auto type = [](Type of) { return of == Type::F16 ? Type::PackedF16 : Type::B32; };
  constexpr bool isFloat = R::type == Type::F16;
  return {name,
          &runPacked<F, R, A...>,
          TakesSelect | TakesSelectHigh | (isFloat ? TakesPackedNegate | TakesClamp : 0U),
          {Type::None, type(A::type)...}};
}

// Each of the two registers of the result has its own registers of the sources, and its own signs. A constant has its
// number in the lower one alone.
template <typename F, size_t count>
void runPackedPairs(Wave &wave, const Instruction &instruction) {
  const Modifiers &modifiers = instruction.modifiers;
  Vector scratch[count][2], result[2];
  Source sources[count];
  for (unsigned k = 0; k < count; ++k)
    sources[k] = read(wave, instruction, k + 1, k, 2, scratch[k]);
  const unsigned selectHigh = modifiers.selectHighGiven ? modifiers.selectHigh : 7;
  Denormals32 denormals(wave);
  for (unsigned word = 0; word < 2; ++word) {
    const unsigned select = word ? selectHigh : modifiers.select;
    const unsigned negate = word ? modifiers.negateHigh : modifiers.negateLow;
    for (unsigned k = 0; k < count; ++k)
      if (instruction.operands[k + 1].kind == Operand::Constant && (select >> k & 1))
        throw Fault("the upper half of a constant");
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      [&]<size_t... K>(std::index_sequence<K...>) {
        auto source = [&](unsigned k) {
          const uint32_t bits = (*sources[k].word[select >> k & 1])[lane];
          return std::bit_cast<float>(bits ^ ((negate >> k & 1) ? 0x80000000u : 0u));
        };
        float value = F{}(source(K)...);
        if (modifiers.clamp)
          value = value > 0 ? (value < 1 ? value : 1) : 0;
        result[word][lane] = std::bit_cast<uint32_t>(value);
      }(std::make_index_sequence<count>{});
  }
  write(wave, instruction, result, 2, false);
}

template <size_t count, typename F>
Operation packedPairs(std::string_view name, F) {
  Operation operation = {
      name, &runPackedPairs<F, count>, TakesSelect | TakesSelectHigh | TakesPackedNegate | TakesClamp, {Type::None}};
  for (size_t k = 0; k < count; ++k)
    operation.types[k + 1] = Type::F32;
  return operation;
}

// A sign, or the lower negation of the source where the instruction has one for each, makes its bytes signed. The sum
// wraps around.
enum class Bytes { Signed, Unsigned, ByNegation };

template <Bytes bytes>
void runDotOfBytes(Wave &wave, const Instruction &instruction) {
  Vector scratch[3][2], result[1];
  Source sources[3];
  for (unsigned k = 0; k < 3; ++k)
    sources[k] = read(wave, instruction, k + 1, k, 1, scratch[k]);
  auto byte = [&](unsigned lane, unsigned source, unsigned place) {
    const auto bits = static_cast<uint8_t>((*sources[source].word[0])[lane] >> (8 * place));
    const bool isSigned =
        bytes == Bytes::Signed || (bytes == Bytes::ByNegation && (instruction.modifiers.negateLow >> source & 1));
    return isSigned ? static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(bits))) : uint32_t(bits);
  };
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    uint32_t sum = (*sources[2].word[0])[lane];
    for (unsigned place = 0; place < 4; ++place)
      sum += byte(lane, 0, place) * byte(lane, 1, place);
    result[0][lane] = sum;
  }
  write(wave, instruction, result, 1, false);
}

template <Bytes bytes>
Operation dotOfBytes(std::string_view name) {
  return {name,
          &runDotOfBytes<bytes>,
          bytes == Bytes::ByNegation ? TakesPackedNegate : TakesNothing,
          {Type::None, Type::B32, Type::B32, Type::B32}};
}

} // namespace

std::vector<Operation> packedOperations() {
  return {
      packed<Half, Half, Half>("v_pk_add_f16", [](float a, float b) { return a + b; }),
      packed<Half, Half, Half>("v_pk_mul_f16", [](float a, float b) { return a * b; }),
      packed<Half, Half, Half>("v_pk_min_f16", [](float a, float b) { return smaller(a, b); }),
      packed<Half, Half, Half>("v_pk_max_f16", [](float a, float b) { return larger(a, b); }),
      packed<Half, Half, Half, Half>("v_pk_fma_f16", [](float a, float b, float c) { return fusedToHalf(a, b, c); }),
      packed<Ushort, Ushort, Ushort>("v_pk_add_u16", [](uint16_t a, uint16_t b) { return uint16_t(a + b); }),
      packed<Ushort, Ushort, Ushort>("v_pk_sub_u16", [](uint16_t a, uint16_t b) { return uint16_t(a - b); }),
      packed<Short, Short, Short>("v_pk_add_i16", [](int16_t a, int16_t b) { return int16_t(a + b); }),
      packed<Short, Short, Short>("v_pk_sub_i16", [](int16_t a, int16_t b) { return int16_t(a - b); }),
      packed<Ushort, Ushort, Ushort>("v_pk_mul_lo_u16",
                                     [](uint16_t a, uint16_t b) { return uint16_t(uint32_t(a) * b); }),
      packed<Ushort, Ushort, Ushort, Ushort>(
          "v_pk_mad_u16", [](uint16_t a, uint16_t b, uint16_t c) { return uint16_t(uint32_t(a) * b + c); }),
      packed<Ushort, Ushort, Ushort>("v_pk_min_u16", [](uint16_t a, uint16_t b) { return std::min(a, b); }),
      packed<Ushort, Ushort, Ushort>("v_pk_max_u16", [](uint16_t a, uint16_t b) { return std::max(a, b); }),
      packed<Short, Short, Short>("v_pk_min_i16", [](int16_t a, int16_t b) { return std::min(a, b); }),
      packed<Short, Short, Short>("v_pk_max_i16", [](int16_t a, int16_t b) { return std::max(a, b); }),
      packed<Ushort, Ushort, Ushort>("v_pk_lshlrev_b16",
                                     [](uint16_t a, uint16_t b) { return uint16_t(b << (a & 15)); }),
      packed<Ushort, Ushort, Ushort>("v_pk_lshrrev_b16",
                                     [](uint16_t a, uint16_t b) { return uint16_t(b >> (a & 15)); }),
      packedPairs<2>("v_pk_add_f32", [](float a, float b) { return a + b; }),
      packedPairs<2>("v_pk_mul_f32", [](float a, float b) { return a * b; }),
      packedPairs<3>("v_pk_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
      packed<Short, Ushort, Short>("v_pk_ashrrev_i16", [](uint16_t a, int16_t b) { return int16_t(b >> (a & 15)); }),
      dotOfBytes<Bytes::Signed>("v_dot4_i32_i8"),
      dotOfBytes<Bytes::Unsigned>("v_dot4_u32_u8"),
      dotOfBytes<Bytes::ByNegation>("v_dot4_i32_iu8"),
  };
}

} // namespace vx::rocm_emulator

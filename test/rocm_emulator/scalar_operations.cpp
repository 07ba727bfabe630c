// Scalar arithmetic, control flow and the waits, which mean nothing here.
#include "numbers.h"
#include "operations.h"
#include "wave.h"

namespace vx::rocm_emulator {

namespace {

//===-- One result from one or two scalars ----------------------------------------------------===//

struct U32 {
  using Value = uint32_t;
  static constexpr Type type = Type::B32;
};
struct I32 {
  using Value = int32_t;
  static constexpr Type type = Type::B32;
};
struct U64 {
  using Value = uint64_t;
  static constexpr Type type = Type::U64;
};
struct I64 {
  using Value = int64_t;
  static constexpr Type type = Type::I64;
};
struct F32 {
  using Value = float;
  static constexpr Type type = Type::F32;
};
struct F16 {
  using Value = float;
  static constexpr Type type = Type::F16;
};

template <typename T>
typename T::Value get(const Wave &wave, const Operand &operand) {
  const uint64_t value = readScalar64(wave, operand);
  if constexpr (T::type == Type::F32)
    return std::bit_cast<float>(static_cast<uint32_t>(value));
  else if constexpr (T::type == Type::F16)
    return halfToFloat(static_cast<uint16_t>(value));
  else
    return static_cast<typename T::Value>(value);
}

template <typename T>
void put(Wave &wave, const Operand &operand, typename T::Value value) {
  if constexpr (T::type == Type::F32)
    writeScalar(wave, operand, std::bit_cast<uint32_t>(value));
  else if constexpr (T::type == Type::F16)
    writeScalar(wave, operand, floatToHalf(value));
  else if constexpr (sizeof(value) == 8)
    writeScalar64(wave, operand, static_cast<uint64_t>(value));
  else
    writeScalar(wave, operand, static_cast<uint32_t>(value));
}

// What becomes of SCC.
enum class Code { Kept, NotZero, Set }; // Set: the function writes it through its first parameter

template <Code C, typename F, typename R, typename... A>
void run(Wave &wave, const Instruction &instruction) {
  [&]<size_t... K>(std::index_sequence<K...>) {
    if constexpr (C == Code::Set) {
      bool scc = wave.scc;
      put<R>(wave, instruction.operands[0], F{}(scc, get<A>(wave, instruction.operands[K + 1])...));
      wave.scc = scc;
    } else {
      const typename R::Value value = F{}(get<A>(wave, instruction.operands[K + 1])...);
      put<R>(wave, instruction.operands[0], value);
      if (C == Code::NotZero)
        wave.scc = value != 0;
    }
  }(std::index_sequence_for<A...>{});
}

template <Code C, typename R, typename... A, typename F>
Operation scalar(std::string_view name, F) {
  return {name, &run<C, F, R, A...>, TakesNothing, {Type::None, A::type...}};
}

// Comparisons write SCC alone.
template <typename F, typename A, typename B>
void runComparison(Wave &wave, const Instruction &instruction) {
  wave.scc = F{}(get<A>(wave, instruction.operands[0]), get<B>(wave, instruction.operands[1]));
}
template <typename A, typename B = A, typename F>
Operation compared(std::string_view name, F) {
  return {name, &runComparison<F, A, B>, TakesNothing, {A::type, B::type}};
}

// The destination and a constant of 16 bits.
template <Code C, typename F>
void runWithConstant(Wave &wave, const Instruction &instruction) {
  bool scc = wave.scc;
  const auto constant = static_cast<int16_t>(readScalar(wave, instruction.operands[1]));
  const int32_t value = F{}(scc, static_cast<int32_t>(readScalar(wave, instruction.operands[0])), int32_t(constant));
  writeScalar(wave, instruction.operands[0], static_cast<uint32_t>(value));
  wave.scc = scc;
}
template <typename F>
Operation withConstant(std::string_view name, F) {
  return {name, &runWithConstant<Code::Set, F>, TakesNothing, {Type::None, Type::B32}};
}
template <typename F, bool isSigned>
void runConstantComparison(Wave &wave, const Instruction &instruction) {
  const uint32_t value = readScalar(wave, instruction.operands[0]);
  const auto constant = static_cast<uint16_t>(readScalar(wave, instruction.operands[1]));
  if constexpr (isSigned)
    wave.scc = F{}(static_cast<int32_t>(value), int32_t(static_cast<int16_t>(constant)));
  else
    wave.scc = F{}(value, uint32_t(constant));
}
template <bool isSigned, typename F>
Operation constantCompared(std::string_view name, F) {
  return {name, &runConstantComparison<F, isSigned>, TakesNothing, {Type::B32, Type::B32}};
}

//===-- EXEC ----------------------------------------------------------------------------------===//

// D = EXEC, EXEC = f(S, EXEC), SCC = EXEC != 0; with `isWrite` D is the new EXEC.
template <typename F, bool isWrite>
void runSaveExec(Wave &wave, const Instruction &instruction) {
  const bool is64 = instruction.operands[0].words == 2;
  const uint64_t mask = is64 ? ~uint64_t(0) : 0xffffffffu;
  const uint64_t source = readScalar64(wave, instruction.operands[1]) & mask;
  const uint64_t before = wave.pair(execRegister) & mask, after = F{}(source, before) & mask;
  if (is64) {
    writeScalar64(wave, instruction.operands[0], isWrite ? after : before);
    wave.setPair(execRegister, after);
  } else {
    writeScalar(wave, instruction.operands[0], static_cast<uint32_t>(isWrite ? after : before));
    wave.s[execRegister] = static_cast<uint32_t>(after);
  }
  wave.scc = after != 0;
}
template <bool isWrite = false, typename F>
Operation saveExec(std::string_view name, F) {
  return {name, &runSaveExec<F, isWrite>, TakesNothing, {Type::None, Type::U64}};
}

//===-- Control flow --------------------------------------------------------------------------===//

template <typename F>
void runBranch(Wave &wave, const Instruction &instruction) {
  if (F{}(wave))
    wave.at = instruction.target;
}
template <typename F>
Operation branch(std::string_view name, F) {
  return {name, &runBranch<F>, TakesText};
}

void nothing(Wave &, const Instruction &) {}

void readProgramCounter(Wave &wave, const Instruction &instruction) {
  writeScalar64(wave, instruction.operands[0], instruction.next);
}

//===-- The MODE register: "hwreg(HW_REG_MODE, 4, 2)" -----------------------------------------===//

struct Field {
  unsigned first = 0, count = 32;

  uint32_t mask() const { return (count == 32 ? ~0u : (1u << count) - 1) << first; }
};

Field modeField(const std::string &text) {
  Field field;
  if (text == "hwreg(HW_REG_MODE)")
    return field;
  if (std::sscanf(text.c_str(), "hwreg(HW_REG_MODE, %u, %u)", &field.first, &field.count) != 2)
    throw Fault("'" + text + "' is not known");
  return field;
}

void setMode(Wave &wave, uint32_t mode) {
  if (mode & (modeRound32 | modeRound64))
    throw Fault("a rounding mode other than to nearest is not known");
  if ((mode & modeDenormals64) != modeDenormals64)
    throw Fault("denormal numbers of 16 and 64 bits as zeros are not known");
  wave.mode = mode;
}

void getRegister(Wave &wave, const Instruction &instruction) {
  const Field field = modeField(instruction.operands[1].text);
  writeScalar(wave, instruction.operands[0], (wave.mode & field.mask()) >> field.first);
}
void setRegister(Wave &wave, const Instruction &instruction) {
  const Field field = modeField(instruction.operands[0].text);
  const uint32_t value = readScalar(wave, instruction.operands[1]);
  setMode(wave, (wave.mode & ~field.mask()) | (value << field.first & field.mask()));
}
template <unsigned first>
void setModeBits(Wave &wave, const Instruction &instruction) {
  setMode(wave, (wave.mode & ~(15u << first)) | (readScalar(wave, instruction.operands[0]) & 15) << first);
}

uint32_t field(uint32_t value, uint32_t place, bool isSigned) {
  const unsigned first = place & 31, count = std::min(place >> 16 & 127, 32 - first);
  if (count == 0)
    return 0;
  const uint32_t moved = value << (32 - first - count);
  return isSigned ? static_cast<uint32_t>(static_cast<int32_t>(moved) >> (32 - count)) : moved >> (32 - count);
}
uint64_t field64(uint64_t value, uint32_t place, bool isSigned) {
  const unsigned first = place & 63, count = std::min(place >> 16 & 127, 64 - first);
  if (count == 0)
    return 0;
  const uint64_t moved = value << (64 - first - count);
  return isSigned ? static_cast<uint64_t>(static_cast<int64_t>(moved) >> (64 - count)) : moved >> (64 - count);
}

template <unsigned shift>
uint32_t shiftAdd(bool &scc, uint32_t a, uint32_t b) {
  const uint64_t sum = (uint64_t(a) << shift) + b;
  scc = sum >> 32;
  return static_cast<uint32_t>(sum);
}

template <bool isSet, bool is64>
void setBit(Wave &wave, const Instruction &instruction) {
  const Operand &to = instruction.operands[0];
  const uint32_t place = readScalar(wave, instruction.operands[1]) & (is64 ? 63 : 31);
  const uint64_t bit = uint64_t(1) << place, before = readScalar64(wave, to),
                 after = isSet ? before | bit : before & ~bit;
  if (is64)
    writeScalar64(wave, to, after);
  else
    writeScalar(wave, to, static_cast<uint32_t>(after));
}

} // namespace

std::vector<Operation> scalarOperations() {
  constexpr Code Kept = Code::Kept, NotZero = Code::NotZero, Set = Code::Set;
  std::vector<Operation> list = {
      // Moves
      scalar<Kept, U32, U32>("s_mov_b32", [](uint32_t a) { return a; }),
      scalar<Kept, I32, U32>("s_movk_i32", [](uint32_t a) { return int32_t(static_cast<int16_t>(a)); }),
      scalar<Kept, U64, U64>("s_mov_b64", [](uint64_t a) { return a; }),
      scalar<NotZero, U32, U32>("s_not_b32", [](uint32_t a) { return ~a; }),
      scalar<NotZero, U64, U64>("s_not_b64", [](uint64_t a) { return ~a; }),
      scalar<Kept, U32, U32>("s_brev_b32", [](uint32_t a) { return __builtin_bitreverse32(a); }),
      scalar<Kept, U64, U64>("s_brev_b64", [](uint64_t a) { return __builtin_bitreverse64(a); }),
      scalar<NotZero, U32, U32>("s_bcnt1_i32_b32", [](uint32_t a) { return uint32_t(std::popcount(a)); }),
      scalar<NotZero, U32, U64>("s_bcnt1_i32_b64", [](uint64_t a) { return uint32_t(std::popcount(a)); }),
      scalar<NotZero, U32, U32>("s_bcnt0_i32_b32", [](uint32_t a) { return uint32_t(std::popcount(~a)); }),
      scalar<NotZero, U32, U64>("s_bcnt0_i32_b64", [](uint64_t a) { return uint32_t(std::popcount(~a)); }),
      scalar<Kept, I32, U32>("s_ff1_i32_b32 s_ctz_i32_b32", [](uint32_t a) { return a ? std::countr_zero(a) : -1; }),
      scalar<Kept, I32, U64>("s_ff1_i32_b64 s_ctz_i32_b64", [](uint64_t a) { return a ? std::countr_zero(a) : -1; }),
      scalar<Kept, I32, U32>("s_flbit_i32_b32 s_clz_i32_u32", [](uint32_t a) { return a ? std::countl_zero(a) : -1; }),
      scalar<Kept, I32, U64>("s_flbit_i32_b64 s_clz_i32_u64", [](uint64_t a) { return a ? std::countl_zero(a) : -1; }),
      scalar<Kept, I32, I32>("s_flbit_i32 s_cls_i32",
                             [](int32_t a) {
                               const auto changed = static_cast<uint32_t>(a ^ (a >> 31));
                               return changed ? std::countl_zero(changed) : -1;
                             }),
      scalar<Kept, I32, U32>("s_sext_i32_i8", [](uint32_t a) { return int32_t(static_cast<int8_t>(a)); }),
      scalar<Kept, I32, U32>("s_sext_i32_i16", [](uint32_t a) { return int32_t(static_cast<int16_t>(a)); }),
      scalar<NotZero, I32, I32>("s_abs_i32", [](int32_t a) { return a < 0 ? static_cast<int32_t>(-uint32_t(a)) : a; }),
      // Sums
      scalar<Set, U32, U32, U32>("s_add_u32",
                                 [](bool &scc, uint32_t a, uint32_t b) {
                                   scc = a + b < a;
                                   return a + b;
                                 }),
      scalar<Set, U32, U32, U32>("s_sub_u32",
                                 [](bool &scc, uint32_t a, uint32_t b) {
                                   scc = b > a;
                                   return a - b;
                                 }),
      scalar<Set, U32, U32, U32>("s_addc_u32",
                                 [](bool &scc, uint32_t a, uint32_t b) {
                                   const uint64_t sum = uint64_t(a) + b + scc;
                                   scc = sum >> 32;
                                   return static_cast<uint32_t>(sum);
                                 }),
      scalar<Set, U32, U32, U32>("s_subb_u32",
                                 [](bool &scc, uint32_t a, uint32_t b) {
                                   const uint64_t difference = uint64_t(a) - b - scc;
                                   scc = uint64_t(b) + scc > a;
                                   return static_cast<uint32_t>(difference);
                                 }),
      scalar<Set, I32, I32, I32>("s_add_i32",
                                 [](bool &scc, int32_t a, int32_t b) {
                                   int32_t sum = 0;
                                   scc = __builtin_add_overflow(a, b, &sum);
                                   return sum;
                                 }),
      scalar<Set, I32, I32, I32>("s_sub_i32",
                                 [](bool &scc, int32_t a, int32_t b) {
                                   int32_t difference = 0;
                                   scc = __builtin_sub_overflow(a, b, &difference);
                                   return difference;
                                 }),
      scalar<NotZero, I32, I32, I32>("s_absdiff_i32",
                                     [](int32_t a, int32_t b) {
                                       return static_cast<int32_t>(a > b ? uint32_t(a) - uint32_t(b)
                                                                         : uint32_t(b) - uint32_t(a));
                                     }),
      scalar<Kept, U32, U32, U32>("s_mul_i32", [](uint32_t a, uint32_t b) { return a * b; }),
      scalar<Kept, U32, U32, U32>("s_mul_hi_u32",
                                  [](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }),
      scalar<Kept, I32, I32, I32>("s_mul_hi_i32", [](int32_t a, int32_t b) { return int32_t(int64_t(a) * b >> 32); }),
      // The larger and the smaller: SCC tells whether it is the first one.
      scalar<Set, I32, I32, I32>("s_min_i32", [](bool &scc, int32_t a, int32_t b) { return (scc = a < b) ? a : b; }),
      scalar<Set, U32, U32, U32>("s_min_u32", [](bool &scc, uint32_t a, uint32_t b) { return (scc = a < b) ? a : b; }),
      scalar<Set, I32, I32, I32>("s_max_i32", [](bool &scc, int32_t a, int32_t b) { return (scc = a >= b) ? a : b; }),
      scalar<Set, U32, U32, U32>("s_max_u32", [](bool &scc, uint32_t a, uint32_t b) { return (scc = a >= b) ? a : b; }),
      // Bits
      scalar<NotZero, U32, U32, U32>("s_and_b32", [](uint32_t a, uint32_t b) { return a & b; }),
      scalar<NotZero, U64, U64, U64>("s_and_b64", [](uint64_t a, uint64_t b) { return a & b; }),
      scalar<NotZero, U32, U32, U32>("s_or_b32", [](uint32_t a, uint32_t b) { return a | b; }),
      scalar<NotZero, U64, U64, U64>("s_or_b64", [](uint64_t a, uint64_t b) { return a | b; }),
      scalar<NotZero, U32, U32, U32>("s_xor_b32", [](uint32_t a, uint32_t b) { return a ^ b; }),
      scalar<NotZero, U64, U64, U64>("s_xor_b64", [](uint64_t a, uint64_t b) { return a ^ b; }),
      scalar<NotZero, U32, U32, U32>("s_andn2_b32 s_and_not1_b32", [](uint32_t a, uint32_t b) { return a & ~b; }),
      scalar<NotZero, U64, U64, U64>("s_andn2_b64 s_and_not1_b64", [](uint64_t a, uint64_t b) { return a & ~b; }),
      scalar<NotZero, U32, U32, U32>("s_orn2_b32 s_or_not1_b32", [](uint32_t a, uint32_t b) { return a | ~b; }),
      scalar<NotZero, U64, U64, U64>("s_orn2_b64 s_or_not1_b64", [](uint64_t a, uint64_t b) { return a | ~b; }),
      scalar<NotZero, U32, U32, U32>("s_nand_b32", [](uint32_t a, uint32_t b) { return ~(a & b); }),
      scalar<NotZero, U64, U64, U64>("s_nand_b64", [](uint64_t a, uint64_t b) { return ~(a & b); }),
      scalar<NotZero, U32, U32, U32>("s_nor_b32", [](uint32_t a, uint32_t b) { return ~(a | b); }),
      scalar<NotZero, U64, U64, U64>("s_nor_b64", [](uint64_t a, uint64_t b) { return ~(a | b); }),
      scalar<NotZero, U32, U32, U32>("s_xnor_b32", [](uint32_t a, uint32_t b) { return ~(a ^ b); }),
      scalar<NotZero, U64, U64, U64>("s_xnor_b64", [](uint64_t a, uint64_t b) { return ~(a ^ b); }),
      scalar<NotZero, U32, U32, U32>("s_lshl_b32", [](uint32_t a, uint32_t b) { return a << (b & 31); }),
      scalar<NotZero, U64, U64, U32>("s_lshl_b64", [](uint64_t a, uint32_t b) { return a << (b & 63); }),
      scalar<NotZero, U32, U32, U32>("s_lshr_b32", [](uint32_t a, uint32_t b) { return a >> (b & 31); }),
      scalar<NotZero, U64, U64, U32>("s_lshr_b64", [](uint64_t a, uint32_t b) { return a >> (b & 63); }),
      scalar<NotZero, I32, I32, U32>("s_ashr_i32", [](int32_t a, uint32_t b) { return a >> (b & 31); }),
      scalar<NotZero, I64, I64, U32>("s_ashr_i64", [](int64_t a, uint32_t b) { return a >> (b & 63); }),
      scalar<NotZero, U32, U32, U32>("s_bfe_u32", [](uint32_t a, uint32_t b) { return field(a, b, false); }),
      scalar<NotZero, U32, U32, U32>("s_bfe_i32", [](uint32_t a, uint32_t b) { return field(a, b, true); }),
      scalar<NotZero, U64, U64, U32>("s_bfe_u64", [](uint64_t a, uint32_t b) { return field64(a, b, false); }),
      scalar<NotZero, U64, U64, U32>("s_bfe_i64", [](uint64_t a, uint32_t b) { return field64(a, b, true); }),
      scalar<Kept, U32, U32, U32>("s_bfm_b32",
                                  [](uint32_t a, uint32_t b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
      scalar<Kept, U64, U32, U32>("s_bfm_b64",
                                  [](uint32_t a, uint32_t b) { return ((uint64_t(1) << (a & 63)) - 1) << (b & 63); }),
      scalar<Kept, U32, U32, U32>("s_pack_ll_b32_b16", [](uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; }),
      scalar<Kept, U32, U32, U32>("s_pack_lh_b32_b16",
                                  [](uint32_t a, uint32_t b) { return (a & 0xffff) | (b & 0xffff0000); }),
      scalar<Kept, U32, U32, U32>("s_pack_hh_b32_b16",
                                  [](uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000); }),
      scalar<Kept, U32, U32, U32>("s_pack_hl_b32_b16", [](uint32_t a, uint32_t b) { return a >> 16 | b << 16; }),
      scalar<Set, U32, U32, U32>("s_lshl1_add_u32",
                                 [](bool &scc, uint32_t a, uint32_t b) { return shiftAdd<1>(scc, a, b); }),
      scalar<Set, U32, U32, U32>("s_lshl2_add_u32",
                                 [](bool &scc, uint32_t a, uint32_t b) { return shiftAdd<2>(scc, a, b); }),
      scalar<Set, U32, U32, U32>("s_lshl3_add_u32",
                                 [](bool &scc, uint32_t a, uint32_t b) { return shiftAdd<3>(scc, a, b); }),
      scalar<Set, U32, U32, U32>("s_lshl4_add_u32",
                                 [](bool &scc, uint32_t a, uint32_t b) { return shiftAdd<4>(scc, a, b); }),
      // Choices
      scalar<Set, U32, U32, U32>("s_cselect_b32", [](bool &scc, uint32_t a, uint32_t b) { return scc ? a : b; }),
      scalar<Set, U64, U64, U64>("s_cselect_b64", [](bool &scc, uint64_t a, uint64_t b) { return scc ? a : b; }),
      // Comparisons
      compared<I32>("s_cmp_eq_i32", [](int32_t a, int32_t b) { return a == b; }),
      compared<I32>("s_cmp_lg_i32", [](int32_t a, int32_t b) { return a != b; }),
      compared<I32>("s_cmp_gt_i32", [](int32_t a, int32_t b) { return a > b; }),
      compared<I32>("s_cmp_ge_i32", [](int32_t a, int32_t b) { return a >= b; }),
      compared<I32>("s_cmp_lt_i32", [](int32_t a, int32_t b) { return a < b; }),
      compared<I32>("s_cmp_le_i32", [](int32_t a, int32_t b) { return a <= b; }),
      compared<U32>("s_cmp_eq_u32", [](uint32_t a, uint32_t b) { return a == b; }),
      compared<U32>("s_cmp_lg_u32", [](uint32_t a, uint32_t b) { return a != b; }),
      compared<U32>("s_cmp_gt_u32", [](uint32_t a, uint32_t b) { return a > b; }),
      compared<U32>("s_cmp_ge_u32", [](uint32_t a, uint32_t b) { return a >= b; }),
      compared<U32>("s_cmp_lt_u32", [](uint32_t a, uint32_t b) { return a < b; }),
      compared<U32>("s_cmp_le_u32", [](uint32_t a, uint32_t b) { return a <= b; }),
      compared<U64>("s_cmp_eq_u64", [](uint64_t a, uint64_t b) { return a == b; }),
      compared<U64>("s_cmp_lg_u64", [](uint64_t a, uint64_t b) { return a != b; }),
      compared<U32>("s_bitcmp0_b32", [](uint32_t a, uint32_t b) { return !(a >> (b & 31) & 1); }),
      compared<U32>("s_bitcmp1_b32", [](uint32_t a, uint32_t b) { return bool(a >> (b & 31) & 1); }),
      compared<U64, U32>("s_bitcmp0_b64", [](uint64_t a, uint32_t b) { return !(a >> (b & 63) & 1); }),
      compared<U64, U32>("s_bitcmp1_b64", [](uint64_t a, uint32_t b) { return bool(a >> (b & 63) & 1); }),
      constantCompared<true>("s_cmpk_eq_i32", [](int32_t a, int32_t b) { return a == b; }),
      constantCompared<true>("s_cmpk_lg_i32", [](int32_t a, int32_t b) { return a != b; }),
      constantCompared<true>("s_cmpk_gt_i32", [](int32_t a, int32_t b) { return a > b; }),
      constantCompared<true>("s_cmpk_ge_i32", [](int32_t a, int32_t b) { return a >= b; }),
      constantCompared<true>("s_cmpk_lt_i32", [](int32_t a, int32_t b) { return a < b; }),
      constantCompared<true>("s_cmpk_le_i32", [](int32_t a, int32_t b) { return a <= b; }),
      constantCompared<false>("s_cmpk_eq_u32", [](uint32_t a, uint32_t b) { return a == b; }),
      constantCompared<false>("s_cmpk_lg_u32", [](uint32_t a, uint32_t b) { return a != b; }),
      constantCompared<false>("s_cmpk_gt_u32", [](uint32_t a, uint32_t b) { return a > b; }),
      constantCompared<false>("s_cmpk_ge_u32", [](uint32_t a, uint32_t b) { return a >= b; }),
      constantCompared<false>("s_cmpk_lt_u32", [](uint32_t a, uint32_t b) { return a < b; }),
      constantCompared<false>("s_cmpk_le_u32", [](uint32_t a, uint32_t b) { return a <= b; }),
      withConstant("s_addk_i32",
                   [](bool &scc, int32_t a, int32_t b) {
                     int32_t sum = 0;
                     scc = __builtin_add_overflow(a, b, &sum);
                     return sum;
                   }),
      withConstant("s_mulk_i32",
                   [](bool &, int32_t a, int32_t b) { return static_cast<int32_t>(uint32_t(a) * uint32_t(b)); }),
      withConstant("s_cmovk_i32", [](bool &scc, int32_t a, int32_t b) { return scc ? b : a; }),
      // Floats (gfx11.5)
      scalar<Kept, F32, F32, F32>("s_add_f32", [](float a, float b) { return a + b; }),
      scalar<Kept, F32, F32, F32>("s_sub_f32", [](float a, float b) { return a - b; }),
      scalar<Kept, F32, F32, F32>("s_mul_f32", [](float a, float b) { return a * b; }),
      scalar<Kept, F32, F32, F32>("s_min_f32", [](float a, float b) { return smaller(a, b); }),
      scalar<Kept, F32, F32, F32>("s_max_f32", [](float a, float b) { return larger(a, b); }),
      scalar<Kept, F32, F32, F32, F32>("s_fmaak_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
      scalar<Kept, F32, F32, F32, F32>("s_fmamk_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
      scalar<Kept, F32, F32>("s_ceil_f32", [](float a) { return std::ceil(a); }),
      scalar<Kept, F32, F32>("s_floor_f32", [](float a) { return std::floor(a); }),
      scalar<Kept, F32, F32>("s_trunc_f32", [](float a) { return std::trunc(a); }),
      scalar<Kept, F32, F32>("s_rndne_f32", [](float a) { return __builtin_roundevenf(a); }),
      scalar<Kept, F32, I32>("s_cvt_f32_i32", [](int32_t a) { return static_cast<float>(a); }),
      scalar<Kept, F32, U32>("s_cvt_f32_u32", [](uint32_t a) { return static_cast<float>(a); }),
      scalar<Kept, I32, F32>("s_cvt_i32_f32", [](float a) { return toInteger<int32_t>(a); }),
      scalar<Kept, U32, F32>("s_cvt_u32_f32", [](float a) { return toInteger<uint32_t>(a); }),
      scalar<Kept, F16, F32>("s_cvt_f16_f32", [](float a) { return a; }),
      scalar<Kept, F32, F16>("s_cvt_f32_f16", [](float a) { return a; }),
      scalar<Kept, F16, F16, F16>("s_add_f16", [](float a, float b) { return a + b; }),
      scalar<Kept, F16, F16, F16>("s_sub_f16", [](float a, float b) { return a - b; }),
      scalar<Kept, F16, F16, F16>("s_mul_f16", [](float a, float b) { return a * b; }),
      scalar<Kept, F16, F16, F16>("s_min_f16", [](float a, float b) { return smaller(a, b); }),
      scalar<Kept, F16, F16, F16>("s_max_f16", [](float a, float b) { return larger(a, b); }),
      // Control flow
      branch("s_branch", [](Wave &) { return true; }),
      branch("s_cbranch_scc0", [](Wave &wave) { return !wave.scc; }),
      branch("s_cbranch_scc1", [](Wave &wave) { return wave.scc; }),
      branch("s_cbranch_vccz", [](Wave &wave) { return wave.laneMask(vccRegister) == 0; }),
      branch("s_cbranch_vccnz", [](Wave &wave) { return wave.laneMask(vccRegister) != 0; }),
      branch("s_cbranch_execz", [](Wave &wave) { return wave.exec() == 0; }),
      branch("s_cbranch_execnz", [](Wave &wave) { return wave.exec() != 0; }),
      {"s_endpgm", [](Wave &wave, const Instruction &) { wave.isDone = true; }, TakesText},
      {"s_barrier", [](Wave &wave, const Instruction &) { wave.atBarrier = true; }, TakesText},
      {"s_getpc_b64", readProgramCounter, TakesNothing, {Type::None}},
      // Whoever waits finds all done already, and who tells of what it will do is not listened to.
      {"s_nop s_waitcnt s_waitcnt_depctr s_waitcnt_vscnt s_waitcnt_vmcnt s_waitcnt_lgkmcnt s_waitcnt_expcnt "
       "s_delay_alu "
       "s_clause s_sendmsg s_sleep s_setprio s_code_end s_inst_prefetch s_set_inst_prefetch_distance s_wait_idle "
       "buffer_gl0_inv buffer_gl1_inv buffer_inv buffer_wbl2",
       nothing, TakesText},
      {"s_bitset0_b32", setBit<false, false>, TakesNothing, {Type::None, Type::B32}},
      {"s_bitset1_b32", setBit<true, false>, TakesNothing, {Type::None, Type::B32}},
      {"s_bitset0_b64", setBit<false, true>, TakesNothing, {Type::None, Type::B32}},
      {"s_bitset1_b64", setBit<true, true>, TakesNothing, {Type::None, Type::B32}},
      {"s_getreg_b32", getRegister, TakesNothing, {Type::None, Type::Any}},
      {"s_setreg_b32", setRegister, TakesNothing, {Type::Any, Type::B32}},
      {"s_setreg_imm32_b32", setRegister, TakesNothing, {Type::Any, Type::B32}},
      {"s_round_mode", setModeBits<0>, TakesNothing, {Type::B32}},
      {"s_denorm_mode", setModeBits<4>, TakesNothing, {Type::B32}},
  };
  // S is the first source, E what EXEC is.
#define SAVE_EXEC(NAMES, EXPRESSION) list.push_back(saveExec(NAMES, [](uint64_t s, uint64_t e) { return EXPRESSION; }));
  SAVE_EXEC("s_and_saveexec_b32 s_and_saveexec_b64", s & e)
  SAVE_EXEC("s_or_saveexec_b32 s_or_saveexec_b64", s | e)
  SAVE_EXEC("s_xor_saveexec_b32 s_xor_saveexec_b64", s ^ e)
  SAVE_EXEC("s_andn2_saveexec_b32 s_andn2_saveexec_b64 s_and_not1_saveexec_b32 s_and_not1_saveexec_b64", s & ~e)
  SAVE_EXEC("s_andn1_saveexec_b32 s_andn1_saveexec_b64 s_and_not0_saveexec_b32 s_and_not0_saveexec_b64", ~s & e)
  SAVE_EXEC("s_orn2_saveexec_b32 s_orn2_saveexec_b64 s_or_not1_saveexec_b32 s_or_not1_saveexec_b64", s | ~e)
#undef SAVE_EXEC
  list.push_back(saveExec<true>("s_andn2_wrexec_b32 s_andn2_wrexec_b64 s_and_not1_wrexec_b32 s_and_not1_wrexec_b64",
                                [](uint64_t s, uint64_t e) { return s & ~e; }));
  list.push_back(saveExec<true>("s_andn1_wrexec_b32 s_andn1_wrexec_b64 s_and_not0_wrexec_b32 s_and_not0_wrexec_b64",
                                [](uint64_t s, uint64_t e) { return ~s & e; }));
  // S0 * S1 + D
  list.push_back({"s_fmac_f32",
                  [](Wave &wave, const Instruction &instruction) {
                    const auto &op = instruction.operands;
                    put<F32>(wave, op[0],
                             std::fma(get<F32>(wave, op[1]), get<F32>(wave, op[2]), get<F32>(wave, op[0])));
                  },
                  TakesNothing,
                  {Type::None, Type::F32, Type::F32}});
  // Floats are compared in each way and its opposite, which is true of what cannot be compared.
#define COMPARE_FLOATS(NAME, EXPRESSION)                                                                               \
  list.push_back(compared<F32>("s_cmp_" NAME "_f32", [](float a, float b) { return EXPRESSION; }));                    \
  list.push_back(compared<F16>("s_cmp_" NAME "_f16", [](float a, float b) { return EXPRESSION; }));
  COMPARE_FLOATS("lt", a < b)
  COMPARE_FLOATS("eq", a == b)
  COMPARE_FLOATS("le", a <= b)
  COMPARE_FLOATS("gt", a > b)
  COMPARE_FLOATS("lg", a < b || a > b)
  COMPARE_FLOATS("ge", a >= b)
  COMPARE_FLOATS("o", a == a && b == b)
  COMPARE_FLOATS("u", a != a || b != b)
  COMPARE_FLOATS("nge", !(a >= b))
  COMPARE_FLOATS("nlg", !(a < b || a > b))
  COMPARE_FLOATS("ngt", !(a > b))
  COMPARE_FLOATS("nle", !(a <= b))
  COMPARE_FLOATS("neq", !(a == b))
  COMPARE_FLOATS("nlt", !(a < b))
#undef COMPARE_FLOATS
  return list;
}

} // namespace vx::rocm_emulator

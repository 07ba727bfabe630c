// Vector arithmetic on integers, and bits.
#include "lanes.h"
#include "operations.h"

#include <algorithm>

namespace vx::rocm_emulator {

namespace {

int32_t signed24(uint32_t value) { return static_cast<int32_t>(value << 8) >> 8; }
uint32_t unsigned24(uint32_t value) { return value & 0xffffff; }

uint32_t permutedByte(uint32_t a, uint32_t b, uint32_t select) {
  const uint64_t both = uint64_t(a) << 32 | b;
  if (select >= 13)
    return 0xff;
  if (select == 12)
    return 0;
  if (select >= 8)
    return (both >> (16 * (select - 8) + 15) & 1) ? 0xff : 0;
  return both >> (8 * select) & 0xff;
}

// Sums that clamp to the largest or the least number.
template <typename Int, typename Wide, bool isDifference, bool isReversed>
void clampedSum(Wave &wave, const Instruction &instruction) {
  using W = std::conditional_t<sizeof(Int) == 2, std::conditional_t<std::is_signed_v<Int>, Short, Ushort>,
                               std::conditional_t<std::is_signed_v<Int>, vx::rocm_emulator::Int, Uint>>;
  Vector scratch[2][2], result[2];
  const Source a = read(wave, instruction, 1, 0, 1, scratch[0]), b = read(wave, instruction, 2, 1, 1, scratch[1]);
  const bool clamp = instruction.modifiers.clamp;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    Wide x = W::get((*a.word[0])[lane], 0), y = W::get((*b.word[0])[lane], 0);
    if (isReversed)
      std::swap(x, y);
    Wide sum = isDifference ? x - y : x + y;
    if (clamp)
      sum = std::min<Wide>(std::max<Wide>(sum, std::numeric_limits<Int>::min()), std::numeric_limits<Int>::max());
    W::put(static_cast<Int>(sum), result[0][lane], result[1][lane]);
  }
  write(wave, instruction, result, 1, sizeof(Int) == 2);
}

template <typename Int, bool isDifference, bool isReversed = false>
Operation sum(std::string_view name) {
  using Wide = std::conditional_t<sizeof(Int) == 2, int32_t, int64_t>;
  constexpr bool isHalf = sizeof(Int) == 2;
  constexpr Type type = isHalf ? Type::B16 : Type::B32;
  return {name,
          &clampedSum<Int, Wide, isDifference, isReversed>,
          TakesPermutation | TakesSdwa | TakesClamp | (isHalf ? TakesSelect : 0U),
          {Type::None, type, type},
          isHalf};
}

// (D, carries out, S0, S1, carries in)
template <bool isDifference, bool isReversed, bool hasCarryIn>
void carrySum(Wave &wave, const Instruction &instruction) {
  Vector scratch[2][2], result[1];
  const Source a = read(wave, instruction, 2, 0, 1, scratch[0]), b = read(wave, instruction, 3, 1, 1, scratch[1]);
  const uint64_t carriesIn = hasCarryIn ? readLaneMask(wave, instruction.operands[4]) : 0;
  uint64_t carriesOut = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    uint64_t x = (*a.word[0])[lane], y = (*b.word[0])[lane];
    if (isReversed)
      std::swap(x, y);
    const uint64_t carry = carriesIn >> lane & 1, total = isDifference ? x - y - carry : x + y + carry;
    result[0][lane] = static_cast<uint32_t>(total);
    carriesOut |= (total >> 32 & 1) << lane;
  }
  writeLaneMask(wave, instruction.operands[1], carriesOut & wave.exec());
  write(wave, instruction, result, 1, false);
}
template <bool isDifference, bool isReversed, bool hasCarryIn>
Operation withCarry(std::string_view name) {
  return {name,
          &carrySum<isDifference, isReversed, hasCarryIn>,
          TakesPermutation | TakesSdwa,
          {Type::None, Type::None, Type::B32, Type::B32, Type::U64}};
}

// (D, carries out, S0, S1, S2): 32 x 32 + 64
template <bool isSigned>
void multiplyAdd64(Wave &wave, const Instruction &instruction) {
  Vector scratch[3][2], result[2];
  const Source a = read(wave, instruction, 2, 0, 1, scratch[0]), b = read(wave, instruction, 3, 1, 1, scratch[1]),
               c = read(wave, instruction, 4, 2, 2, scratch[2]);
  uint64_t carries = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const uint32_t x = (*a.word[0])[lane], y = (*b.word[0])[lane];
    const uint64_t addend = Ulong::get((*c.word[0])[lane], (*c.word[1])[lane]);
    if constexpr (isSigned) {
      const auto sum = __int128(static_cast<int32_t>(x)) * static_cast<int32_t>(y) + static_cast<int64_t>(addend);
      Ulong::put(static_cast<uint64_t>(sum), result[0][lane], result[1][lane]);
      carries |= uint64_t(static_cast<unsigned __int128>(sum) >> 64 & 1) << lane;
    } else {
      const auto sum = static_cast<unsigned __int128>(uint64_t(x) * y) + addend;
      Ulong::put(static_cast<uint64_t>(sum), result[0][lane], result[1][lane]);
      carries |= uint64_t(sum >> 64 & 1) << lane;
    }
  }
  writeLaneMask(wave, instruction.operands[1], carries & wave.exec());
  write(wave, instruction, result, 2, false);
}

// S1 where the mask of S2 has a bit, else S0.
template <bool isHalf>
void choose(Wave &wave, const Instruction &instruction) {
  Vector scratch[2][2], result[1];
  const Source no = read(wave, instruction, 1, 0, 1, scratch[0]), yes = read(wave, instruction, 2, 1, 1, scratch[1]);
  const Vector chosen = Wave::spread(readLaneMask(wave, instruction.operands[3]));
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    result[0][lane] = ((*yes.word[0])[lane] & chosen[lane]) | ((*no.word[0])[lane] & ~chosen[lane]);
  write(wave, instruction, result, 1, isHalf);
}

template <typename T>
T middleOf(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

} // namespace

std::vector<Operation> integerOperations() {
  std::vector<Operation> list = {
      // Moves. The type of what is moved may be a float's.
      lanes<Uint, FloatBits>("v_mov_b32 v_accvgpr_write_b32 v_accvgpr_read_b32 v_accvgpr_mov_b32",
                             [](uint32_t a) { return a; }),
      lanes<Ulong, Ulong>("v_mov_b64", [](uint64_t a) { return a; }),
      lanes<HalfBits, HalfBits>("v_mov_b16", [](uint16_t a) { return a; }),
      {"v_cndmask_b32",
       choose<false>,
       TakesNegate | TakesPermutation | TakesSdwa,
       {Type::None, Type::F32, Type::F32, Type::U64}},
      {"v_cndmask_b16",
       choose<true>,
       TakesNegate | TakesPermutation | TakesSelect,
       {Type::None, Type::F16, Type::F16, Type::U64},
       true},
      // 32 bits. Before gfx10 it is the names without "nc" that have no carry.
      sum<uint32_t, false>("v_add_nc_u32 v_add_u32"),
      sum<uint32_t, true>("v_sub_nc_u32 v_sub_u32"),
      sum<uint32_t, true, true>("v_subrev_nc_u32 v_subrev_u32"),
      sum<int32_t, false>("v_add_nc_i32 v_add_i32"),
      sum<int32_t, true>("v_sub_nc_i32 v_sub_i32"),
      withCarry<false, false, false>("v_add_co_u32"),
      withCarry<true, false, false>("v_sub_co_u32"),
      withCarry<true, true, false>("v_subrev_co_u32"),
      withCarry<false, false, true>("v_add_co_ci_u32 v_addc_co_u32"),
      withCarry<true, false, true>("v_sub_co_ci_u32 v_subb_co_u32"),
      withCarry<true, true, true>("v_subrev_co_ci_u32 v_subbrev_co_u32"),
      lanes<Uint, Uint, Uint, Uint>("v_add3_u32", [](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }),
      lanes<Uint, Uint, Uint, Uint>("v_lshl_add_u32",
                                    [](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; }),
      lanes<Uint, Uint, Uint, Uint>("v_add_lshl_u32",
                                    [](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); }),
      lanes<Uint, Uint, Uint, Uint>("v_lshl_or_b32",
                                    [](uint32_t a, uint32_t b, uint32_t c) { return a << (b & 31) | c; }),
      lanes<Uint, Uint, Uint, Uint>("v_and_or_b32", [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }),
      lanes<Uint, Uint, Uint, Uint>("v_or3_b32", [](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }),
      lanes<Uint, Uint, Uint, Uint>("v_xor3_b32", [](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; }),
      lanes<Uint, Uint, Uint, Uint>("v_xad_u32", [](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }),
      lanes<Uint, Uint, Uint>("v_mul_lo_u32", [](uint32_t a, uint32_t b) { return a * b; }),
      lanes<Uint, Uint, Uint>("v_mul_hi_u32", [](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }),
      lanes<Int, Int, Int>("v_mul_hi_i32", [](int32_t a, int32_t b) { return int32_t(int64_t(a) * b >> 32); }),
      lanes<Uint, Uint, Uint>("v_mul_u32_u24", [](uint32_t a, uint32_t b) { return unsigned24(a) * unsigned24(b); }),
      lanes<Uint, Uint, Uint>("v_mul_i32_i24",
                              [](uint32_t a, uint32_t b) { return uint32_t(signed24(a)) * uint32_t(signed24(b)); }),
      lanes<Uint, Uint, Uint>(
          "v_mul_hi_u32_u24",
          [](uint32_t a, uint32_t b) { return uint32_t(uint64_t(unsigned24(a)) * unsigned24(b) >> 32); }),
      lanes<Uint, Uint, Uint>(
          "v_mul_hi_i32_i24",
          [](uint32_t a, uint32_t b) { return uint32_t(int64_t(signed24(a)) * signed24(b) >> 32); }),
      lanes<Uint, Uint, Uint, Uint>(
          "v_mad_u32_u24", [](uint32_t a, uint32_t b, uint32_t c) { return unsigned24(a) * unsigned24(b) + c; }),
      lanes<Uint, Uint, Uint, Uint>(
          "v_mad_i32_i24",
          [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t(signed24(a)) * uint32_t(signed24(b)) + c; }),
      lanes<Uint, Ushort, Ushort, Uint>("v_mad_u32_u16",
                                        [](uint16_t a, uint16_t b, uint32_t c) { return uint32_t(a) * b + c; }),
      lanes<Uint, Short, Short, Uint>("v_mad_i32_i16",
                                      [](int16_t a, int16_t b, uint32_t c) { return uint32_t(int32_t(a) * b) + c; }),
      {"v_mad_u64_u32", multiplyAdd64<false>, TakesNothing, {Type::None, Type::None, Type::B32, Type::B32, Type::U64}},
      {"v_mad_i64_i32", multiplyAdd64<true>, TakesNothing, {Type::None, Type::None, Type::B32, Type::B32, Type::I64}},
      lanes<Uint, Uint, Uint>("v_min_u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }),
      lanes<Uint, Uint, Uint>("v_max_u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }),
      lanes<Int, Int, Int>("v_min_i32", [](int32_t a, int32_t b) { return std::min(a, b); }),
      lanes<Int, Int, Int>("v_max_i32", [](int32_t a, int32_t b) { return std::max(a, b); }),
      lanes<Uint, Uint, Uint, Uint>("v_min3_u32",
                                    [](uint32_t a, uint32_t b, uint32_t c) { return std::min({a, b, c}); }),
      lanes<Uint, Uint, Uint, Uint>("v_max3_u32",
                                    [](uint32_t a, uint32_t b, uint32_t c) { return std::max({a, b, c}); }),
      lanes<Uint, Uint, Uint, Uint>("v_med3_u32", [](uint32_t a, uint32_t b, uint32_t c) { return middleOf(a, b, c); }),
      lanes<Int, Int, Int, Int>("v_min3_i32", [](int32_t a, int32_t b, int32_t c) { return std::min({a, b, c}); }),
      lanes<Int, Int, Int, Int>("v_max3_i32", [](int32_t a, int32_t b, int32_t c) { return std::max({a, b, c}); }),
      lanes<Int, Int, Int, Int>("v_med3_i32", [](int32_t a, int32_t b, int32_t c) { return middleOf(a, b, c); }),
      lanes<Uint, Uint, Uint>("v_and_b32", [](uint32_t a, uint32_t b) { return a & b; }),
      lanes<Uint, Uint, Uint>("v_or_b32", [](uint32_t a, uint32_t b) { return a | b; }),
      lanes<Uint, Uint, Uint>("v_xor_b32", [](uint32_t a, uint32_t b) { return a ^ b; }),
      lanes<Uint, Uint, Uint>("v_xnor_b32", [](uint32_t a, uint32_t b) { return ~(a ^ b); }),
      lanes<Uint, Uint>("v_not_b32", [](uint32_t a) { return ~a; }),
      lanes<Uint, Uint>("v_bfrev_b32", [](uint32_t a) { return __builtin_bitreverse32(a); }),
      lanes<Int, Uint>("v_ffbh_u32 v_clz_i32_u32", [](uint32_t a) { return a ? std::countl_zero(a) : -1; }),
      lanes<Int, Uint>("v_ffbl_b32 v_ctz_i32_b32", [](uint32_t a) { return a ? std::countr_zero(a) : -1; }),
      lanes<Int, Int>("v_ffbh_i32 v_cls_i32",
                      [](int32_t a) {
                        const auto changed = static_cast<uint32_t>(a ^ (a >> 31));
                        return changed ? std::countl_zero(changed) : -1;
                      }),
      lanes<Uint, Uint, Uint>("v_bcnt_u32_b32", [](uint32_t a, uint32_t b) { return uint32_t(std::popcount(a)) + b; }),
      lanes<Uint, Uint, Uint>("v_lshlrev_b32", [](uint32_t a, uint32_t b) { return b << (a & 31); }),
      lanes<Uint, Uint, Uint>("v_lshrrev_b32", [](uint32_t a, uint32_t b) { return b >> (a & 31); }),
      lanes<Int, Uint, Int>("v_ashrrev_i32", [](uint32_t a, int32_t b) { return b >> (a & 31); }),
      lanes<Uint, Uint, Uint, Uint>(
          "v_bfe_u32", [](uint32_t a, uint32_t b, uint32_t c) { return (a >> (b & 31)) & ((1u << (c & 31)) - 1); }),
      lanes<Int, Uint, Uint, Uint>("v_bfe_i32",
                                   [](uint32_t a, uint32_t b, uint32_t c) {
                                     const unsigned count = c & 31, unused = 32 - count;
                                     const uint32_t field = static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31));
                                     return count ? static_cast<int32_t>(field << unused) >> unused : 0;
                                   }),
      lanes<Uint, Uint, Uint, Uint>("v_bfi_b32", [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); }),
      lanes<Uint, Uint, Uint>("v_bfm_b32", [](uint32_t a, uint32_t b) { return ((1u << (a & 31)) - 1) << (b & 31); }),
      lanes<Uint, Uint, Uint, Uint>(
          "v_alignbit_b32",
          [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t((uint64_t(a) << 32 | b) >> (c & 31)); }),
      lanes<Uint, Uint, Uint, Uint>(
          "v_alignbyte_b32",
          [](uint32_t a, uint32_t b, uint32_t c) { return uint32_t((uint64_t(a) << 32 | b) >> (8 * (c & 3))); }),
      lanes<Uint, Uint, Uint, Uint>("v_perm_b32",
                                    [](uint32_t a, uint32_t b, uint32_t c) {
                                      uint32_t bytes = 0;
                                      for (unsigned shift = 0; shift < 32; shift += 8)
                                        bytes |= permutedByte(a, b, c >> shift & 0xff) << shift;
                                      return bytes;
                                    }),
      // 64 bits
      lanes<Ulong, Ulong, Uint, Ulong>("v_lshl_add_u64",
                                       [](uint64_t a, uint32_t b, uint64_t c) { return (a << (b & 7)) + c; }),
      lanes<Ulong, Uint, Ulong>("v_lshlrev_b64", [](uint32_t a, uint64_t b) { return b << (a & 63); }),
      lanes<Ulong, Uint, Ulong>("v_lshrrev_b64", [](uint32_t a, uint64_t b) { return b >> (a & 63); }),
      lanes<Long, Uint, Long>("v_ashrrev_i64", [](uint32_t a, int64_t b) { return b >> (a & 63); }),
      // 16 bits
      sum<uint16_t, false>("v_add_nc_u16 v_add_u16"),
      sum<uint16_t, true>("v_sub_nc_u16 v_sub_u16"),
      sum<uint16_t, true, true>("v_subrev_u16"),
      sum<int16_t, false>("v_add_nc_i16 v_add_i16"),
      sum<int16_t, true>("v_sub_nc_i16 v_sub_i16"),
      lanes<Ushort, Ushort, Ushort>("v_mul_lo_u16",
                                    [](uint16_t a, uint16_t b) { return static_cast<uint16_t>(uint32_t(a) * b); }),
      lanes<Ushort, Ushort, Ushort, Ushort>(
          "v_mad_u16", [](uint16_t a, uint16_t b, uint16_t c) { return static_cast<uint16_t>(uint32_t(a) * b + c); }),
      lanes<Ushort, Ushort, Ushort, Ushort>(
          "v_mad_legacy_u16",
          [](uint16_t a, uint16_t b, uint16_t c) { return static_cast<uint16_t>(uint32_t(a) * b + c); }),
      lanes<Short, Short, Short, Short>(
          "v_mad_i16", [](int16_t a, int16_t b, int16_t c) { return static_cast<int16_t>(a * b + c); }),
      lanes<Ushort, Ushort, Ushort>("v_and_b16", [](uint16_t a, uint16_t b) { return uint16_t(a & b); }),
      lanes<Ushort, Ushort, Ushort>("v_or_b16", [](uint16_t a, uint16_t b) { return uint16_t(a | b); }),
      lanes<Ushort, Ushort, Ushort>("v_xor_b16", [](uint16_t a, uint16_t b) { return uint16_t(a ^ b); }),
      lanes<Ushort, Ushort>("v_not_b16", [](uint16_t a) { return uint16_t(~a); }),
      lanes<Ushort, Ushort, Ushort>("v_lshlrev_b16", [](uint16_t a, uint16_t b) { return uint16_t(b << (a & 15)); }),
      lanes<Ushort, Ushort, Ushort>("v_lshrrev_b16", [](uint16_t a, uint16_t b) { return uint16_t(b >> (a & 15)); }),
      lanes<Short, Ushort, Short>("v_ashrrev_i16", [](uint16_t a, int16_t b) { return int16_t(b >> (a & 15)); }),
      lanes<Ushort, Ushort, Ushort>("v_min_u16", [](uint16_t a, uint16_t b) { return std::min(a, b); }),
      lanes<Ushort, Ushort, Ushort>("v_max_u16", [](uint16_t a, uint16_t b) { return std::max(a, b); }),
      lanes<Short, Short, Short>("v_min_i16", [](int16_t a, int16_t b) { return std::min(a, b); }),
      lanes<Short, Short, Short>("v_max_i16", [](int16_t a, int16_t b) { return std::max(a, b); }),
      lanes<Ushort, Ushort, Ushort, Ushort>("v_min3_u16",
                                            [](uint16_t a, uint16_t b, uint16_t c) { return std::min({a, b, c}); }),
      lanes<Ushort, Ushort, Ushort, Ushort>("v_max3_u16",
                                            [](uint16_t a, uint16_t b, uint16_t c) { return std::max({a, b, c}); }),
      lanes<Short, Short, Short, Short>("v_min3_i16",
                                        [](int16_t a, int16_t b, int16_t c) { return std::min({a, b, c}); }),
      lanes<Short, Short, Short, Short>("v_max3_i16",
                                        [](int16_t a, int16_t b, int16_t c) { return std::max({a, b, c}); }),
      lanes<Short, Short, Short, Short>("v_med3_i16",
                                        [](int16_t a, int16_t b, int16_t c) { return middleOf(a, b, c); }),
      lanes<Uint, HalfBits, HalfBits>("v_pack_b32_f16", [](uint16_t a, uint16_t b) { return a | uint32_t(b) << 16; }),
      lanes<Int, Short>("v_cvt_i32_i16", [](int16_t a) { return int32_t(a); }),
      lanes<Uint, Ushort>("v_cvt_u32_u16", [](uint16_t a) { return uint32_t(a); }),
  };
  for (Operation &operation : list)
    for (std::string_view name :
         {"v_mad_u16", "v_mad_i16", "v_min3_u16", "v_max3_u16", "v_min3_i16", "v_max3_i16", "v_med3_i16"})
      operation.keepsHalf |= operation.name == name;
  return list;
}

} // namespace vx::rocm_emulator

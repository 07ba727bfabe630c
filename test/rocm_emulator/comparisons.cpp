// v_cmp_* and v_cmpx_*.
#include "lanes.h"
#include "operations.h"

#include <deque>

namespace vx::rocm_emulator {

namespace {

// A bit for each lane that takes part; v_cmpx_* makes EXEC of it as well.
void finish(Wave &wave, const Instruction &instruction, const Vector &holds, bool writesExec) {
  uint64_t mask = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    mask |= uint64_t(holds[lane]) << lane;
  mask &= wave.exec();
  if (instruction.modifiers.permutation != Permutation::None)
    throw Fault("a permutation is not known of it");
  writeLaneMask(wave, instruction.operands[0], mask);
  if (writesExec)
    wave.setLaneMask(execRegister, mask);
}

// Compiled once for both: there are many of them.
template <typename F, typename A, typename B>
[[gnu::noinline]] void compareLanes(Wave &wave, const Instruction &instruction, bool writesExec) {
  Vector scratch[2][2];
  const Source a = read(wave, instruction, 1, 0, A::words, scratch[0]),
               b = read(wave, instruction, 2, 1, B::words, scratch[1]);
  Vector holds;
  {
    auto compare = [&] {
      for (unsigned lane = 0; lane < wave.lanes; ++lane)
        holds[lane] = F{}(A::get((*a.word[0])[lane], A::words == 2 ? (*a.word[1])[lane] : 0),
                          B::get((*b.word[0])[lane], B::words == 2 ? (*b.word[1])[lane] : 0));
    };
    if constexpr (A::type == Type::F32) {
      Denormals32 denormals(wave);
      compare();
    } else {
      compare();
    }
  }
  finish(wave, instruction, holds, writesExec);
}

template <typename F, typename A, typename B, bool writesExec>
void runComparison(Wave &wave, const Instruction &instruction) {
  compareLanes<F, A, B>(wave, instruction, writesExec);
}

// Names outlive the list.
std::string_view kept(std::string name) {
  static auto &names = *new std::deque<std::string>();
  names.push_back(std::move(name));
  return names.back();
}

template <typename A, typename B = A, typename F>
void add(std::vector<Operation> &list, const std::string &name, F) {
  const uint32_t takes = TakesSdwa | (A::isFloating ? TakesNegate | TakesClamp : 0U) | (A::isHalf ? TakesSelect : 0U);
  const std::array<Type, 6> types = {Type::None, A::type, B::type};
  list.push_back({kept("v_cmp_" + name), &runComparison<F, A, B, false>, takes & ~TakesClamp, types});
  list.push_back({kept("v_cmpx_" + name), &runComparison<F, A, B, true>, takes & ~TakesClamp, types});
}

template <typename A>
void addFloats(std::vector<Operation> &list, const std::string &type) {
  add<A>(list, "f_" + type, [](auto, auto) { return false; });
  add<A>(list, "lt_" + type, [](auto a, auto b) { return a < b; });
  add<A>(list, "eq_" + type, [](auto a, auto b) { return a == b; });
  add<A>(list, "le_" + type, [](auto a, auto b) { return a <= b; });
  add<A>(list, "gt_" + type, [](auto a, auto b) { return a > b; });
  add<A>(list, "lg_" + type, [](auto a, auto b) { return a < b || a > b; });
  add<A>(list, "ge_" + type, [](auto a, auto b) { return a >= b; });
  add<A>(list, "o_" + type, [](auto a, auto b) { return a == a && b == b; });
  add<A>(list, "u_" + type, [](auto a, auto b) { return a != a || b != b; });
  // The opposites are true of what cannot be compared.
  add<A>(list, "nge_" + type, [](auto a, auto b) { return !(a >= b); });
  add<A>(list, "nlg_" + type, [](auto a, auto b) { return !(a < b || a > b); });
  add<A>(list, "ngt_" + type, [](auto a, auto b) { return !(a > b); });
  add<A>(list, "nle_" + type, [](auto a, auto b) { return !(a <= b); });
  add<A>(list, "neq_" + type, [](auto a, auto b) { return !(a == b); });
  add<A>(list, "nlt_" + type, [](auto a, auto b) { return !(a < b); });
}

template <typename A>
void addIntegers(std::vector<Operation> &list, const std::string &type) {
  add<A>(list, "f_" + type, [](auto, auto) { return false; });
  add<A>(list, "lt_" + type, [](auto a, auto b) { return a < b; });
  add<A>(list, "eq_" + type, [](auto a, auto b) { return a == b; });
  add<A>(list, "le_" + type, [](auto a, auto b) { return a <= b; });
  add<A>(list, "gt_" + type, [](auto a, auto b) { return a > b; });
  add<A>(list, "ne_" + type, [](auto a, auto b) { return a != b; });
  add<A>(list, "ge_" + type, [](auto a, auto b) { return a >= b; });
  add<A>(list, "t_" + type, [](auto, auto) { return true; });
}

} // namespace

std::vector<Operation> comparisons() {
  std::vector<Operation> list;
  addFloats<Float>(list, "f32");
  addFloats<Double>(list, "f64");
  addFloats<Half>(list, "f16");
  addIntegers<Int>(list, "i32");
  addIntegers<Uint>(list, "u32");
  addIntegers<Short>(list, "i16");
  addIntegers<Ushort>(list, "u16");
  addIntegers<Long>(list, "i64");
  addIntegers<Ulong>(list, "u64");
  add<FloatBits, Uint>(list, "class_f32", [](uint32_t a, uint32_t b) { return (classOf<float>(a, 23) & b) != 0; });
  add<DoubleBits, Uint>(list, "class_f64", [](uint64_t a, uint32_t b) { return (classOf<double>(a, 52) & b) != 0; });
  add<HalfBits, Uint>(list, "class_f16", [](uint16_t a, uint32_t b) { return (classOf<float>(a, 10) & b) != 0; });
  return list;
}

} // namespace vx::rocm_emulator

// What moves values between lanes, and between lanes and scalars.
#include "lanes.h"
#include "operations.h"

namespace vx::rocm_emulator {

namespace {

void readFirstLane(Wave &wave, const Instruction &instruction) {
  const uint64_t exec = wave.exec();
  const Operand &source = instruction.operands[1];
  const unsigned lane = exec ? static_cast<unsigned>(std::countr_zero(exec)) : 0;
  writeScalar(wave, instruction.operands[0],
              source.kind == Operand::VectorRegister ? wave.v[source.index][lane] : readScalar(wave, source));
}

void readLane(Wave &wave, const Instruction &instruction) {
  const unsigned lane = readScalar(wave, instruction.operands[2]) & (wave.lanes - 1);
  const Operand &source = instruction.operands[1];
  writeScalar(wave, instruction.operands[0],
              source.kind == Operand::VectorRegister ? wave.v[source.index][lane] : readScalar(wave, source));
}

// In any lane, whether it takes part or not.
void writeLane(Wave &wave, const Instruction &instruction) {
  const unsigned lane = readScalar(wave, instruction.operands[2]) & (wave.lanes - 1);
  wave.v[instruction.operands[0].index][lane] = readScalar(wave, instruction.operands[1]);
}

// The bits of S0 below the lane's own, from `first` on, and S1.
template <unsigned first>
void countBelow(Wave &wave, const Instruction &instruction) {
  Vector scratch[2][2], result[1];
  const Source a = read(wave, instruction, 1, 0, 1, scratch[0]), b = read(wave, instruction, 2, 1, 1, scratch[1]);
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const uint64_t below = (uint64_t(1) << lane) - 1;
    result[0][lane] = static_cast<uint32_t>(std::popcount((*a.word[0])[lane] & static_cast<uint32_t>(below >> first))) +
                      (*b.word[0])[lane];
  }
  write(wave, instruction, result, 1, false);
}

// Each lane of a row of 16 reads any lane of its row, or of the other row of its two.
template <bool isOtherRow>
void permuteRows(Wave &wave, const Instruction &instruction) {
  const Vector before = wave.v[instruction.operands[1].index];
  const uint64_t selects =
      uint64_t(readScalar(wave, instruction.operands[3])) << 32 | readScalar(wave, instruction.operands[2]);
  const uint64_t exec = wave.exec();
  const bool fetchesInactive = instruction.modifiers.select & 1, boundControl = instruction.modifiers.select & 2;
  uint64_t written = exec;
  Vector result[1];
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const unsigned row = (lane & ~15u) ^ (isOtherRow ? 16u : 0u);
    const unsigned from = row + (selects >> (lane % 16 * 4) & 15);
    const bool isGiven = fetchesInactive || (exec >> from & 1);
    result[0][lane] = isGiven ? before[from] : 0;
    if (!isGiven && !boundControl)
      written &= ~(uint64_t(1) << lane);
  }
  Vector &destination = wave.v[instruction.operands[0].index];
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (written >> lane & 1)
      destination[lane] = result[0][lane];
}

// Each lane reads the value of the lane that its address, in bytes, tells.
void bpermute(Wave &wave, const Instruction &instruction) {
  const Vector &address = wave.v[instruction.operands[1].index];
  const Vector &value = wave.v[instruction.operands[2].index];
  const uint64_t exec = wave.exec();
  Vector result[1];
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const uint32_t from = (address[lane] + static_cast<uint32_t>(instruction.modifiers.offset)) / 4 & (wave.lanes - 1);
    // A lane that is switched off gives 0.
    result[0][lane] = exec >> from & 1 ? value[from] : 0;
  }
  write(wave, instruction, result, 1, false);
}

// ... and here each lane gives its value to the lane that its address tells; the last one stays.
void permute(Wave &wave, const Instruction &instruction) {
  const Vector &address = wave.v[instruction.operands[1].index];
  const Vector &value = wave.v[instruction.operands[2].index];
  const uint64_t exec = wave.exec();
  Vector result[1];
  result[0].lane.fill(0);
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    if (exec >> lane & 1)
      result[0][(address[lane] + static_cast<uint32_t>(instruction.modifiers.offset)) / 4 & (wave.lanes - 1)] =
          value[lane];
  write(wave, instruction, result, 1, false);
}

} // namespace

std::vector<Operation> crossLaneOperations() {
  return {
      {"v_readfirstlane_b32", readFirstLane, TakesNothing, {Type::None, Type::B32}},
      {"v_readlane_b32", readLane, TakesNothing, {Type::None, Type::B32, Type::B32}},
      {"v_writelane_b32", writeLane, TakesNothing, {Type::None, Type::B32, Type::B32}},
      {"v_mbcnt_lo_u32_b32", countBelow<0>, TakesNothing, {Type::None, Type::B32, Type::B32}},
      {"v_mbcnt_hi_u32_b32", countBelow<32>, TakesNothing, {Type::None, Type::B32, Type::B32}},
      {"v_permlane16_b32", permuteRows<false>, TakesSelect, {Type::None, Type::None, Type::B32, Type::B32}},
      {"v_permlanex16_b32", permuteRows<true>, TakesSelect, {Type::None, Type::None, Type::B32, Type::B32}},
      {"ds_bpermute_b32", bpermute, TakesOffset, {Type::None, Type::None, Type::None}},
      {"ds_permute_b32", permute, TakesOffset, {Type::None, Type::None, Type::None}},
  };
}

} // namespace vx::rocm_emulator

#include "lanes.h"

namespace vx::rocm_emulator {

//===-- Scalars -------------------------------------------------------------------------------===//

uint64_t readScalar64(const Wave &wave, const Operand &operand) {
  switch (operand.kind) {
  case Operand::Constant:
    return operand.value;
  case Operand::ScalarRegister:
    return operand.words == 1 ? wave.s[operand.index] : wave.pair(operand.index);
  case Operand::Scc:
    return wave.scc;
  case Operand::Null:
    return 0;
  default:
    throw Fault("'" + operand.text + "' is no scalar");
  }
}

uint32_t readScalar(const Wave &wave, const Operand &operand) {
  return static_cast<uint32_t>(readScalar64(wave, operand));
}

void writeScalar(Wave &wave, const Operand &operand, uint32_t value) {
  if (operand.kind == Operand::ScalarRegister)
    wave.s[operand.index] = value;
  else if (operand.kind != Operand::Null)
    throw Fault("'" + operand.text + "' cannot be written");
}

void writeScalar64(Wave &wave, const Operand &operand, uint64_t value) {
  if (operand.kind == Operand::ScalarRegister)
    wave.setPair(operand.index, value);
  else if (operand.kind != Operand::Null)
    throw Fault("'" + operand.text + "' cannot be written");
}

uint64_t readLaneMask(const Wave &wave, const Operand &operand) {
  if (operand.kind == Operand::ScalarRegister)
    return wave.laneMask(operand.index);
  return readScalar64(wave, operand) & wave.allLanes();
}

void writeLaneMask(Wave &wave, const Operand &operand, uint64_t value) {
  if (operand.kind == Operand::ScalarRegister)
    wave.setLaneMask(operand.index, value);
  else if (operand.kind != Operand::Null)
    throw Fault("'" + operand.text + "' cannot be written");
}

//===-- Permutations --------------------------------------------------------------------------===//

// The lane that each lane reads, or -1.
static int sourceLane(const Modifiers &modifiers, int lane) {
  const int row = lane & ~15, place = lane & 15, argument = modifiers.permutationArgument;
  switch (modifiers.permutation) {
  case Permutation::None:
    return lane;
  case Permutation::Quad:
    return (lane & ~3) + modifiers.lanes[lane & 3];
  case Permutation::RowShiftLeft:
    return place + argument < 16 ? lane + argument : -1;
  case Permutation::RowShiftRight:
    return place >= argument ? lane - argument : -1;
  case Permutation::RowRotate:
    return row + ((place - argument) & 15);
  case Permutation::RowMirror:
    return row + 15 - place;
  case Permutation::RowHalfMirror:
    return (lane & ~7) + 7 - (lane & 7);
  case Permutation::RowBroadcast15:
    return row > 0 ? row - 1 : -1;
  case Permutation::RowBroadcast31:
    return lane >= 32 ? 31 : -1;
  case Permutation::RowShare:
    return row + argument;
  case Permutation::RowExchange:
    return row + (place ^ argument);
  case Permutation::Eight:
    return (lane & ~7) + modifiers.lanes[lane & 7];
  }
  return -1;
}

// A lane that is switched off gives nothing, unless the instruction fetches it all the same.
static bool gives(const Wave &wave, const Modifiers &modifiers, int lane) {
  return lane >= 0 && (modifiers.fetchInactive || (wave.exec() >> lane & 1));
}

uint64_t permutedLanes(Wave &wave, const Instruction &instruction) {
  const Modifiers &modifiers = instruction.modifiers;
  uint64_t written = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const bool isSelected = (modifiers.rowMask >> (lane / 16) & 1) && (modifiers.bankMask >> (lane % 16 / 4) & 1);
    const bool isGiven = modifiers.boundControl || modifiers.permutation == Permutation::Eight ||
                         gives(wave, modifiers, sourceLane(modifiers, static_cast<int>(lane)));
    written |= uint64_t(isSelected && isGiven) << lane;
  }
  return written;
}

//===-- Reading -------------------------------------------------------------------------------===//

static uint32_t partOf(uint32_t word, Part part, bool signExtend) {
  const auto index = static_cast<unsigned>(part);
  if (part == Part::All)
    return word;
  if (part >= Part::Word0) {
    const auto half = static_cast<uint16_t>(word >> (part == Part::Word1 ? 16 : 0));
    return signExtend ? static_cast<uint32_t>(static_cast<int16_t>(half)) : half;
  }
  const auto byte = static_cast<uint8_t>(word >> (8 * index));
  return signExtend ? static_cast<uint32_t>(static_cast<int8_t>(byte)) : byte;
}

Source readSlowly(Wave &wave, const Instruction &instruction, unsigned operand, unsigned source, unsigned words,
                  Vector (&scratch)[2]) {
  const Operand &op = instruction.operands[operand];
  const Modifiers &modifiers = instruction.modifiers;
  const bool isPermuted = source == 0 && modifiers.permutation != Permutation::None;
  for (unsigned k = 0; k < words; ++k) {
    switch (op.kind) {
    case Operand::VectorRegister:
      scratch[k] = wave.v[op.index + k];
      break;
    case Operand::Constant:
      scratch[k] = *op.constant[k];
      break;
    default: {
      const uint64_t value = readScalar64(wave, op);
      scratch[k].lane.fill(static_cast<uint32_t>(value >> (32 * k)));
    }
    }
    if (isPermuted) {
      const Vector before = scratch[k];
      for (unsigned lane = 0; lane < wave.lanes; ++lane) {
        const int from = sourceLane(modifiers, static_cast<int>(lane));
        scratch[k][lane] = gives(wave, modifiers, from) ? before[from] : 0;
      }
    }
  }
  if (modifiers.isSdwa && source < 2)
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      scratch[0][lane] = partOf(scratch[0][lane], modifiers.sdwaSource[source], op.signExtend);
  if (op.half == 2)
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      scratch[0][lane] >>= 16;
  const unsigned last = op.type == Type::F64 ? 1 : 0;
  const uint32_t sign = op.type == Type::F16 || op.type == Type::BF16 ? 0x8000 : 0x80000000;
  const uint32_t keep = op.absolute ? ~sign : ~0u, flip = op.negate ? sign : 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane)
    scratch[last][lane] = (scratch[last][lane] & keep) ^ flip;
  return {{&scratch[0], &scratch[1]}};
}

//===-- Writing -------------------------------------------------------------------------------===//

void writeSlowly(Wave &wave, const Instruction &instruction, const Vector *result, unsigned words, bool isHalf) {
  const Operand &op = instruction.operands[0];
  const Modifiers &modifiers = instruction.modifiers;
  if (op.kind != Operand::VectorRegister)
    throw Fault("'" + op.text + "' is no vector register");
  uint64_t written = wave.exec();
  if (modifiers.permutation != Permutation::None)
    written &= permutedLanes(wave, instruction);
  for (unsigned k = 0; k < words; ++k) {
    Vector &destination = wave.v[op.index + k];
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      if (!(written >> lane & 1))
        continue;
      uint32_t value = result[k][lane];
      const uint32_t before = destination[lane];
      if (modifiers.isSdwa && modifiers.sdwaDestination != Part::All) {
        const Part part = modifiers.sdwaDestination;
        const bool isWord = part >= Part::Word0;
        const unsigned shift = isWord ? (part == Part::Word1 ? 16 : 0) : 8 * static_cast<unsigned>(part);
        const uint32_t mask = (isWord ? 0xffffu : 0xffu) << shift;
        uint32_t rest = modifiers.sdwaPreserve ? before & ~mask : 0;
        if (modifiers.sdwaSignExtend && (value >> (isWord ? 15 : 7) & 1))
          rest = ~mask & ~(mask | (mask - 1)) ? ~(mask | ((1u << shift) - 1)) : 0;
        value = (value << shift & mask) | rest;
      } else if (isHalf && !modifiers.isSdwa) {
        if (op.half == 2)
          value = (before & 0xffff) | value << 16;
        else if (instruction.keepsOtherHalf)
          value = (before & 0xffff0000) | (value & 0xffff);
      }
      destination[lane] = value;
    }
  }
}

} // namespace vx::rocm_emulator

// Code to instructions, through the text of LLVM's disassembler.
#ifndef VX_TEST_ROCM_EMULATOR_DECODER_H
#define VX_TEST_ROCM_EMULATOR_DECODER_H

#include "wave.h"

#include <span>

namespace vx::rocm_emulator {

struct Chip {
  std::string_view name;
  Generation generation;
  const char *features; // of the disassembler
};

// Null when it is not one that is emulated.
const Chip *findChip(std::string_view name);
std::span<const Chip> knownChips();

struct RegisterCounts {
  unsigned lanes = 0;
  unsigned vectors = 0;         // of both files
  unsigned accumulatorBase = 0; // a0 is this vector register
};

// Decodes the code of one kernel, which lies at `address`. Throws a Fault that names each instruction that is not
// known.
Program decode(const Chip &chip, std::span<const uint8_t> code, uint64_t address, const RegisterCounts &registers);

} // namespace vx::rocm_emulator

#endif

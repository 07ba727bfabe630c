// One wavefront that runs a few lines of assembly, for tests.
#ifndef VX_TEST_ROCM_EMULATOR_MACHINE_H
#define VX_TEST_ROCM_EMULATOR_MACHINE_H

#include "launch.h"
#include "numbers.h"
#include "waits.h"

namespace vx::rocm_emulator {

// The code of a text. Throws a Fault with the assembler's words.
std::vector<uint8_t> assemble(const Chip &chip, const std::string &text);

class Machine {
public:
  explicit Machine(std::string_view chipName)
      : chip(*findChip(chipName)), registers{chip.generation == Generation::Gfx11 ? 32u : 64u, 128,
                                             chip.generation == Generation::Gfx11 ? 0u : 96u},
        group{memory, std::vector<uint8_t>(256), {}}, wave(group, chip.generation, registers.lanes, registers.vectors) {
    for (Vector &vector : wave.v)
      vector.lane.fill(0);
    wave.mode = modeDenormals32 | modeDenormals64;
    wave.setLaneMask(execRegister, wave.allLanes());
  }

  // Runs all of it, to its end.
  Machine &run(const std::string &text) {
    const std::vector<uint8_t> code = assemble(chip, text + "\ns_endpgm\n");
    program = decode(chip, code, 0, registers);
    group.recent.assign(program.instructions.size(), {});
    wave.at = 0;
    wave.isDone = false;
    while (!wave.isDone)
      runNext(wave, program);
    return *this;
  }

  // The same under the rules of waits.h.
  Machine &runWaiting(const std::string &text) {
    const std::vector<uint8_t> code = assemble(chip, text + "\ns_endpgm\n");
    program = decode(chip, code, 0, registers);
    group.recent.assign(program.instructions.size(), {});
    const std::vector<MemoryUse> uses = memoryUses(program);
    Waits waits(chip.generation);
    wave.at = 0;
    wave.isDone = false;
    while (!wave.isDone) {
      waits.run(program.instructions[wave.at], uses[wave.at]);
      runNext(wave, program);
    }
    return *this;
  }

  // Register `index` of each lane.
  template <typename F>
  void fill(unsigned index, F &&function) {
    for (unsigned lane = 0; lane < wave.lanes; ++lane)
      wave.v[index][lane] = bits(function(lane));
  }
  template <typename F>
  void fillPair(unsigned index, F &&function) {
    for (unsigned lane = 0; lane < wave.lanes; ++lane) {
      const auto value = std::bit_cast<uint64_t>(function(lane));
      wave.v[index][lane] = static_cast<uint32_t>(value);
      wave.v[index + 1][lane] = static_cast<uint32_t>(value >> 32);
    }
  }
  uint32_t word(unsigned index, unsigned lane = 0) const { return wave.v[index][lane]; }
  float number(unsigned index, unsigned lane = 0) const { return std::bit_cast<float>(word(index, lane)); }
  double wide(unsigned index, unsigned lane = 0) const { return std::bit_cast<double>(quad(index, lane)); }
  uint64_t quad(unsigned index, unsigned lane = 0) const {
    return word(index, lane) | uint64_t(word(index + 1, lane)) << 32;
  }

  const Chip &chip;
  const RegisterCounts registers;
  Memory memory;
  Workgroup group;
  Wave wave;
  Program program;

private:
  static uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
  static uint32_t bits(uint32_t value) { return value; }
  static uint32_t bits(int value) { return static_cast<uint32_t>(value); }
};

} // namespace vx::rocm_emulator

#endif

// The state of one wavefront and of its workgroup.
#ifndef VX_TEST_ROCM_EMULATOR_WAVE_H
#define VX_TEST_ROCM_EMULATOR_WAVE_H

#include "instruction.h"
#include "memory.h"

#include <cstring>

namespace vx::rocm_emulator {

enum class Generation : uint8_t { Gfx9, Gfx11 };

struct Workgroup {
  const Memory &memory;
  std::vector<uint8_t> shared;
  // The piece of memory that each instruction touched last.
  std::vector<Memory::Range> recent;
};

// Fields of the MODE register.
constexpr uint32_t modeRound32 = 0x3, modeRound64 = 0xc, modeDenormals32 = 0x30, modeDenormals64 = 0xc0;

class Wave {
public:
  Wave(Workgroup &group, Generation generation, unsigned lanes, unsigned vectorRegisters)
      : group(group), generation(generation), lanes(lanes), v(vectorRegisters) {}

  uint64_t pair(unsigned index) const { return s[index] | uint64_t(s[index + 1]) << 32; }
  void setPair(unsigned index, uint64_t value) {
    s[index] = static_cast<uint32_t>(value);
    s[index + 1] = static_cast<uint32_t>(value >> 32);
  }
  // A mask with a bit for each lane, from one or two registers.
  uint64_t laneMask(unsigned index) const { return lanes == 64 ? pair(index) : s[index]; }
  void setLaneMask(unsigned index, uint64_t value) {
    if (lanes == 64)
      setPair(index, value);
    else
      s[index] = static_cast<uint32_t>(value);
  }
  uint64_t allLanes() const { return lanes == 64 ? ~uint64_t(0) : 0xffffffffu; }
  uint64_t exec() const { return laneMask(execRegister); }

  // All bits of an element are set for a lane that takes part.
  const Vector &active() {
    if (const uint64_t now = exec(); now != activeOf) {
      activeOf = now;
      activeLanes = spread(now);
    }
    return activeLanes;
  }
  static Vector spread(uint64_t mask) {
    Vector vector;
    for (unsigned lane = 0; lane < maxLanes; ++lane)
      vector[lane] = (mask >> lane & 1) ? ~0u : 0u;
    return vector;
  }

  Workgroup &group;
  const Generation generation;
  const unsigned lanes;
  std::vector<Vector> v;
  std::array<uint32_t, scalarRegisters> s{};
  uint32_t privateBytes = 0;          // of each lane
  std::vector<uint8_t> privateMemory; // one lane after the other
  bool scc = false;
  uint32_t mode = 0;
  uint32_t at = 0; // index of the next instruction
  bool isDone = false, atBarrier = false;

private:
  uint64_t activeOf = 0;
  Vector activeLanes{};
};

// Scalar operands.
uint32_t readScalar(const Wave &wave, const Operand &operand);
uint64_t readScalar64(const Wave &wave, const Operand &operand);
void writeScalar(Wave &wave, const Operand &operand, uint32_t value);
void writeScalar64(Wave &wave, const Operand &operand, uint64_t value);
// One bit for each lane.
uint64_t readLaneMask(const Wave &wave, const Operand &operand);
void writeLaneMask(Wave &wave, const Operand &operand, uint64_t value);

} // namespace vx::rocm_emulator

#endif

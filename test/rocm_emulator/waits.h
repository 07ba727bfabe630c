// What memory operations leave under way: a register that one of them writes may be touched only behind the s_waitcnt
// that waits for it.
#ifndef VX_TEST_ROCM_EMULATOR_WAITS_H
#define VX_TEST_ROCM_EMULATOR_WAITS_H

#include "instruction.h"
#include "wave.h"

#include <deque>

namespace vx::rocm_emulator {

// What an instruction is to the counters, once for each of a program.
struct MemoryUse {
  enum Kind : uint8_t { None, VectorLoad, VectorStore, Shared, Scalar, Wait, Barrier };
  // More than any counter holds: not waited for.
  static constexpr uint8_t all = 255;

  Kind kind = None;
  bool hasResult = false;                         // the first operand
  uint8_t vector = all, store = all, other = all; // of a wait: how many may be left of vmcnt, vscnt and lgkmcnt
};

std::vector<MemoryUse> memoryUses(const Program &program);

// The operations under way of one wavefront.
class Waits {
public:
  explicit Waits(Generation generation) : generation(generation) {}

  // Before an instruction runs. Throws a Fault for a register whose value has not been waited for, and for a barrier
  // that accesses of workgroup memory have not been waited for at.
  void run(const Instruction &instruction, const MemoryUse &use);

private:
  enum Counter : uint8_t { VectorCount, StoreCount, OtherCount };
  struct Pending {
    Counter counter;
    MemoryUse::Kind kind;
    bool isScalar;
    uint16_t first, count; // registers; none for a store
    const Instruction *instruction;
  };

  void touch(const Instruction &instruction, const MemoryUse &use) const;
  void wait(Counter counter, unsigned left);

  const Generation generation;
  std::deque<Pending> pending; // the oldest first
};

} // namespace vx::rocm_emulator

#endif

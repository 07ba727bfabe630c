// Runs a kernel.
#ifndef VX_TEST_ROCM_EMULATOR_LAUNCH_H
#define VX_TEST_ROCM_EMULATOR_LAUNCH_H

#include "code_object.h"

namespace vx::rocm_emulator {

struct Size3 {
  uint32_t x = 1, y = 1, z = 1;
};

// Computes all workgroups of the grid, on as many threads as the machine has. `arguments` are the kernel's argument
// bytes. Throws a Fault with the kernel, the place in its code and the instruction.
void launch(const Kernel &kernel, Size3 grid, Size3 workgroup, std::span<const uint8_t> arguments, Memory &memory);

// Runs the next instruction of a wavefront, or two that are one.
void runNext(Wave &wave, const Program &program);

} // namespace vx::rocm_emulator

#endif

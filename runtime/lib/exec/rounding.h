// Numbers of f32 in narrower types, as kernels round them, and back.
#ifndef VX_RUNTIME_EXEC_ROUNDING_H
#define VX_RUNTIME_EXEC_ROUNDING_H

#include <cstdint>

namespace vx {

// To the nearest, ties to even; beyond the largest number to infinity.
uint16_t roundToF16(float value);
uint16_t roundToBF16(float value);

float widenF16(uint16_t bits);
float widenBF16(uint16_t bits);

} // namespace vx

#endif

// i64 arithmetic as programs and size expressions mean it: no wrapping, division that rounds as its name says.
#ifndef VX_RUNTIME_BASE_ARITHMETIC_H
#define VX_RUNTIME_BASE_ARITHMETIC_H

#include <cstdint>

namespace vx {

// Of bytes: the most there is where the sum is none.
inline uint64_t saturatingAdd(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

// Each answers false when the result is no i64: overflow or division by zero.
inline bool checkedAdd(int64_t a, int64_t b, int64_t &result) { return !__builtin_add_overflow(a, b, &result); }
inline bool checkedSub(int64_t a, int64_t b, int64_t &result) { return !__builtin_sub_overflow(a, b, &result); }
inline bool checkedMul(int64_t a, int64_t b, int64_t &result) { return !__builtin_mul_overflow(a, b, &result); }

inline bool checkedFloorDiv(int64_t a, int64_t b, int64_t &result) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  result = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  return true;
}

inline bool checkedCeilDiv(int64_t a, int64_t b, int64_t &result) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  result = a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0);
  return true;
}

// Has the sign of `b`: a == b * floorDiv(a, b) + mod(a, b).
inline bool checkedMod(int64_t a, int64_t b, int64_t &result) {
  if (b == 0)
    return false;
  if (b == -1) {
    result = 0;
    return true;
  }
  result = a % b;
  if (result != 0 && (result < 0) != (b < 0))
    result += b;
  return true;
}

} // namespace vx

#endif

// Predicates over two sizes, as functions and programs of a module state them.
#ifndef VX_RUNTIME_MODULE_PREDICATE_H
#define VX_RUNTIME_MODULE_PREDICATE_H

#include <cstddef>
#include <cstdint>

namespace vx {

// The numbers are those of the file; module.fbs says what each one means.
enum class PredicateKind : uint8_t { Equal, AtLeast, Multiple, Broadcast, Repeat, Differ };
inline constexpr size_t predicateKinds = 6;

inline bool holds(PredicateKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case PredicateKind::Equal:
    return a == b;
  case PredicateKind::AtLeast:
    return a >= b;
  case PredicateKind::Multiple: // the remainder of the least number by -1 is none
    return b == 0 ? a == 0 : b == -1 || a % b == 0;
  case PredicateKind::Broadcast:
    return a == b || a == 1 || b == 1;
  case PredicateKind::Repeat:
    return a == b || a == 1;
  case PredicateKind::Differ:
    return a != b;
  }
  return false;
}

inline const char *predicateName(PredicateKind kind) {
  static const char *const names[predicateKinds] = {"equal", "at_least", "multiple", "broadcast", "repeat", "differ"};
  return names[static_cast<size_t>(kind)];
}

} // namespace vx

#endif

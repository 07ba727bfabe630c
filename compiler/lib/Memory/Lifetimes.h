// When the buffers of a program are in use.
#ifndef VX_LIB_MEMORY_LIFETIMES_H
#define VX_LIB_MEMORY_LIFETIMES_H

#include "vx/Dialect/VXRT/IR/VXRTDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace vx {

/// Positions in program order, inclusive; none when `last` is before `first`.
struct Lifetime {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;

  bool overlaps(const Lifetime &other) const { return first <= other.last && other.first <= last; }
};

/// Whether `user` knows a buffer only for as long as it runs: a command or a read back. A list, loop or branch that a
/// buffer goes into may give it back under another name.
bool isBriefUse(mlir::Operation *user);

/// The positions of a program's operations.
class Lifetimes {
public:
  explicit Lifetimes(vxrt::ProgramOp program);

  int64_t getPosition(mlir::Operation *op) const { return begin.lookup(op); }

  /// From the first command that uses `buffer` to the last. What a loop's body uses but does not define is in use until
  /// the end of the loop. Not from the op that names the buffer: those stand before their segment.
  Lifetime get(mlir::Value buffer) const;

private:
  // A region op has a begin and an end.
  llvm::DenseMap<mlir::Operation *, int64_t> begin, end;
};

} // namespace vx

#endif

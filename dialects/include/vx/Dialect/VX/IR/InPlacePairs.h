// Which results of a kernel may lie where one of its operands lies.
#ifndef VX_DIALECT_VX_IR_INPLACEPAIRS_H
#define VX_DIALECT_VX_IR_INPLACEPAIRS_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// An operand of a kernel, by number, whose elements meet those of a result one to one: each is read before the
/// result's is written, so that both may have the same memory.
struct InPlacePair {
  int64_t operand = 0;
  int64_t result = 0;

  bool operator==(const InPlacePair &) const = default;
};

/// What the attribute `vx.in_place` of a kernel says: operand, result, operand, result, ...; none without it.
llvm::SmallVector<InPlacePair> getInPlacePairs(KernelOp kernel);

void setInPlacePairs(KernelOp kernel, llvm::ArrayRef<InPlacePair> pairs);

} // namespace vx

#endif

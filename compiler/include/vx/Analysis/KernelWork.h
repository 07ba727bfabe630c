// The operations and bytes of a kernel, for reports and benchmarks.
#ifndef VX_ANALYSIS_KERNELWORK_H
#define VX_ANALYSIS_KERNELWORK_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// The work of one dispatch of a kernel, over the kernel's symbols. It counts the ops, not their lowering: an element
/// that is computed twice, or a function that is a polynomial, counts once.
struct KernelWork {
  /// Floating-point operations. A multiply-add is two, any other arithmetic op one for each element; contractions and
  /// convolutions of integers count as those of floats, attention as if no key were masked. Moves, comparisons,
  /// selections and conversions are free.
  DimAttr flops;
  /// Bytes of the buffers, each read or written once. Of a table that is only gathered or sliced, the part that is
  /// read.
  DimAttr bytes;
};

/// `kernel` is of the `kernels` phase: its body holds vx ops on tensors of known sizes.
KernelWork countWork(KernelOp kernel);

} // namespace vx

#endif

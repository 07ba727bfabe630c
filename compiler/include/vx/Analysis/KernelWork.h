// How much a kernel computes and moves, for reports and benchmarks.
#ifndef VX_ANALYSIS_KERNELWORK_H
#define VX_ANALYSIS_KERNELWORK_H

#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

/// What one dispatch of a kernel does, over the kernel's symbols. It is what the ops ask for, not what a lowering makes
/// of them: an element that is computed twice, or a function that takes a polynomial, counts once.
struct KernelWork {
  /// Floating-point operations. A multiply-add is two, any other arithmetic op one for each element; contractions and
  /// convolutions of integers count as those of floats, attention as if no key were masked. Moves, comparisons,
  /// selections and conversions are free.
  DimAttr flops;
  /// Bytes of the buffers, each read or written once. Of a table that is gathered or sliced only, the part that is
  /// taken.
  DimAttr bytes;
};

/// `kernel` is of the `kernels` phase: its body holds vx ops on tensors of known sizes.
KernelWork countWork(KernelOp kernel);

} // namespace vx

#endif

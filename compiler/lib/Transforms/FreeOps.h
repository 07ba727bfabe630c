// Ops that each kernel computes anew where it reads them. Private to this folder.
#ifndef VX_LIB_TRANSFORMS_FREEOPS_H
#define VX_LIB_TRANSFORMS_FREEOPS_H

#include "mlir/IR/Operation.h"

namespace vx {

/// True for a part of the decoding of a weight of few bits, where only readers that decode read the weight.
bool isDecodedByReaders(mlir::Operation *op);

/// True for arithmetic on sizes and given numbers that makes one number: a kernel has it from the sizes that it is
/// called with. Read from memory it would have the kernel wait for another one.
bool isNumberOfSizes(mlir::Operation *op, unsigned depth = 4);

/// True when each kernel that needs the op computes it anew. Of constants that holds for a repeated number.
bool isFree(mlir::Operation *op);

} // namespace vx

#endif

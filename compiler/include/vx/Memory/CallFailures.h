// The ops that may end a call before it has changed a variable.
#ifndef VX_MEMORY_CALLFAILURES_H
#define VX_MEMORY_CALLFAILURES_H

#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

namespace vx {

/// True when `op`, of a program, may end the call with an error: a check, a wait for the device, memory that is short,
/// a size that is too large, a kernel that reports faults. A lost device is not one of them. For a loop or branch: when
/// an op in it may.
bool mayFailCall(mlir::Operation *op);

} // namespace vx

#endif

// Level 1 of `vx-choose-saved`: recomputes what is dear too, until the step fits a budget.
#ifndef VX_LIB_AUTODIFF_FITMEMORY_H
#define VX_LIB_AUTODIFF_FITMEMORY_H

#include "TrainStepParts.h"
#include "vx/Autodiff/SavedValues.h"

namespace vx {

/// Puts copies of ops of the forward part in front of their first readers in the reverse part, until the estimate of
/// the arena is at most `budget` bytes. Where nothing gets there it makes what has the least estimate. Adds to `report`
/// what is recomputed by that and what stays in memory.
void fitMemory(mlir::func::FuncOp function, const PlannedSizes &sizes, uint64_t budget, SavedReport &report);

} // namespace vx

#endif

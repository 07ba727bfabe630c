// Passes of the `schedule` phase.
#ifndef VX_CONVERSION_SCHEDULEPASSES_H
#define VX_CONVERSION_SCHEDULEPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Conversion/SchedulePasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "vx/Conversion/SchedulePasses.h.inc"

/// True for the ops that are allowed in a function that becomes a program. Thread-safe.
bool canBeScheduled(mlir::OperationName op);

} // namespace vx

#endif

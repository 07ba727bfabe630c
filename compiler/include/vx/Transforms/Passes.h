// Passes of the `import` and `graph` phases.
#ifndef VX_TRANSFORMS_PASSES_H
#define VX_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "vx/Transforms/Passes.h.inc"

} // namespace vx

#endif

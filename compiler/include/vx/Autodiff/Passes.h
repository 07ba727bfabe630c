// Passes that compute gradients: between the phases `import` and `grad`.
#ifndef VX_AUTODIFF_PASSES_H
#define VX_AUTODIFF_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VX/IR/VXDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Autodiff/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "vx/Autodiff/Passes.h.inc"

} // namespace vx

#endif

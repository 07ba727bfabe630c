// Passes that decide the positions of buffers.
#ifndef VX_MEMORY_PASSES_H
#define VX_MEMORY_PASSES_H

#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VXRT/IR/VXRTDialect.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "vx/Memory/Passes.h.inc"

} // namespace vx

#endif

// `-target=rocm`: each kernel as a code object, which the driver loads unchanged.
#ifndef VX_TARGET_ROCM_H
#define VX_TARGET_ROCM_H

#include "mlir/Pass/Pass.h"
#include "vx/Target/TargetBackend.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Target/ROCM/Passes.h.inc"

/// The backend. Immutable: all its functions may run in parallel, each on its own MLIRContext.
std::unique_ptr<TargetBackend> createROCMBackend();

/// The dialects that a context needs before `buildPipeline`'s passes or `serialize` run in it.
void registerROCMTargetDialects(mlir::DialectRegistry &registry);

/// From a kernel of memref, scf, arith and vxk ops to the LLVM dialect with ROCDL ops, for the GPU that `spec` names.
void buildROCMLoweringPipeline(mlir::OpPassManager &pm, const TargetSpec &spec);

/// Registers the passes of this target and the pipeline `vx-rocm-pipeline` (option `variant`). Thread-compatible.
void registerROCMPasses();

} // namespace vx

#endif

// `-target=cuda`: kernels as PTX text, which the driver assembles for its GPU.
#ifndef VX_TARGET_CUDA_H
#define VX_TARGET_CUDA_H

#include "mlir/Pass/Pass.h"
#include "vx/Target/TargetBackend.h"

namespace vx {

#define GEN_PASS_DECL
#include "vx/Target/CUDA/Passes.h.inc"

/// The backend. Immutable: all its functions may run in parallel, each on its own MLIRContext.
std::unique_ptr<TargetBackend> createCUDABackend();

/// The dialects that a context needs before `buildPipeline`'s passes or `serialize` run in it.
void registerCUDATargetDialects(mlir::DialectRegistry &registry);

/// From a kernel of memref, scf, arith and vxk ops to the LLVM dialect with NVVM ops.
void buildCUDALoweringPipeline(mlir::OpPassManager &pm);

/// Registers the passes of this target and the pipeline `vx-cuda-pipeline`. Thread-compatible.
void registerCUDAPasses();

} // namespace vx

#endif

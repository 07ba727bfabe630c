// `-target=cpu`: x86-64 code as linked ELF images without imports.
#ifndef VX_TARGET_LLVMCPU_CPUTARGET_H
#define VX_TARGET_LLVMCPU_CPUTARGET_H

#include "mlir/IR/DialectRegistry.h"
#include "vx/Target/TargetBackend.h"

namespace vx {

/// The backend. Immutable: all its functions may run in parallel, each on its own MLIRContext.
std::unique_ptr<TargetBackend> createCPUTarget();

/// Registers the dialects that the pipeline creates and their translation to LLVM IR. A context needs them before
/// `buildPipeline`'s passes or `serialize` run in it.
void registerCPUTargetDialects(mlir::DialectRegistry &registry);

} // namespace vx

#endif

// The GPUs that the ROCm target makes code for.
#ifndef VX_TARGET_ROCM_VARIANTS_H
#define VX_TARGET_ROCM_VARIANTS_H

#include "vx/Codegen/LLVMGPU.h"
#include "vx/Target/TargetBackend.h"

namespace vx::rocm {

mlir::FailureOr<std::vector<TargetSpec>> variants(llvm::ArrayRef<std::string> request, std::string &error);

/// Threads that run as one.
int64_t getWavefrontSize(const TargetSpec &spec);

/// What LLVM is asked for to make code for a variant.
MachineOptions getMachineOptions(const TargetSpec &spec, bool isAssembly);

} // namespace vx::rocm

#endif

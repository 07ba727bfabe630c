// The GPUs that the CUDA target makes code for.
#ifndef VX_TARGET_CUDA_VARIANTS_H
#define VX_TARGET_CUDA_VARIANTS_H

#include "vx/Codegen/LLVMGPU.h"
#include "vx/Target/TargetBackend.h"

namespace vx::cuda {

mlir::FailureOr<std::vector<TargetSpec>> variants(llvm::ArrayRef<std::string> request, std::string &error);

/// What LLVM is asked for to make PTX for a variant.
MachineOptions getMachineOptions(const TargetSpec &spec);

} // namespace vx::cuda

#endif

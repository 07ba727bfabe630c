// How fragments and asynchronous copies become NVVM ops.
#ifndef VX_TARGET_CUDA_FRAGMENTPATTERNS_H
#define VX_TARGET_CUDA_FRAGMENTPATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/PatternMatch.h"

namespace vx::cuda {

/// Fragments become vectors of a thread's registers; `cuda::getMachineOptions` knows no GPU without the instructions.
void populateFragmentConversion(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace vx::cuda

#endif

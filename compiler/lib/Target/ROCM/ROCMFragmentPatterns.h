// How fragments become ROCDL ops.
#ifndef VX_TARGET_ROCM_FRAGMENTPATTERNS_H
#define VX_TARGET_ROCM_FRAGMENTPATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/PatternMatch.h"

namespace vx::rocm {

/// For GPUs of this wavefront size: WMMA of RDNA 3 (32) or MFMA of CDNA (64).
void populateFragmentConversion(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns,
                                int64_t wavefront);

} // namespace vx::rocm

#endif

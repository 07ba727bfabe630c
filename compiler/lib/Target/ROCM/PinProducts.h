#ifndef VX_LIB_TARGET_ROCM_PINPRODUCTS_H
#define VX_LIB_TARGET_ROCM_PINPRODUCTS_H

#include "llvm/IR/Module.h"

namespace vx::rocm {

/// Keeps each product of fragments by WMMA in its block. It is one of a whole wavefront, but LLVM's back end moves one
/// whose result is only stored under a condition to there, where some lanes are switched off. (It keeps MFMA.)
void pinProducts(llvm::Module &code);

} // namespace vx::rocm

#endif

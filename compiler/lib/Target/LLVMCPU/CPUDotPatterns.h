#ifndef VX_LIB_TARGET_LLVMCPU_CPUDOTPATTERNS_H
#define VX_LIB_TARGET_LLVMCPU_CPUDOTPATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/PatternMatch.h"

namespace vx::cpu {

/// Patterns that convert `vxk.dot`, `vxk.lookup` and `vxk.scale`. See TargetSpec::hasByteDots.
void populateDotPatterns(const mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns, bool hasByteDots);

} // namespace vx::cpu

#endif

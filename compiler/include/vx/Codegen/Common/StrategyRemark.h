// The remark of code generation if it does not use the strategy that was chosen for a kernel.
#ifndef VX_CODEGEN_COMMON_STRATEGYREMARK_H
#define VX_CODEGEN_COMMON_STRATEGYREMARK_H

#include "llvm/ADT/StringRef.h"

namespace vx {

/// The category of the remark, one of those that were missed. Its name is the strategy that was asked for.
inline constexpr llvm::StringLiteral kStrategyRemark = "vx.strategy";
/// Its arguments: the name of the strategy that was used, and a sentence for users.
inline constexpr llvm::StringLiteral kTakenStrategy = "taken", kDeclineReason = "reason";

} // namespace vx

#endif

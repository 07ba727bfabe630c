// Passes of the phases from `import` to `optimised`.
#ifndef VX_TRANSFORMS_PASSES_H
#define VX_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "vx/Dialect/VX/IR/VXDialect.h"
#include <functional>

namespace vx {

#define GEN_PASS_DECL
#include "vx/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "vx/Transforms/Passes.h.inc"

/// The type to which factors of contractions and convolutions are rounded, as `--precision` spells it.
enum class Precision { F32, TF32, F16, BF16 };
/// Null for an unknown name.
std::optional<Precision> parsePrecision(llvm::StringRef name);

/// `vx-decompose` for the composite ops for which `isWanted` is true.
std::unique_ptr<mlir::Pass> createDecomposePass(std::function<bool(mlir::Operation *)> isWanted);

} // namespace vx

#endif

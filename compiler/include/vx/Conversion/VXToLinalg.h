// Conversion of kernels in the vx dialect to linalg.
#ifndef VX_CONVERSION_VXTOLINALG_H
#define VX_CONVERSION_VXTOLINALG_H

#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace vx {

std::unique_ptr<mlir::Pass> createConvertToLinalgPass();
std::unique_ptr<mlir::Pass> createVerifyNoEncodingPass();

/// True for the ops that kernels may hold. Thread-safe.
bool hasLoweringToLinalg(mlir::OperationName op);

/// Registers the passes of this component with the tools. Thread-compatible.
void registerVXToLinalgPasses();

} // namespace vx

#endif

#include "KernelLowering.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "vx/Conversion/VXToLinalg.h"

using namespace mlir;

namespace vx {
#define GEN_PASS_DEF_CONVERTTOLINALGPASS
#include "vx/Conversion/VXToLinalg/Passes.h.inc"

namespace {
struct ConvertToLinalgPass : impl::ConvertToLinalgPassBase<ConvertToLinalgPass> {
  void runOnOperation() override {
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      OpBuilder builder(kernel);
      KernelLowering lowering(builder);
      if (failed(lowering.run(kernel)))
        return signalPassFailure();
      kernel.erase();
    }
    // Their values are scalars of the kernels now.
    for (SymbolOp symbol : llvm::make_early_inc_range(getOperation().getOps<SymbolOp>()))
      symbol.erase();
  }
};
} // namespace

} // namespace vx

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/Pass.h"
#include "vx/Codegen/GPU.h"
#include "vx/Dialect/VXK/IR/VXKDialect.h"

namespace vx {
#define GEN_PASS_DEF_UNROLLSHORTLOOPSPASS
#include "vx/Codegen/GPU/Passes.h.inc"
} // namespace vx

using namespace mlir;

namespace vx {
namespace {

struct UnrollShortLoops : impl::UnrollShortLoopsPassBase<UnrollShortLoops> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    // Inner loops come first.
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
      std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
      std::optional<int64_t> step = getConstantIntValue(loop.getStep());
      if (!lower || !upper || !step || *upper <= *lower)
        continue;
      int64_t trips = llvm::divideCeil(*upper - *lower, *step), size = 0;
      bool isPlain = true;
      loop.getBody()->walk([&](Operation *op) {
        ++size;
        isPlain &= !isa<scf::ForOp, vxk::BarrierOp, vxk::ReportFaultOp>(op);
      });
      if (isPlain && trips <= kMostTrips && trips * size <= kMostOps && failed(loopUnrollFull(loop)))
        return signalPassFailure();
    }
  }

  static constexpr int64_t kMostTrips = 16, kMostOps = 512;
};

} // namespace
} // namespace vx

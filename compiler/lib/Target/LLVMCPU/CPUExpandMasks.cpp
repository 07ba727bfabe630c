// vx-cpu-expand-masks: masked loads and stores that the processor has no instruction for.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "vx/Target/LLVMCPU/Passes.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_CPUEXPANDMASKSPASS
#include "vx/Target/LLVMCPU/Passes.h.inc"

namespace {

/// True when all lanes of `mask` are set.
Value areAllSet(OpBuilder &builder, Location loc, Value mask) {
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::AND, mask);
}

void expand(vector::MaskedLoadOp load) {
  OpBuilder builder(load);
  auto branch = scf::IfOp::create(
      builder, load.getLoc(), areAllSet(builder, load.getLoc(), load.getMask()),
      [&](OpBuilder &inner, Location loc) {
        scf::YieldOp::create(
            inner, loc,
            vector::LoadOp::create(inner, loc, load.getVectorType(), load.getBase(), load.getIndices()).getResult());
      },
      [&](OpBuilder &inner, Location loc) {
        scf::YieldOp::create(inner, loc, inner.clone(*load.getOperation())->getResults());
      });
  load.replaceAllUsesWith(branch);
  load.erase();
}

void expand(vector::MaskedStoreOp store) {
  OpBuilder builder(store);
  scf::IfOp::create(
      builder, store.getLoc(), areAllSet(builder, store.getLoc(), store.getMask()),
      [&](OpBuilder &inner, Location loc) {
        vector::StoreOp::create(inner, loc, store.getValueToStore(), store.getBase(), store.getIndices());
        scf::YieldOp::create(inner, loc);
      },
      [&](OpBuilder &inner, Location loc) {
        inner.clone(*store.getOperation());
        scf::YieldOp::create(inner, loc);
      });
  store.erase();
}

class CPUExpandMasksPass : public impl::CPUExpandMasksPassBase<CPUExpandMasksPass> {
public:
  using CPUExpandMasksPassBase::CPUExpandMasksPassBase;

  void runOnOperation() override {
    // A constant mask names the lanes that are read: no branch is needed.
    auto lacksInstruction = [&](VectorType type, Value mask) {
      return type.getRank() == 1 && type.getElementType().isIntOrFloat() && type.getElementTypeBitWidth() >= 8 &&
             type.getElementTypeBitWidth() < maskedBits && !matchPattern(mask, m_Constant());
    };
    getOperation()->walk([&](Operation *op) {
      if (auto load = dyn_cast<vector::MaskedLoadOp>(op);
          load && lacksInstruction(load.getVectorType(), load.getMask()))
        expand(load);
      else if (auto store = dyn_cast<vector::MaskedStoreOp>(op);
               store && lacksInstruction(store.getVectorType(), store.getMask()))
        expand(store);
    });
  }
};

} // namespace
} // namespace vx

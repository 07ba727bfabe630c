// The common part of the backends of all GPU targets. Not itself a target.
#ifndef VX_TARGET_GPUBACKEND_H
#define VX_TARGET_GPUBACKEND_H

#include "vx/Codegen/GPU.h"
#include "vx/Target/TargetBackend.h"

namespace vx {

class GPUBackend : public TargetBackend {
public:
  bool decomposes(mlir::Operation *composite, const TargetSpec &spec) const final {
    return decomposesOnGPU(composite, spec);
  }

  bool splitsReductions() const final { return true; }

  llvm::SmallVector<ProductCandidate> chooseProduct(mlir::Operation *product, const ProductFacts &facts,
                                                    const TargetSpec &spec) const final {
    return chooseGPUProduct(product, facts, spec);
  }

  double estimateMove(mlir::Value tensor, const TargetSpec & /*spec*/) const final { return estimateGPUMove(tensor); }

  StrategyAttrInterface chooseStrategy(FusionOp region, const TargetSpec &spec) const final {
    return chooseGPUStrategy(region, spec);
  }
};

} // namespace vx

#endif

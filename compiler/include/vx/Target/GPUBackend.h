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

  LayoutPolicy layouts(const TargetSpec &spec) const final { return chooseGPULayouts(spec); }

  StrategyChoice chooseStrategy(FusionOp region, const TargetSpec &spec) const final {
    return chooseGPUStrategy(region, spec);
  }
};

} // namespace vx

#endif

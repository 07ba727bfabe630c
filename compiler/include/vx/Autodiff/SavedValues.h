// The values of the forward part that a training step stores for its reverse part, and those that it computes again.
#ifndef VX_AUTODIFF_SAVEDVALUES_H
#define VX_AUTODIFF_SAVEDVALUES_H

#include "mlir/Pass/Pass.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace vx {

struct ChooseSavedPassOptions;

/// A value of the forward part that the reverse part reads.
struct SavedValue {
  std::string function, node;
  uint64_t bytes = 0; // at the planned sizes
  bool isRecomputed = false;
  bool isCheap = false; // it is computed again in the kernels that read it
  uint64_t flops = 0;   // cost of computing it again
};

struct SavedReport {
  std::vector<SavedValue> values;
  uint64_t estimate = 0; // bytes of the arena of the function with the largest one
  bool isLeast = true;   // no budget gives a smaller one
};

/// `vx-choose-saved`; writes its choices to `report`, which outlives the pass.
std::unique_ptr<mlir::Pass> createChooseSavedPass(ChooseSavedPassOptions options, SavedReport *report);

} // namespace vx

#endif

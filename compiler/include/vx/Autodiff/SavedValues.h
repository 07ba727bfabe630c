// What a training step keeps of its forward part for its reverse part, and what it computes again.
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
  uint64_t flops = 0;   // that computing it again adds
};

struct SavedReport {
  std::vector<SavedValue> values;
  uint64_t estimate = 0; // bytes of the arena of the function that takes the most
  bool isLeast = true;   // no budget gives a smaller one
};

/// `vx-choose-saved`; says in `report`, which outlives the pass, what it has chosen.
std::unique_ptr<mlir::Pass> createChooseSavedPass(ChooseSavedPassOptions options, SavedReport *report);

} // namespace vx

#endif

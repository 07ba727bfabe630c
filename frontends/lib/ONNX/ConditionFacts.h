// What is known of conditions in the branches of Ifs: another If with a condition that must be the same takes the same
// branch.
#ifndef VX_FRONTEND_ONNX_CONDITIONFACTS_H
#define VX_FRONTEND_ONNX_CONDITIONFACTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace vx::onnx {

class ConditionFacts {
public:
  /// `condition`, a bool of rank 0, holds or does not.
  void add(mlir::Value condition, bool holds);
  /// What a condition is known to be: one that is computed as another one that is known, or is the opposite of it.
  std::optional<bool> find(mlir::Value condition) const;

  size_t mark() const { return facts.size(); }
  void forgetAfter(size_t mark) { facts.truncate(mark); }

private:
  struct Fact {
    mlir::Value condition;
    bool holds;
  };
  llvm::SmallVector<Fact> facts;
};

} // namespace vx::onnx

#endif

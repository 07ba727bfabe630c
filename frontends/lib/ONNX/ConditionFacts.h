// Known conditions in the branches of Ifs. Another If with a condition that must be equal takes the same branch.
#ifndef VX_FRONTEND_ONNX_CONDITIONFACTS_H
#define VX_FRONTEND_ONNX_CONDITIONFACTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace vx::onnx {

class ConditionFacts {
public:
  /// Records that `condition`, a bool of rank 0, holds or does not hold.
  void add(mlir::Value condition, bool holds);
  /// Returns the known value of a condition: it has the same computation as a recorded one, or is its negation. Nullopt
  /// otherwise.
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

// The variables that are weights to a function: values that depend on them alone are computed once for each state of
// them.
#ifndef VX_ANALYSIS_DERIVABLEVARIABLES_H
#define VX_ANALYSIS_DERIVABLEVARIABLES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace vx {

/// The variables of a function that do not change while it runs, because nothing in it stores them, and rarely between
/// runs, because they are parameters, their shadows or statistics. A state, a cache or a moment changes about as often
/// as it is read, so a copy of it in another form would only cost memory. Their sizes are numbers.
class DerivableVariables {
public:
  explicit DerivableVariables(mlir::func::FuncOp function);

  /// True for the load of such a variable.
  bool isLoad(mlir::Operation *op) const;

  /// True for a value that depends on constants and such variables alone.
  bool decide(mlir::Value value) const { return decide(value, /*depth=*/0); }

private:
  bool decide(mlir::Value value, int depth) const;

  llvm::DenseSet<mlir::StringAttr> names;
};

} // namespace vx

#endif

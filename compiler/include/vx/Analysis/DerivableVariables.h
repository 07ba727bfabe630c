// Which variables a function takes for weights: what follows from them alone is computed once for each of their values.
#ifndef VX_ANALYSIS_DERIVABLEVARIABLES_H
#define VX_ANALYSIS_DERIVABLEVARIABLES_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace vx {

/// The variables of a function that keep their values while it runs, because nothing in it stores them, and from one
/// run to many others, because they are parameters, their shadows or statistics: a state, a cache or a moment changes
/// about as often as it is read, so that a copy of it in another form would only cost memory. Their sizes are numbers.
class DerivableVariables {
public:
  explicit DerivableVariables(mlir::func::FuncOp function);

  /// True for the load of such a variable.
  bool isLoad(mlir::Operation *op) const;

  /// True for a value that constants and such variables alone decide.
  bool decide(mlir::Value value) const { return decide(value, /*depth=*/0); }

private:
  bool decide(mlir::Value value, int depth) const;

  llvm::DenseSet<mlir::StringAttr> names;
};

} // namespace vx

#endif

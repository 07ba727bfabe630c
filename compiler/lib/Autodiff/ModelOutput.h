// Where in a model the output is that a loss is of, and what it depends on.
#ifndef VX_LIB_AUTODIFF_MODELOUTPUT_H
#define VX_LIB_AUTODIFF_MODELOUTPUT_H

#include "vx/Dialect/VX/IR/VXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace vx {

inline constexpr llvm::StringLiteral kNameAttr = "vx.name";

/// The name of a result, or its number where it has none.
std::string getResultName(mlir::func::FuncOp function, unsigned number);
/// The same of an input.
std::string getInputName(mlir::func::FuncOp function, unsigned number);

struct ModelOutput {
  mlir::func::FuncOp function;
  unsigned number = 0;

  mlir::Value getValue() { return function.getBody().front().getTerminator()->getOperand(number); }
};

/// The output of this name of a public function, or with no name the only one of floats. An error says what there is.
mlir::FailureOr<ModelOutput> findOutput(mlir::ModuleOp module, llvm::StringRef name);

/// The values that `value` depends on by floats all the way, as gradients do.
llvm::DenseSet<mlir::Value> findFloatDependences(mlir::Value value);

} // namespace vx

#endif

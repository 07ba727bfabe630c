// A table from op types to functions.
#ifndef VX_DIALECT_VX_IR_OPFUNCTIONTABLE_H
#define VX_DIALECT_VX_IR_OPFUNCTIONTABLE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace vx {

/// `Function` is a pointer to a function. One thread fills the table; after that any number of threads may read it.
template <typename Function>
class OpFunctionTable {
public:
  /// Adds the function of the ops of type `Op`.
  template <typename Op>
  void add(Function function) {
    [[maybe_unused]] bool isNew = functions.try_emplace(mlir::TypeID::get<Op>(), function).second;
    assert(isNew && "an op has one function in a table");
  }
  /// Returns the function of an op; null if the table has none.
  Function find(mlir::OperationName op) const { return functions.lookup(op.getTypeID()); }

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
};

} // namespace vx

#endif

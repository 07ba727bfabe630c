// A function for each op that has one, found by the op's type.
#ifndef VX_DIALECT_VX_IR_OPFUNCTIONTABLE_H
#define VX_DIALECT_VX_IR_OPFUNCTIONTABLE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace vx {

/// `Function` is a pointer to a function. Filled by one thread; then any number may look into it.
template <typename Function>
class OpFunctionTable {
public:
  /// `function` is that of the ops of the type `Op`.
  template <typename Op>
  void add(Function function) {
    [[maybe_unused]] bool isNew = functions.try_emplace(mlir::TypeID::get<Op>(), function).second;
    assert(isNew && "an op has one function in a table");
  }
  /// Null for an op that has none.
  Function find(mlir::OperationName op) const { return functions.lookup(op.getTypeID()); }

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
};

} // namespace vx

#endif

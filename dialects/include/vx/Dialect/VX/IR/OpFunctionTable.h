// A function for each op that has one, found by the op's type.
#ifndef VX_DIALECT_VX_IR_OPFUNCTIONTABLE_H
#define VX_DIALECT_VX_IR_OPFUNCTIONTABLE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

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
  /// `function` is that of all ops that have a trait and none of their own.
  template <template <typename> class Trait>
  void addTrait(Function function) {
    traits.emplace_back([](mlir::OperationName op) { return op.hasTrait<Trait>(); }, function);
  }

  /// Null for an op that has none.
  Function find(mlir::OperationName op) const {
    if (Function function = functions.lookup(op.getTypeID()))
      return function;
    for (auto [hasTrait, function] : traits)
      if (hasTrait(op))
        return function;
    return nullptr;
  }

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
  llvm::SmallVector<std::pair<bool (*)(mlir::OperationName), Function>> traits;
};

} // namespace vx

#endif

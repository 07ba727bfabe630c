#include "ModelOutput.h"

#include "vx/Dialect/VX/Gradient/ReverseMode.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace vx {

static std::string getName(Attribute name, unsigned number) {
  auto given = dyn_cast_or_null<StringAttr>(name);
  return given ? given.getValue().str() : std::to_string(number);
}

std::string getResultName(func::FuncOp function, unsigned number) {
  return getName(function.getResultAttr(number, kNameAttr), number);
}

std::string getInputName(func::FuncOp function, unsigned number) {
  return getName(function.getArgAttr(number, kNameAttr), number);
}

FailureOr<ModelOutput> findOutput(ModuleOp module, StringRef name) {
  SmallVector<ModelOutput> found;
  SmallVector<std::string> known;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      std::string own = getResultName(function, i);
      bool isFloat =
          isa<RankedTensorType>(function.getResultTypes()[i]) && isDifferentiable(function.getResultTypes()[i]);
      if (name.empty() ? isFloat : name == own)
        found.push_back({function, i});
      known.push_back("'" + own + "'");
    }
  }
  std::string all = known.empty() ? "none" : llvm::join(known, ", ");
  if (found.size() == 1 || (!found.empty() && !name.empty()))
    return found.front();
  if (!name.empty())
    return module.emitError() << "expected the name of an output to take the loss of, got '" << name
                              << "'; the model has " << all;
  return module.emitError() << "expected the name of an output to take the loss of, got none; the model has "
                            << found.size() << " of floats, of " << all;
}

llvm::DenseSet<Value> findFloatDependences(Value value) {
  llvm::DenseSet<Value> found;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!isDifferentiable(next.getType()) || !found.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op) {
      // What a region's argument begins with, or what the last iteration gave.
      op = next.getParentBlock()->getParentOp();
      if (isa<FunctionOpInterface>(op))
        continue;
    }
    if (op->hasTrait<OpTrait::NonDifferentiable>())
      continue;
    visitReads(op, [&](Value read) { work.push_back(read); });
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator())
          llvm::append_range(work, block.getTerminator()->getOperands());
  }
  return found;
}

} // namespace vx

#include "vx/Dialect/VX/IR/VariablePlaces.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace vx {

bool VariablePlace::overlaps(const VariablePlace &other) const {
  if (storage != other.storage)
    return false;
  if (size < 0 || other.size < 0)
    return true;
  return size > 0 && other.size > 0 && offset < other.offset + other.size && other.offset < offset + size;
}

VariablePlace getPlace(VariableOp variable) {
  FlatSymbolRefAttr pool = variable.getPoolAttr();
  auto type = cast<RankedTensorType>(variable.getType());
  VariablePlace place{pool ? pool.getAttr() : variable.getSymNameAttr()};
  if (variable.getOffsetAttr())
    place.offset = variable.getOffsetAttr().getInt();
  if (type.hasStaticShape() && type.getElementType().isIntOrFloat()) {
    // A bool is one byte.
    int64_t bits = type.getElementType().isInteger(1) ? 8 : type.getElementTypeBitWidth();
    place.size = llvm::divideCeil(type.getNumElements() * bits, 8);
  }
  return place;
}

VariablePlaces::VariablePlaces(ModuleOp module) {
  if (module)
    for (auto variable : module.getOps<VariableOp>())
      places[variable.getSymNameAttr()] = getPlace(variable);
}

VariablePlace VariablePlaces::lookup(StringAttr variable) const {
  auto known = places.find(variable);
  return known == places.end() ? VariablePlace{variable} : known->second;
}

StringAttr getAccessedVariable(Operation *op) {
  if (auto load = dyn_cast<VariableLoadOp>(op))
    return load.getVariableAttr().getAttr();
  if (auto store = dyn_cast<VariableStoreOp>(op))
    return store.getVariableAttr().getAttr();
  return {};
}

static bool standInOneLoop(Operation *a, Operation *b) {
  for (auto loop = a->getParentOfType<LoopOp>(); loop; loop = loop->getParentOfType<LoopOp>())
    if (loop->isAncestor(b))
      return true;
  return false;
}

SmallVector<OverlappingAccess> findOverlappingAccesses(Operation *root, const VariablePlaces &places) {
  llvm::MapVector<StringAttr, SmallVector<Operation *>> accesses; // by storage, in order
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (StringAttr variable = getAccessedVariable(op))
      accesses[places.lookup(variable).storage].push_back(op);
  });
  auto find = [&](ArrayRef<Operation *> ops) -> std::optional<OverlappingAccess> {
    for (auto [number, store] : llvm::enumerate(ops)) {
      if (!isa<VariableStoreOp>(store))
        continue;
      StringAttr stored = getAccessedVariable(store);
      for (auto [other, access] : llvm::enumerate(ops)) {
        StringAttr variable = getAccessedVariable(access);
        if (variable != stored && places.overlap(stored, variable) && (other > number || standInOneLoop(store, access)))
          return OverlappingAccess{store, access};
      }
    }
    return std::nullopt;
  };
  SmallVector<OverlappingAccess> found;
  for (auto &[storage, ops] : accesses)
    if (std::optional<OverlappingAccess> access = find(ops))
      found.push_back(*access);
  return found;
}

} // namespace vx

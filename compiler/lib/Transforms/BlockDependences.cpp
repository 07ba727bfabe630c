#include "BlockDependences.h"

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace vx {

/// True for an op that what follows relies on without reading a result of it.
static bool doesAllBehindRelyOn(Operation *op) {
  if (isa<ConstraintOp, BindSymbolOp>(op))
    return true;
  return op->hasTrait<OpTrait::BindsResultSizes>() && llvm::any_of(op->getResultTypes(), [](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return !tensor || !tensor.hasStaticShape();
         });
}

BlockDependences::BlockDependences(Block &block) : block(block) {
  struct Accesses {
    std::optional<unsigned> store;
    SmallVector<unsigned> loads; // behind the store
  };
  VariablePlaces places(block.getParentOp()->getParentOfType<ModuleOp>());
  llvm::DenseMap<StringAttr, llvm::MapVector<StringAttr, Accesses>> accesses; // by storage and variable
  std::optional<unsigned> reliedUpon;
  for (Operation &op : block) {
    unsigned position = ops.size();
    ops.push_back(&op);
    positions[&op] = position;
    nodes.push_back(position);
    SmallVector<unsigned> &waits = dependences.emplace_back();
    if (reliedUpon)
      waits.push_back(*reliedUpon);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
          waits.push_back(positions.lookup(producer));
      StringAttr variable = getAccessedVariable(inner);
      if (!variable)
        return;
      bool isStore = isa<VariableStoreOp>(inner);
      // Those of one storage alone can share bytes.
      auto &known = accesses[places.lookup(variable).storage];
      for (auto &[other, before] : known) {
        if (!places.overlap(variable, other))
          continue;
        if (before.store && *before.store != position)
          waits.push_back(*before.store);
        if (isStore)
          llvm::copy_if(before.loads, std::back_inserter(waits), [&](unsigned load) { return load != position; });
      }
      if (isStore)
        known[variable] = {position, {}};
      else
        known[variable].loads.push_back(position);
    });
    if (doesAllBehindRelyOn(&op))
      reliedUpon = position;
  }
}

void BlockDependences::group(ArrayRef<Operation *> members) {
  if (members.size() < 2)
    return;
  SmallVector<unsigned> places;
  for (Operation *op : members)
    places.push_back(positions.lookup(op));
  Node node = *llvm::max_element(places);
  for (unsigned place : places)
    nodes[place] = node;
  groups[node] = std::move(places);
}

bool BlockDependences::makeCycle(const SetVector<Operation *> &members) const {
  llvm::DenseSet<Node> seen;
  SmallVector<unsigned> work;
  auto visit = [&](unsigned place) {
    if (members.contains(ops[place]))
      return true;
    if (seen.insert(nodes[place]).second)
      work.push_back(nodes[place]);
    return false;
  };
  for (Operation *member : members)
    for (unsigned place : dependences[positions.lookup(member)])
      if (!members.contains(ops[place]))
        visit(place);
  while (!work.empty()) {
    Node node = work.pop_back_val();
    auto group = groups.find(node);
    ArrayRef<unsigned> places = group == groups.end() ? ArrayRef<unsigned>(node) : ArrayRef<unsigned>(group->second);
    for (unsigned place : places)
      if (llvm::any_of(dependences[place], visit))
        return true;
  }
  return false;
}

void BlockDependences::sort() {
  // All in the order in which it stands; a group where its last op does, or in front of the first that waits for it.
  // What does not wait for it stays behind, so that nothing is computed long before it is read.
  llvm::BitVector isPlaced(ops.size());
  SmallVector<Node> work;
  for (Node last = 0; last < ops.size(); ++last) {
    if (nodes[last] != last)
      continue;
    work.push_back(last);
    while (!work.empty()) {
      Node node = work.back();
      auto group = groups.find(node);
      SmallVector<unsigned> places =
          group == groups.end() ? SmallVector<unsigned>(1, node) : SmallVector<unsigned>(group->second);
      SmallVector<Node> before;
      for (unsigned place : places)
        for (unsigned dependence : dependences[place])
          if (nodes[dependence] != node && !isPlaced[nodes[dependence]])
            before.push_back(nodes[dependence]);
      if (!before.empty() && !isPlaced[node]) {
        llvm::sort(before, std::greater<Node>());
        llvm::append_range(work, before);
        continue;
      }
      work.pop_back();
      if (isPlaced[node])
        continue;
      isPlaced.set(node);
      llvm::sort(places);
      for (unsigned place : places)
        ops[place]->moveBefore(&block, block.end());
    }
  }
}

} // namespace vx

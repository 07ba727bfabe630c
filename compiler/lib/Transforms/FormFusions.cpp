// Groups ops into fusion regions: one anchor each, with its prologue and its epilogue.
//
// A group grows from its last op (the root, whose result is the kernel's) towards its producers. A producer joins when
// all its uses are inside of the group, so that nothing is computed twice and nothing but the root is written to
// memory.

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Transforms/FusionPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_FORMFUSIONSPASS
#include "vx/Transforms/FusionPasses.h.inc"

bool isHostScalar(OpOperand &use) {
  auto reader = dyn_cast<HostScalarOpInterface>(use.getOwner());
  return reader && reader.isHostScalar(use.getOperandNumber());
}

namespace {

/// True for a slice of neighbours that only attention reads, as its query, key or value: a part of a larger tensor,
/// read in place.
bool isPartForAttention(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice && llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; }) &&
         llvm::all_of(slice->getUses(),
                      [](OpOperand &use) { return isa<AttentionOp>(use.getOwner()) && use.getOperandNumber() < 3; });
}

/// True when each kernel that needs the op computes it anew. Of constants that holds for a repeated number.
bool isFree(Operation *op) {
  if (op->hasTrait<OpTrait::Free>())
    return true;
  DenseElementsAttr value;
  if (auto constant = dyn_cast<ConstantOp>(op))
    value = dyn_cast<DenseElementsAttr>(constant.getValue());
  return value && value.isSplat();
}

/// True when `op` is the last of a chain of elementwise ops that begins at an anchor, each with one reader: that
/// anchor's epilogue, computed while its result is in registers.
bool isEpilogue(Operation *op) {
  if (!op->hasTrait<OpTrait::Elementwise>())
    return false;
  return llvm::any_of(op->getOperands(), [](Value operand) {
    Operation *producer = operand.getDefiningOp();
    return producer && producer->getBlock() == operand.getParentBlock() && producer->hasOneUse() &&
           ((getRole(producer) == Role::Anchor && !producer->hasTrait<OpTrait::ScattersResult>()) ||
            isEpilogue(producer));
  });
}

/// The ops that read constants alone and whose results are worth being computed at load
/// (`vx-hoist-derived-constants`). What reads no constant but a repeated number is not one of them: any kernel computes
/// it as fast as it reads it.
llvm::DenseSet<Operation *> findDerivable(func::FuncOp function) {
  llvm::DenseSet<Operation *> derivable;
  llvm::DenseMap<Value, uint64_t> constantBytes; // what a value is computed from
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
    if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
      return;
    if (isa<ConstantOp>(op))
      constantBytes[op->getResult(0)] = isFree(op) ? 0 : getStaticSizeInBytes(type);
    bool isView = isFree(op) || isa<ReshapeOp>(op);
    if (op->getNumOperands() == 0 || (!isView && (!isComputedByKernel(op) || mayFault(op))))
      return;
    uint64_t bytes = 0;
    for (Value operand : op->getOperands()) {
      auto known = constantBytes.find(operand);
      if (known == constantBytes.end())
        return;
      bytes += known->second;
    }
    if (!isView && !isWorthDeriving(type, bytes))
      return;
    constantBytes[op->getResult(0)] = bytes;
    if (!isView && bytes > 0)
      derivable.insert(op);
  });
  return derivable;
}

class Group {
public:
  Group(Operation *root, const llvm::DenseSet<Operation *> &derivable) : root(root), derivable(derivable) {
    members.insert(root);
    identity.insert(root);
    if (getRole(root) == Role::Anchor)
      anchor = root;
  }

  void grow(const llvm::DenseSet<Operation *> &taken) {
    // Members are appended, so this visits producers of producers, and again until nothing joins: a producer with two
    // users can join only after both have.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < members.size() && members.size() < kMaxOps; ++i)
        for (Value operand : members[i]->getOperands()) {
          Operation *producer = operand.getDefiningOp();
          if (producer && !members.contains(producer) && !taken.contains(producer) && canJoin(producer)) {
            members.insert(producer);
            changed = true;
          }
        }
    }
  }

  FusionOp materialize() {
    SmallVector<Operation *> order(members.begin(), members.end());
    llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

    llvm::SetVector<Value> inputs;
    SmallVector<Location> locations;
    // What is free is computed inside, from its own operands.
    auto addInputs = [&](Operation *op, auto &&self) -> void {
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (producer && members.contains(producer))
          continue;
        if (producer && isFree(producer))
          self(producer, self);
        else
          inputs.insert(operand);
      }
    };
    for (Operation *op : order) {
      locations.push_back(op->getLoc());
      addInputs(op, addInputs);
    }
    OpBuilder builder(root);
    Location location = builder.getFusedLoc(locations);
    auto strategy = StrategyAttr::get(root->getContext(), "loops", {}, {}, {}, 1);
    auto fusion = FusionOp::create(builder, location, root->getResultTypes(), inputs.getArrayRef(), strategy);
    Block *body = builder.createBlock(&fusion.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    auto cloneWithFree = [&](Operation *op, auto &&self) -> void {
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand))
          self(operand.getDefiningOp(), self);
      builder.clone(*op, mapping);
    };
    for (Operation *op : order)
      cloneWithFree(op, cloneWithFree);
    SmallVector<Value> results;
    for (Value result : root->getResults())
      results.push_back(mapping.lookup(result));
    YieldOp::create(builder, location, results);
    root->replaceAllUsesWith(fusion);
    for (Operation *op : llvm::reverse(order))
      op->erase();
    return fusion;
  }

  const llvm::SetVector<Operation *> &getMembers() const { return members; }

private:
  static constexpr size_t kMaxOps = 64;

  bool canJoin(Operation *producer) {
    if (producer->getBlock() != root->getBlock() || !isComputedByKernel(producer) || isFree(producer) ||
        producer->hasTrait<OpTrait::ScattersResult>())
      return false;
    if (derivable.contains(producer) && !derivable.contains(root))
      return false; // once at load, not in each call
    if (isPartForAttention(producer))
      return llvm::all_of(producer->getUsers(), [&](Operation *user) { return members.contains(user); });
    bool usersPreserveElements = true;
    for (Operation *user : producer->getUsers()) {
      if (!members.contains(user) || isComputedAnew(user))
        return false;
      if (getRole(user) == Role::Anchor && !user->hasTrait<OpTrait::TakesPrologue>())
        return false;
      usersPreserveElements &= identity.contains(user) && user->hasTrait<OpTrait::Elementwise>();
    }
    // What could end another anchor's kernel does not begin this one's.
    if (anchor && getRole(producer) == Role::Pointwise && !usersPreserveElements && isEpilogue(producer))
      return false;
    if (getRole(producer) == Role::Anchor) {
      // The anchor's result must be the root's shape, element for element, or tiles of both would not agree.
      if (anchor || !usersPreserveElements)
        return false;
      anchor = producer;
    }
    if (usersPreserveElements)
      identity.insert(producer);
    return true;
  }

  /// True for a free root that another kernel reads too: that one computes it anew, from what it is computed from here.
  static bool isComputedAnew(Operation *op) {
    return isFree(op) && llvm::any_of(op->getUsers(), [](Operation *user) { return isComputedByKernel(user); });
  }

  Operation *root;
  const llvm::DenseSet<Operation *> &derivable;
  Operation *anchor = nullptr;
  llvm::SetVector<Operation *> members;
  llvm::DenseSet<Operation *> identity; // ops whose elements correspond to the root's
};

void formInBlock(Block &block, const llvm::DenseSet<Operation *> &derivable) {
  SmallVector<Operation *> candidates;
  for (Operation &op : llvm::reverse(block))
    candidates.push_back(&op);
  llvm::DenseSet<Operation *> taken;
  SmallVector<Group> groups;
  for (Operation *op : candidates) {
    if (taken.contains(op))
      continue;
    // Something free becomes a kernel of its own only where the host holds it as memory.
    bool isHeldByHost = isFree(op) && !isa<ConstantOp>(op) && llvm::any_of(op->getUses(), [](OpOperand &use) {
                          return !isComputedByKernel(use.getOwner()) && !isHostScalar(use);
                        });
    if (!isHeldByHost && (!isComputedByKernel(op) || isFree(op)))
      continue;
    Group group(op, derivable);
    group.grow(taken);
    taken.insert(group.getMembers().begin(), group.getMembers().end());
    groups.push_back(std::move(group));
  }
  for (Group &group : groups)
    group.materialize();
}

struct FormFusionsPass : impl::FormFusionsPassBase<FormFusionsPass> {
  void runOnOperation() override {
    // An op that is gone since may have been the only reader, in a region beside the ops that it read.
    getOperation().walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) {
      if (!isa<FusionOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    const llvm::DenseSet<Operation *> derivable = findDerivable(getOperation());
    for (Block *block : blocks)
      formInBlock(*block, derivable);
    // What each kernel computes anew has no user left.
    getOperation().walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
      if ((isa<ConstantOp>(op) || isFree(op)) && op->use_empty() && !op->getParentOfType<FusionOp>())
        op->erase();
    });
  }
};

} // namespace
} // namespace vx

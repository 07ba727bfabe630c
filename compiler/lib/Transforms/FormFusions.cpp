// Groups ops into fusion regions: one anchor each, with its prologue and its epilogue.
//
// A group grows from its last op, the root, towards its producers. A producer joins when all its uses are inside of the
// group, so that nothing is computed twice. Then come those whose elements meet the root's one to one and that others
// read too: their results leave the kernel beside the root's. Where the root is a single number, so do other single
// numbers: two kernels of one number each take twice as long as one.

#include "BlockDependences.h"
#include "FreeOps.h"
#include "vx/Analysis/DerivableVariables.h"
#include "vx/Analysis/JoinedParts.h"
#include "vx/Analysis/ProductCandidates.h"
#include "vx/Dialect/VX/IR/KernelFacts.h"
#include "vx/Dialect/VX/IR/RecomputedOps.h"
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

/// True for a concatenation whose tensors are computed where they are to lie, or copied there: it is no part of another
/// kernel, which would look for the part that each element is of.
bool isJoinedInMemory(Operation *op) {
  constexpr int64_t kLongVector = 1 << 16; // of which no kernel looks for the part of each element
  auto concat = dyn_cast<ConcatOp>(op);
  return concat && getPartOffsets(concat) &&
         (concat.getInputs().size() > kMostPartsSought ||
          (concat.getType().getRank() == 1 && concat.getType().getNumElements() >= kLongVector)) &&
         llvm::none_of(concat.getInputs(),
                       [](Value input) { return input.getDefiningOp() && isFree(input.getDefiningOp()); });
}

/// True for few matrices side by side of which only the sums of columns are read: each column looks for its part.
bool isPartOfSum(Operation *op) {
  constexpr int64_t kMostColumns = 1024; // more are put side by side first
  auto concat = dyn_cast<ConcatOp>(op);
  if (!concat || concat.getInputs().size() > kMostPartsSought || !concat->hasOneUse() || concat.getAxis() != 1)
    return false;
  auto sum = dyn_cast<ReduceOp>(*concat->user_begin());
  RankedTensorType type = concat.getType();
  return sum && sum.getAxes() == ArrayRef<int64_t>{0} && type.getRank() == 2 && !type.isDynamicDim(1) &&
         type.getDimSize(1) <= kMostColumns;
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

/// The ops that read constants and weights alone and whose results are worth being kept
/// (`vx-hoist-derived-values`). What reads no constant but a repeated number is not one of them: any kernel computes it
/// as fast as it reads it.
llvm::DenseSet<Operation *> findDerivable(func::FuncOp function) {
  const DerivableVariables variables(function);
  llvm::DenseSet<Operation *> derivable;
  llvm::DenseMap<Value, uint64_t> constantBytes; // what a value is computed from
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
    if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
      return;
    if (isa<ConstantOp>(op))
      constantBytes[op->getResult(0)] = isFree(op) ? 0 : getStaticSizeInBytes(type);
    if (variables.isLoad(op))
      constantBytes[op->getResult(0)] = getStaticSizeInBytes(type);
    if (isa<UnpackOp>(op) || isDecodedByReaders(op))
      return;
    bool isView = (isFree(op) && !mayFault(op)) || isa<ReshapeOp>(op);
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

/// The type of an op's only result, or null.
RankedTensorType getOnlyType(Operation *op) {
  return op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
}

bool haveEqualDims(RankedTensorType a, RankedTensorType b) {
  return a.getShape() == b.getShape() && getDims(a) == getDims(b);
}

/// True where both are stored element for element: a kernel that makes packed bytes makes as many elements of each.
bool haveEqualPlaces(RankedTensorType a, RankedTensorType b) {
  auto bitsOf = [](RankedTensorType type) {
    return isPacked(type.getElementType()) ? type.getElementTypeBitWidth() : 8;
  };
  return haveEqualDims(a, b) && bitsOf(a) == bitsOf(b);
}

class Group {
public:
  /// What the groups of a block have in common.
  struct Context {
    const llvm::DenseSet<Operation *> &derivable;
    BlockDependences dependences;
    llvm::DenseSet<Operation *> taken; // by the groups before
  };

  Group(Operation *root, Context &context) : root(root), context(context) {
    members.insert(root);
    identity.insert(root);
    leaving.insert(root);
    if (getRole(root) == Role::Anchor)
      anchor = root;
  }

  void grow() {
    if (!isJoinedInMemory(root))
      do
        addProducers();
      while (addNumber() || addLeavingProducer() || addSibling());
    // All that read it may have come since.
    leaving.remove_if([&](Operation *op) {
      return op != root && llvm::all_of(op->getUsers(), [&](Operation *user) { return members.contains(user); });
    });
    context.taken.insert(members.begin(), members.end());
    context.dependences.group(members.getArrayRef());
  }

  bool hasSeveralResults() const { return leaving.size() > 1; }

  /// The checks that are computed inside, where nothing else has computed them before.
  llvm::SetVector<Operation *> getChecks() const {
    llvm::SetVector<Operation *> checks;
    auto add = [&](Operation *op, auto &&self) -> void {
      for (OpOperand &use : op->getOpOperands())
        if (Operation *producer = use.get().getDefiningOp();
            producer && !members.contains(producer) && isFree(producer) && !isUpdated(use)) {
          if (isa<CheckIndicesOp>(producer))
            checks.insert(producer);
          self(producer, self);
        }
    };
    for (Operation *op : members)
      add(op, add);
    return checks;
  }

  Operation *getRoot() const { return root; }

  /// `checked` are those of its checks that an earlier kernel makes.
  FusionOp materialize(const llvm::DenseSet<Operation *> &checked) {
    SmallVector<Operation *> order(members.begin(), members.end());
    llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

    llvm::SetVector<Value> inputs;
    SmallVector<Location> locations;
    // What is free is computed inside, from its own operands.
    auto addInputs = [&](Operation *op, auto &&self) -> void {
      for (OpOperand &use : op->getOpOperands()) {
        Operation *producer = use.get().getDefiningOp();
        if (producer && members.contains(producer))
          continue;
        if (producer && isFree(producer) && !isUpdated(use))
          self(producer, self);
        else
          inputs.insert(use.get());
      }
    };
    for (Operation *op : order) {
      locations.push_back(op->getLoc());
      addInputs(op, addInputs);
    }
    SmallVector<Value> results;
    for (Operation *op : leaving)
      llvm::append_range(results, op->getResults());
    OpBuilder builder(order.back());
    Location location = builder.getFusedLoc(locations);
    auto strategy = LoopsAttr::get(root->getContext(), {}, /*threads=*/1);
    auto fusion = FusionOp::create(builder, location, ValueRange(results).getTypes(), inputs.getArrayRef(), strategy);
    Block *body = builder.createBlock(&fusion.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    auto cloneWithFree = [&](Operation *op, auto &&self) -> void {
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand))
          self(operand.getDefiningOp(), self);
      if (checked.contains(op)) { // the same indices
        mapping.map(op->getResult(0), mapping.lookup(op->getOperand(0)));
        return;
      }
      Operation *clone = builder.clone(*op, mapping);
      if (auto constant = dyn_cast<ConstantOp>(clone))
        constant.removeNamesAttr(); // a number in a kernel, whichever initializer held it
    };
    for (Operation *op : order)
      cloneWithFree(op, cloneWithFree);
    if (Operation *recorded = getRecordedAnchor(order))
      mapping.lookup(recorded->getResult(0)).getDefiningOp()->setAttr(kAnchorAttr, builder.getUnitAttr());
    SmallVector<Value> yielded;
    for (Value result : results)
      yielded.push_back(mapping.lookup(result));
    YieldOp::create(builder, location, yielded);
    for (auto [result, outside] : llvm::zip_equal(results, fusion.getResults()))
      result.replaceAllUsesWith(outside);
    for (Operation *op : llvm::reverse(order))
      op->erase();
    return fusion;
  }

private:
  // Each reduction has memory of its workgroup.
  static constexpr size_t kMaxOps = 64, kMaxResults = 8, kMaxReductions = 8;

  /// The anchor; of several reductions the first, whichever the group grew from, so that equal kernels have equal
  /// anchors.
  Operation *getRecordedAnchor(ArrayRef<Operation *> order) const {
    const auto *first = llvm::find_if(order, [&](Operation *op) { return op == anchor || isCompanion(op); });
    return first == order.end() ? nullptr : *first;
  }

  void addProducers() {
    // Members are appended, so this visits producers of producers, and again until nothing joins: a producer with two
    // users can join only after both have.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < members.size() && members.size() < kMaxOps; ++i)
        for (Value operand : members[i]->getOperands()) {
          Operation *producer = operand.getDefiningOp();
          if (producer && !members.contains(producer) && mayBeMember(producer) && canJoin(producer)) {
            members.insert(producer);
            changed = true;
          }
        }
    }
  }

  /// A producer that others read too, whose result leaves the kernel beside the root's.
  bool addLeavingProducer() {
    for (Operation *member : identity)
      for (Value operand : member->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && canLeave(producer)) {
          if (getRole(producer) == Role::Anchor && !anchor)
            anchor = producer;
          addLeaving(producer);
          return true;
        }
    return false;
  }

  /// An op that reads what the group computes, or else what it reads, and is read by others alone.
  bool addSibling() {
    for (Operation *member : identity) {
      if (member->hasTrait<OpTrait::Elementwise>() && !anchor)
        for (Value operand : member->getOperands())
          if (addReaderOf(operand))
            return true;
      for (Value result : member->getResults())
        if (addReaderOf(result))
          return true;
    }
    return llvm::any_of(identity.getArrayRef(), [&](Operation *member) {
      RowsOpInterface reduction = getReduction(member);
      return reduction && addReduction(reduction);
    });
  }

  /// Another single number, whatever it is computed from, as long as one loop is enough for the reductions behind it.
  bool addNumber() {
    if (!isNumber(root) || !isa<func::FuncOp>(root->getBlock()->getParentOp()))
      return false;
    for (Operation &op : llvm::reverse(*root->getBlock()))
      if (isNumber(&op) && isLastOfNumber(&op) && mayLeave(&op) && fitsAnchor(&op) && !makesCycle(&op)) {
        if (getRole(&op) == Role::Anchor && !anchor)
          anchor = &op;
        addLeaving(&op);
        return true;
      }
    return false;
  }

  /// True for arithmetic on single numbers, and for a reduction to one.
  static bool isNumber(Operation *op) {
    RankedTensorType type = getOnlyType(op);
    return type && type.getRank() == 0 && (op->hasTrait<OpTrait::Elementwise>() || getReduction(op));
  }

  /// True unless its only reader takes it along. The host waits for no number longer than for what that is made of.
  static bool isLastOfNumber(Operation *op) {
    bool isHeld = llvm::any_of(op->getUsers(), [](Operation *user) {
      return !isComputedByKernel(user) && !isa<VariableStoreOp>(user) && !user->hasTrait<mlir::OpTrait::IsTerminator>();
    });
    return !isHeld && !(op->hasOneUse() && isNumber(*op->user_begin()));
  }

  /// True unless it ends the kernel of an anchor that is not this group's and cannot be.
  bool fitsAnchor(Operation *op) const {
    if (getRole(op) == Role::Anchor)
      return isNumber(op) && (!anchor || op == anchor || isCompanion(op));
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return !producer || members.contains(producer) || !producer->hasOneUse() ||
             (getRole(producer) != Role::Anchor && !isNumber(producer)) || fitsAnchor(producer);
    });
  }

  bool addReaderOf(Value value) {
    for (Operation *user : value.getUsers())
      if (user->hasTrait<OpTrait::Elementwise>() && canBeSibling(user)) {
        addLeaving(user);
        return true;
      }
    return false;
  }

  /// Null unless `op` makes one number of each row, so that one loop along rows can make several.
  static RowsOpInterface getReduction(Operation *op) {
    auto rows = dyn_cast_or_null<RowsOpInterface>(op);
    return rows && !rows.keepsRows() && !rows.carriesPlaces() ? rows : RowsOpInterface();
  }

  /// Another reduction of the elements of one that is a member, which nothing else connects with the group.
  bool addReduction(RowsOpInterface reduction) {
    for (Value tensor : getElementSources(reduction->getOperand(0))) {
      SetVector<Value> made; // of the tensor, element for element
      made.insert(tensor);
      for (size_t k = 0; k < made.size() && made.size() < kMaxOps; ++k)
        for (Operation *user : made[k].getUsers()) {
          if (user->hasTrait<OpTrait::Elementwise>() && user->hasOneUse())
            made.insert(user->getResult(0));
          if (!isCompanion(user))
            continue;
          if (Operation *last = getEnd(user); last == user ? canBeSibling(user) : mayLeave(last) && !makesCycle(last)) {
            addLeaving(last);
            return true;
          }
        }
    }
    return false;
  }

  /// The last of the chain of elementwise ops that begins at an anchor, each the only reader of the one before.
  static Operation *getEnd(Operation *op) {
    while (op->hasOneUse()) {
      Operation *user = *op->user_begin();
      if (!user->hasTrait<OpTrait::Elementwise>() || user->getBlock() != op->getBlock())
        break;
      op = user;
    }
    return op;
  }

  /// True for a reduction along the anchor's axes that reads elements that it or another reduction of the group reads
  /// too, so that one pass over them serves both.
  bool isCompanion(Operation *op) const {
    RowsOpInterface reduction = getReduction(anchor), other = getReduction(op);
    if (!reduction || !other || reduction == other)
      return false;
    if (!members.contains(op) &&
        llvm::count_if(members, [](Operation *member) { return !!getReduction(member); }) >= int64_t(kMaxReductions))
      return false;
    // Of single numbers the kernels are saved, if not the reads.
    if (isNumber(reduction) && isNumber(other))
      return true;
    Value input = reduction->getOperand(0), otherInput = other->getOperand(0);
    if (reduction.getRowAxes() != other.getRowAxes() ||
        !haveEqualDims(cast<RankedTensorType>(input.getType()), cast<RankedTensorType>(otherInput.getType())))
      return false;
    SetVector<Value> sources = getElementSources(otherInput);
    return llvm::any_of(members, [&](Operation *member) {
      RowsOpInterface read = getReduction(member);
      return read && read != other &&
             llvm::any_of(getElementSources(read->getOperand(0)), [&](Value value) { return sources.contains(value); });
    });
  }

  /// The tensors that `tensor` is computed from, element for element, and itself; not those that are computed anew
  /// wherever they are read.
  static SetVector<Value> getElementSources(Value tensor) {
    SetVector<Value> sources;
    sources.insert(tensor);
    for (size_t k = 0; k < sources.size() && sources.size() < kMaxOps; ++k)
      if (Operation *producer = sources[k].getDefiningOp(); producer && producer->hasTrait<OpTrait::Elementwise>())
        for (Value operand : producer->getOperands())
          if (!operand.getDefiningOp() || !isFree(operand.getDefiningOp()))
            sources.insert(operand);
    return sources;
  }

  void addLeaving(Operation *op) {
    members.insert(op);
    identity.insert(op);
    leaving.insert(op);
  }

  bool mayBeMember(Operation *op) const {
    if (op->getBlock() != root->getBlock() || context.taken.contains(op) || !isComputedByKernel(op) || isFree(op) ||
        op->hasTrait<OpTrait::ScattersResult>() || isJoinedInMemory(op))
      return false;
    // What constants and weights alone decide: once, not in each call.
    return !context.derivable.contains(op) || context.derivable.contains(root);
  }

  /// True for an op whose result may be one of several: an element of it belongs to one of the root.
  bool mayLeave(Operation *op) const {
    RankedTensorType type = getOnlyType(op), own = getOnlyType(root);
    return mayBeMember(op) && !members.contains(op) && runsWithRoot(op) && members.size() < kMaxOps &&
           leaving.size() < kMaxResults && type && own && haveEqualPlaces(type, own) && !mayFault(op) &&
           !op->hasTrait<OpTrait::Serial>() && !root->hasTrait<OpTrait::Serial>() &&
           !root->hasTrait<OpTrait::ScattersResult>() && !context.derivable.contains(op) &&
           !context.derivable.contains(root); // each is computed for itself
  }

  /// False where one of the two computes again what is not to be kept until then: a kernel of both would run early and
  /// keep it, or late and have its readers wait. What the root alone needs of a copy is computed with it.
  bool runsWithRoot(Operation *op) const {
    IntegerAttr own = getCopyNumber(root), other = getCopyNumber(op);
    return own == other || (!own && op->isBeforeInBlock(root));
  }

  bool canLeave(Operation *producer) const {
    bool isAnchor = getRole(producer) == Role::Anchor;
    if (!mayLeave(producer) || (!isAnchor && !producer->hasTrait<OpTrait::Elementwise>()) ||
        (isAnchor && anchor && !isCompanion(producer)) || (isAnchor && !fitsProduct(producer, members.getArrayRef())))
      return false;
    // What ends another anchor's kernel stays there.
    if (anchor && isEpilogue(producer))
      return false;
    bool isRead = false;
    for (Operation *user : producer->getUsers()) {
      bool isInside = members.contains(user);
      if (isInside && (!identity.contains(user) || !user->hasTrait<OpTrait::Elementwise>()))
        return false;
      isRead |= !isInside;
    }
    return isRead && !makesCycle(producer);
  }

  bool canBeSibling(Operation *op) const {
    if (!mayLeave(op) || isEpilogue(op))
      return false;
    // Its only reader may take it along, unless that is free: who computes it anew reads this from memory.
    if (op->hasOneUse() && isComputedByKernel(*op->user_begin()) && !isFree(*op->user_begin()))
      return false;
    return !makesCycle(op);
  }

  bool makesCycle(Operation *op) const {
    llvm::SetVector<Operation *> all = members;
    all.insert(op);
    return context.dependences.makeCycle(all);
  }

  bool canJoin(Operation *producer) {
    if (isPartForAttention(producer))
      return llvm::all_of(producer->getUsers(), [&](Operation *user) { return members.contains(user); });
    bool usersPreserveElements = true;
    for (OpOperand &use : producer->getUses()) {
      Operation *user = use.getOwner();
      if (!members.contains(user) || isComputedAnew(user) || isUpdated(use))
        return false;
      if (getRole(user) == Role::Anchor && !takesPrologue(use))
        return false;
      usersPreserveElements &= identity.contains(user) && user->hasTrait<OpTrait::Elementwise>();
    }
    // An op that could end another anchor's kernel does not begin this one's.
    if (anchor && getRole(producer) == Role::Pointwise && !usersPreserveElements && isEpilogue(producer))
      return false;
    if (isPartOfSum(producer))
      return true;
    if (getRole(producer) == Role::Anchor) {
      // The anchor's result must be the root's shape, element for element, or tiles of both would not agree.
      if ((anchor && !isCompanion(producer)) || !usersPreserveElements || !fitsProduct(producer, members.getArrayRef()))
        return false;
      if (!anchor)
        anchor = producer;
    }
    if (anchor && !fitsProduct(anchor, producer))
      return false;
    if (usersPreserveElements)
      identity.insert(producer);
    return true;
  }

  /// True where the op that is read may be computed in the kernel of the anchor that reads it.
  static bool takesPrologue(OpOperand &use) {
    Operation *anchor = use.getOwner();
    if (!anchor->hasTrait<OpTrait::Product>())
      return anchor->hasTrait<OpTrait::TakesPrologue>();
    ProductAttr product = getProduct(anchor);
    return product && product.getPrologue() == use.getOperandNumber() &&
           use.get().getDefiningOp()->hasTrait<OpTrait::Elementwise>();
  }

  /// False for a product whose strategy takes no kernel with these ops: they may fail, or the root stores several
  /// elements in a byte and tiles cut elements.
  bool fitsProduct(Operation *product, ArrayRef<Operation *> ops) const {
    ProductAttr choice = product->hasTrait<OpTrait::Product>() ? getProduct(product) : ProductAttr();
    if (!choice || choice.getFamily() == ProductFamily::loops)
      return true;
    return !isPacked(getElementTypeOrSelf(root->getResult(0).getType())) &&
           (takesFaults(choice.getFamily()) || llvm::none_of(ops, mayFaultInside));
  }

  /// True for an op that may fail, or is computed from one that is computed anew where it is read and may fail.
  static bool mayFaultInside(Operation *op) {
    return mayFault(op) || llvm::any_of(op->getOperands(), [](Value operand) {
             Operation *producer = operand.getDefiningOp();
             return producer && isFree(producer) && mayFaultInside(producer);
           });
  }

  /// True for a free root that another kernel reads too: that one computes it anew, from what it is computed from here.
  static bool isComputedAnew(Operation *op) {
    return isFree(op) && llvm::any_of(op->getUsers(), [](Operation *user) { return isComputedByKernel(user); });
  }

  Operation *root;
  Context &context;
  Operation *anchor = nullptr;
  llvm::SetVector<Operation *> members;
  llvm::SetVector<Operation *> identity; // ops whose elements correspond to the root's
  llvm::SetVector<Operation *> leaving;  // those whose results leave the kernel, the root first
};

void formInBlock(Block &block, const llvm::DenseSet<Operation *> &derivable) {
  SmallVector<Operation *> candidates;
  for (Operation &op : llvm::reverse(block))
    candidates.push_back(&op);
  Group::Context context{derivable, BlockDependences(block), {}};
  SmallVector<Group> groups;
  for (Operation *op : candidates) {
    if (context.taken.contains(op))
      continue;
    // Something free becomes a kernel of its own only where the host holds it as memory, or wants a number that is more
    // than a size.
    bool isMoreThanSize = !isa<DimValueOp>(op) && isNumberOfSizes(op);
    bool isHeldByHost =
        isFree(op) && !isa<ConstantOp>(op) && llvm::any_of(op->getUses(), [&](OpOperand &use) {
          return isUpdated(use) || (!isComputedByKernel(use.getOwner()) && (isMoreThanSize || !isHostScalar(use)));
        });
    if (!isHeldByHost && (!isComputedByKernel(op) || isFree(op)))
      continue;
    groups.emplace_back(op, context).grow();
  }
  if (llvm::any_of(groups, [](const Group &group) { return group.hasSeveralResults(); }))
    context.dependences.sort();
  // Of what several kernels read the first checks it, so that variables are stored without waiting for the others.
  llvm::MapVector<Operation *, Group *> firstOf;
  for (Group &group : groups)
    for (Operation *check : group.getChecks())
      if (Group *&first = firstOf[check]; !first || group.getRoot()->isBeforeInBlock(first->getRoot()))
        first = &group;
  for (Group &group : groups) {
    llvm::DenseSet<Operation *> checked;
    for (auto [check, first] : firstOf)
      if (first != &group)
        checked.insert(check);
    group.materialize(checked);
  }
}

/// A number in all places that a kernel writes over is made by a kernel: a constant would store it as often.
void repeatUpdatedSplats(func::FuncOp function) {
  function.walk([](UpdateOpInterface update) {
    OpOperand &input = update->getOpOperand(0);
    auto constant = input.get().getDefiningOp<ConstantOp>();
    auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
    auto type = cast<RankedTensorType>(input.get().getType());
    if (!splat || type.getRank() == 0)
      return;
    OpBuilder builder(update);
    auto scalarType = RankedTensorType::get({}, type.getElementType());
    Value scalar =
        ConstantOp::create(builder, constant.getLoc(), scalarType,
                           DenseElementsAttr::get(scalarType, splat.getSplatValue<Attribute>()), ArrayAttr());
    input.set(BroadcastOp::create(builder, constant.getLoc(), type, scalar, ArrayRef<int64_t>()));
  });
}

struct FormFusionsPass : impl::FormFusionsPassBase<FormFusionsPass> {
  void runOnOperation() override {
    // An op that is gone since may have been the only reader, in a region beside the ops that it read.
    getOperation().walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
    repeatUpdatedSplats(getOperation());
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) {
      if (!isa<FusionOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    const llvm::DenseSet<Operation *> derivable = findDerivable(getOperation());
    for (Block *block : blocks)
      formInBlock(*block, derivable);
    // What each kernel computes anew has no user left. A mask of bits that a kernel makes by now is one of these, too.
    getOperation().walk<WalkOrder::PostOrder, mlir::ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op) && !op->getParentOfType<FusionOp>())
        op->erase();
    });
  }
};

} // namespace
} // namespace vx

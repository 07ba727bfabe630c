// What reads state behind its update by indices has them checked before, so that the update may be made in place.

#include "vx/Dialect/VX/IR/VXDialect.h"
#include "vx/Dialect/VX/IR/VariablePlaces.h"
#include "vx/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_HOISTINDEXCHECKSPASS
#include "vx/Transforms/Passes.h.inc"

namespace {

/// The ops of a block that compute what is stored, and all that follow from them.
class NewState {
public:
  explicit NewState(Block &block) {
    for (auto store : block.getOps<VariableStoreOp>())
      addProducer(store.getValue(), block);
    for (Operation &op : block)
      if (readsNewState(op))
        ops.insert(&op);
  }

  bool has(Operation *op) const { return ops.contains(op); }
  bool has(Value value) const { return value.getDefiningOp() && has(value.getDefiningOp()); }

private:
  /// An update of what another one has made is one of the same place.
  void addProducer(Value value, Block &block) {
    Operation *producer = value.getDefiningOp();
    if (!producer || producer->getBlock() != &block || isa<VariableLoadOp, ConstantOp>(producer) ||
        !ops.insert(producer).second)
      return;
    if (auto update = dyn_cast<UpdateOpInterface>(producer))
      addProducer(update->getOperand(0), block);
  }

  bool readsNewState(Operation &op) const {
    return op
        .walk([&](Operation *inner) {
          return WalkResult(failure(llvm::any_of(inner->getOperands(), [&](Value value) { return has(value); })));
        })
        .wasInterrupted();
  }

  llvm::DenseSet<Operation *> ops;
};

bool areChecked(Value indices, ArrayRef<DimAttr> sizes) {
  auto check = indices.getDefiningOp<CheckIndicesOp>();
  if (!check)
    return false;
  auto known = llvm::to_vector(check.getSizes().getAsRange<DimAttr>());
  return known.size() == 1 ? llvm::all_equal(sizes) && known.front() == sizes.front() : ArrayRef(known) == sizes;
}

bool areConstantsInRange(Value indices, ArrayRef<DimAttr> sizes) {
  auto constant = indices.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  if (!elements || !llvm::all_of(sizes, [](DimAttr size) { return size && size.asConstant(); }))
    return false;
  return llvm::all_of(llvm::enumerate(elements.getValues<APInt>()), [&](auto element) {
    return element.value().isNonNegative() &&
           element.value().getSExtValue() < *sizes[element.index() % sizes.size()].asConstant();
  });
}

/// Whether each index is read: none is where the result has no elements, and then a wrong one is no fault.
bool readsAll(GatherOp gather) {
  auto dims = getDims(gather.getInput().getType());
  int64_t axis = gather.getAxis(), members = gather.getMembers().value_or(1);
  return llvm::all_of(llvm::enumerate(dims), [&](auto entry) {
    auto d = static_cast<int64_t>(entry.index());
    std::optional<int64_t> size = entry.value() ? entry.value().asConstant() : std::nullopt;
    return (d >= axis && d < axis + members) ? entry.value() && size : size && *size > 0;
  });
}

/// Moves what may fault, and waits for no new state, to before what computes that.
class FaultsFirst {
public:
  FaultsFirst(Block &block, const NewState &state)
      : block(block), state(state), places(block.getParentOp()->getParentOfType<ModuleOp>()) {
    for (Operation &op : block)
      if (state.has(&op)) {
        first = &op;
        return;
      }
  }

  void run() {
    if (!first)
      return;
    SmallVector<Operation *> faulting;
    for (Operation &op : block)
      if (mayFault(&op) && !state.has(&op) && !op.isBeforeInBlock(first))
        faulting.push_back(&op);
    for (Operation *op : faulting) {
      llvm::SetVector<Operation *> moved; // what they read first
      if (add(op, moved))
        for (Operation *each : moved)
          each->moveBefore(first);
    }
  }

private:
  bool add(Operation *op, llvm::SetVector<Operation *> &moved) {
    if (op->isBeforeInBlock(first) || moved.contains(op))
      return true;
    // Sizes that only the data knows are bound somewhere between.
    bool isStatic = llvm::all_of(op->getResultTypes(), [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.hasStaticShape();
    });
    if (!isStatic || op->getNumRegions() != 0 || !(isMemoryEffectFree(op) || isLoadOfKept(op)))
      return false;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
        if (!add(producer, moved))
          return false;
    moved.insert(op);
    return true;
  }

  bool isLoadOfKept(Operation *op) const {
    auto load = dyn_cast<VariableLoadOp>(op);
    return load && llvm::none_of(block.getOps<VariableStoreOp>(), [&](VariableStoreOp store) {
             return places.overlap(load.getVariableAttr().getAttr(), store.getVariableAttr().getAttr());
           });
  }

  Block &block;
  const NewState &state;
  VariablePlaces places;
  Operation *first = nullptr;
};

struct HoistIndexChecksPass : impl::HoistIndexChecksPassBase<HoistIndexChecksPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Block &block = function.getBody().front();
    NewState state(block);
    for (auto gather : llvm::make_early_inc_range(block.getOps<GatherOp>())) {
      if (!state.has(gather.getResult()) || gather.getInRange())
        continue;
      Value indices = gather.getIndices();
      SmallVector<DimAttr> sizes = gather.getIndexedSizes(gather.getIndicesMutable().getOperandNumber());
      bool isRight = areChecked(indices, sizes) || areConstantsInRange(indices, sizes);
      if (!isRight && (state.has(indices) || !readsAll(gather)))
        continue;
      if (!isRight) {
        OpBuilder builder(gather);
        SmallVector<Attribute> all(sizes.begin(), sizes.end());
        gather.getIndicesMutable().assign(
            CheckIndicesOp::create(builder, gather.getLoc(), indices, builder.getArrayAttr(all)));
      }
      gather.setInRange(true);
    }
    FaultsFirst(block, state).run();
  }
};

} // namespace
} // namespace vx

// Marks the commands that must wait for those before them in their segment.

#include "vx/Memory/Expressions.h"
#include "vx/Memory/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace vx {

#define GEN_PASS_DEF_INSERTBARRIERSPASS
#include "vx/Memory/Passes.h.inc"

namespace {

/// True when the two views may share bytes.
bool mayOverlap(Value a, Value b) {
  if (a == b)
    return true;
  auto aSlice = a.getDefiningOp<vxrt::ArenaSliceOp>(), bSlice = b.getDefiningOp<vxrt::ArenaSliceOp>();
  if (aSlice && bSlice) {
    DimAttr aOffset = getEntryExpression(aSlice.getOffset()), aSize = getEntryExpression(aSlice.getSize());
    DimAttr bOffset = getEntryExpression(bSlice.getOffset()), bSize = getEntryExpression(bSlice.getSize());
    if (!aOffset || !aSize || !bOffset || !bSize)
      return true;
    return !(aOffset + aSize).isAtMost(bOffset) && !(bOffset + bSize).isAtMost(aOffset);
  }
  if (aSlice || bSlice)
    return false; // nothing but a slice shows the arena
  auto isFresh = [](Value value) {
    return isa_and_present<vxrt::AllocateOp, vxrt::ConstantOp, vxrt::DerivedOp>(value.getDefiningOp());
  };
  if (isFresh(a) || isFresh(b))
    return false; // a fresh buffer and weights are known by their own name only
  auto aVariable = a.getDefiningOp<vxrt::VariableOp>(), bVariable = b.getDefiningOp<vxrt::VariableOp>();
  return !aVariable || !bVariable || aVariable.getVariable() == bVariable.getVariable();
}

struct Accesses {
  SmallVector<Value> reads, writes;
};

Accesses getAccesses(Operation *command) {
  Accesses accesses;
  TypeSwitch<Operation *>(command)
      .Case<vxrt::DispatchOp>([&](vxrt::DispatchOp dispatch) {
        llvm::append_range(accesses.reads, dispatch.getInputs());
        llvm::append_range(accesses.writes, dispatch.getOutputs());
      })
      .Case<vxrt::CopyOp>([&](vxrt::CopyOp copy) {
        accesses.reads.push_back(copy.getSource());
        accesses.writes.push_back(copy.getTarget());
      });
  return accesses;
}

bool conflicts(const Accesses &earlier, const Accesses &later) {
  auto anyOverlap = [](ArrayRef<Value> a, ArrayRef<Value> b) {
    return llvm::any_of(a, [&](Value x) { return llvm::any_of(b, [&](Value y) { return mayOverlap(x, y); }); });
  };
  return anyOverlap(earlier.writes, later.reads) || anyOverlap(earlier.writes, later.writes) ||
         anyOverlap(earlier.reads, later.writes);
}

struct InsertBarriersPass : impl::InsertBarriersPassBase<InsertBarriersPass> {
  void runOnOperation() override {
    getOperation().walk([&](vxrt::SegmentOp segment) {
      SmallVector<Accesses> sinceBarrier;
      for (Operation &command : segment.getBody().front()) {
        Accesses accesses = getAccesses(&command);
        bool barrier =
            llvm::any_of(sinceBarrier, [&](const Accesses &earlier) { return conflicts(earlier, accesses); });
        if (barrier)
          sinceBarrier.clear();
        sinceBarrier.push_back(accesses);
        TypeSwitch<Operation *>(&command).Case<vxrt::DispatchOp, vxrt::CopyOp>(
            [&](auto op) { op.setBarrier(barrier); });
      }
    });
  }
};

} // namespace
} // namespace vx
